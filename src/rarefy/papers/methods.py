"""The selectors that the papers compare, by the names that the tables use."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC

from rarefy.exceptions import FewerFeaturesWarning, TruncatedRankWarning
from rarefy.selection import (
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    RRQRSelector,
)


def make_selector(method: str, r: int, seed: int, *, C: float = 1.0, **options: Any) -> Any:
    """Return the selector called `method`, with r features; the 1-norm SVM determines its number itself."""
    if method == "bss":
        return BSSSelector(r, weighting="bss", random_state=seed, **options)
    if method.endswith(", 95 %"):  # only the dimensions that hold 95 % of the squared norm
        return make_selector(method.removesuffix(", 95 %"), r, seed, C=C, rank=0.95, **options)
    if method.startswith("bss, t = "):  # from a Gaussian sketch of t rows
        return BSSSelector(r, weighting="bss", sketch_size=int(method.removeprefix("bss, t = ")), random_state=seed)
    if method == "leverage":
        return LeverageScoreSelector(r, random_state=seed, **options)
    if method == "rrqr":
        return RRQRSelector(r, past_rank="continue")
    if method == "random":
        return RandomSelector(r, random_state=seed)
    if method == "ig":
        return InformationGainSelector(r)
    if method == "lpsvm":
        return LPSVMSelector(C=C)
    if method == "rfe":
        return RFE(LinearSVC(C=C, random_state=seed), n_features_to_select=r, step=0.1)
    raise ValueError(f"There is no method {method!r}.")


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Silence warnings that the papers' settings cause on purpose.

    They select fewer features than there are dimensions, or columns several times, and stop after few iterations.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedRankWarning)
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
