"""The best words of the demo, with proof, beside those of the other selections."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.selection import BestSubsetSelector

NAME = "best subset"
"""How this selection is called in tables."""
_LISTED = 40


@dataclass(frozen=True)
class BestWords:
    """What is proved about the best words, and about the others' words against them."""

    certificate: SubsetCertificate
    verified: bool
    always: int
    """Words that are in every best choice."""
    never: int
    """Words that are in none."""
    shares: dict[str, tuple[float, float]]
    """For every other selection of as many words: what share of the best choice it is at least and at most."""
    empty_share: float
    """The share that no words at all have: where the scale of the others begins."""
    words: list[tuple[str, bool, bool]]
    """The words with the largest coefficients: whether they are topic words, and proved to be in every best choice."""

    @property
    def n_open(self) -> int:
        """Words about which neither is proved."""
        return self.certificate.n_features - self.always - self.never


def quick(selector: Any) -> Any:
    """A selector for the folds of cross-validation: over them errors are averaged, and the last digits cost most."""
    if not isinstance(selector, BestSubsetSelector):
        return selector
    return BestSubsetSelector(**selector.get_params() | {"gap_tol": 1e-3})


def best_words(
    selector: BestSubsetSelector,
    X: Any,
    y: NDArray[Any],
    topics: Any,
    others: Mapping[str, Certificate],
    empty: float,
) -> BestWords:
    """From the fitted selector, the certificates of other selections, and the objective of no words at all."""
    certificate = selector.certificate_
    status = certificate.column_status
    return BestWords(
        certificate=certificate,
        verified=bool(certificate.verify(X, y)),
        always=int(np.sum(status == "in every best set")),
        never=int(np.sum(status == "in none")),
        shares={name: pair for name, c in others.items() if (pair := _between(c)) is not None},
        empty_share=max(certificate.lower_bound, 0.0) / empty,
        words=[
            (str(topics.feature_names[i]), bool(topics.relevant[i]), bool(status[i] == "in every best set"))
            for i in selector.selection_order_[:_LISTED]
        ],
    )


def _between(certificate: Certificate) -> tuple[float, float] | None:
    low, high = certificate.optimality, certificate.optimality_ceiling
    return None if low is None or high is None else (low, high)
