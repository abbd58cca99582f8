"""Calls with bad arguments: every public estimator and function x bad X, y, weights, parameters and containers.

`fuzz` makes them and judges how they end.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from trials.bad_values import VALUES, bad_matrices, bad_targets, bad_weights, data

import rarefy
from rarefy.kernel import (
    KernelFeatureRegressor,
    KernelFeatureSelector,
    KernelFeatureSelectorCV,
    KernelSubspace,
    SubspaceLPSVC,
    SubspaceLPSVCCV,
    histogram_intersection_kernel,
    spline_kernel,
    wave_kernel,
)
from rarefy.metrics import mauc_score
from rarefy.ranking import (
    OrdinalRankRC,
    OrdinalRankRCCV,
    RankRC,
    RankRCCV,
    certify_scores,
    certify_threshold,
    subset_bound,
)
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
)
from rarefy.selection._spectral import SpectralSelector

ESTIMATORS = (
    BSSSelector(3),
    BestSubsetSelector(2, max_iter=2, max_nodes=0),
    LeverageScoreSelector(3, random_state=0),
    SupportVectorSelector(BSSSelector(3)),
    RRQRSelector(3),
    RandomSelector(3, random_state=0),
    InformationGainSelector(3),
    ReliefSelector(3),
    LPSVMSelector(),
    KernelSubspace(4, random_state=0),
    SubspaceLPSVC(n_components=4, random_state=0),
    SubspaceLPSVCCV(SubspaceLPSVC(n_components=4, random_state=0), alphas=[0.3], gammas=[0.5], cv=2),
    KernelFeatureRegressor(max_iter=2, tol=0.1),
    KernelFeatureSelector(max_iter=2, tol=0.1),
    KernelFeatureSelectorCV(KernelFeatureSelector(max_iter=2, tol=0.1), Cs=[1.0], mus=[0.1], inits=("ones",), cv=2),
    RankRC(max_iter=20),
    RankRCCV(alphas=[0.01], cv=2),
    OrdinalRankRC(max_iter=20),
    OrdinalRankRCCV(alphas=[0.01], cv=2),
    RankRC(kernel="poly", max_iter=20),
    SubspaceLPSVC(kernel="poly", n_components=4, random_state=0),
    KernelFeatureSelector(kernel="poly", method="full", max_iter=2, tol=0.1),
)


@dataclass(frozen=True)
class Case:
    """One call: whose, what is bad about it, the call, and whether it has to be refused."""

    subject: str
    kind: str
    call: Callable[[], Any]
    refused: bool = False
    theirs: Callable[[], Any] | None = None
    """The same with an estimator of scikit-learn."""

    def __str__(self) -> str:
        return f"{self.subject}, {self.kind}"


def their_fit(X: Any, y: Any, weights: Any = None) -> Callable[[], Any]:
    """A fit of scikit-learn to the same data."""
    return lambda: LogisticRegression(max_iter=5).fit(X, y, sample_weight=weights)


def _used(estimator: Any, X: Any, y: Any, **metadata: Any) -> list[Any]:
    """Fit, and whatever the fitted estimator can do with X."""
    model = clone(estimator)
    model.fit(X, y, **metadata)
    return [model, *asked(model, X)]


_METHODS = ("transform", "predict", "decision_function", "score_samples")


def asked(model: Any, X: Any) -> list[Any]:
    """What a fitted estimator says about X, by each method that it has."""
    return [getattr(model, name)(X) for name in _METHODS if hasattr(model, name)]


def takes_weights(estimator: Any) -> bool:
    """Whether `fit` has sample weights."""
    return isinstance(estimator, SupportVectorSelector) or "sample_weight" in signature(estimator.fit).parameters


def estimator_cases(estimator: Any) -> Iterator[Case]:
    """All bad calls of one estimator."""
    yield from _data_cases(estimator)
    yield from _parameter_cases(estimator)
    yield from _query_cases(estimator)


def _data_cases(estimator: Any) -> Iterator[Case]:
    X, y = data()
    name = f"{type(estimator).__name__}.fit"
    looks_at_y = estimator.__sklearn_tags__().target_tags.required
    for kind, (bad, refused) in bad_matrices().items():
        labels = y[: _length(bad)]
        yield Case(name, f"X is {kind}", partial(_used, estimator, bad, labels), refused, their_fit(bad, labels))
    for kind, (bad, refused) in bad_targets().items():
        yield Case(name, f"y is {kind}", partial(_used, estimator, X, bad), refused and looks_at_y, their_fit(X, bad))
    if takes_weights(estimator):
        for kind, (bad, refused) in bad_weights().items():
            if kind == "1e20" and isinstance(estimator, SupportVectorSelector):  # libsvm itself does not end
                continue
            yield Case(name, f"sample_weight is {kind}", partial(_used, estimator, X, y, sample_weight=bad), refused)


def _parameter_cases(estimator: Any) -> Iterator[Case]:
    X, y = data()
    for name in signature(type(estimator).__init__).parameters:
        for value in VALUES:
            if name in ("self", "n_jobs") or (name == "n_starts" and _is_big(value)):  # work that was asked for
                continue
            call = partial(_with_parameter, estimator, name, value)
            theirs = partial(cross_val_score, LogisticRegression(), X, y, cv=value) if name == "cv" else None
            yield Case(f"{type(estimator).__name__}.fit", f"{name}={_short(value)}", call, False, theirs)


def _is_big(value: Any) -> bool:
    return isinstance(value, int) and value >= 1000


def _with_parameter(estimator: Any, name: str, value: Any) -> list[Any]:
    return _used(clone(estimator).set_params(**{name: value}), *data())


def _query_cases(estimator: Any) -> Iterator[Case]:
    fitted = clone(estimator).fit(*data())
    theirs = StandardScaler(with_mean=False).fit(data()[0])
    for kind, (bad, refused) in bad_matrices().items():
        for method in _METHODS:
            if hasattr(fitted, method):
                anything = method == "transform" and not isinstance(fitted, KernelSubspace | SpectralSelector)
                must = refused and not (anything and kind in _COLUMNS)
                call, same = partial(getattr(fitted, method), bad), partial(theirs.transform, bad)
                yield Case(f"{type(estimator).__name__}.{method}", f"X is {kind}", call, must, same)


_COLUMNS = {
    *("words", "bytes", "objects", "object dates", "dates", "spans", "frame with words", "polars with words"),
    *("frame with dates", "frame with spans", "polars with dates", "complex", "sparse complex", "frame with NA"),
}
"""Where columns are kept as they are, they need not hold numbers, as in scikit-learn's selectors."""


def _length(bad: Any) -> int | None:
    shape = getattr(bad, "shape", None)
    return shape[0] if shape else None


def _short(value: Any) -> str:
    text = re.sub(r" at 0x\w+", "", repr(value))
    return text if len(text) < 60 else text[:57] + "..."


def _functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Public functions with arguments that are good."""
    X, y = data()
    z, signs = X[:, 0].copy(), np.where(y, 1.0, -1.0)
    K = X @ X.T
    ranker = RankRC().fit(X, y)
    kept = np.array([0, 2])
    subset = BestSubsetSelector(2, max_iter=2, max_nodes=0).fit(X, y)
    certificate = BSSSelector(3).fit(X).certificate_
    kernel_certificate = rarefy.certify_kernels(K + np.eye(24), K + 2 * np.eye(24))
    return {
        "certify": (
            rarefy.certify,
            {
                "X": X,
                "support": kept,
                "weights": np.ones(2),
                "y": y,
                "C": 1.0,
                "alpha": 0.1,
                "rank": 2,
                "sketch_size": 6,
                "random_state": 0,
            },
        ),
        "certify, a loss": (rarefy.certify, {"X": X, "support": kept, "y": signs, "loss": "logistic", "C": 1.0}),
        "certify_kernels": (
            rarefy.certify_kernels,
            {"K": K, "K_kept": K, "y": y, "loss": "hinge", "C": 1.0, "alpha": 0.1},
        ),
        "hard_margin2": (rarefy.hard_margin2, {"X": X, "y": y}),
        "minimum_enclosing_ball": (rarefy.minimum_enclosing_ball, {"X": X}),
        "prediction_difference_bound": (
            rarefy.prediction_difference_bound,
            {"X": X, "indices": kept, "weights": np.ones(2), "y": z, "queries": X, "alpha": 0.1},
        ),
        "certified_signs": (
            rarefy.certified_signs,
            {"X": X, "indices": kept, "weights": np.ones(2), "y": z, "queries": X, "alpha": 0.1},
        ),
        "ridge_curve": (rarefy.ridge_curve, {"X": X, "support": kept, "weights": np.ones(2), "alphas": [0.1, 1.0]}),
        "ridge_risk": (rarefy.ridge_risk, {"K": K, "z": z, "alpha": 0.1, "noise_variance": 1.0}),
        "selection_stability": (
            rarefy.selection_stability,
            {
                "selector": InformationGainSelector(3),
                "X": X,
                "y": y,
                "n_splits": 3,
                "train_size": 0.8,
                "confidence": 0.9,
                "random_state": 0,
            },
        ),
        "best_subset_curve": (
            rarefy.best_subset_curve,
            {"X": X, "y": y, "n_features": 2, "C": 1.0, "max_iter": 2, "gap_tol": 0.1, "sample_weight": np.ones(24)},
        ),
        "report": (rarefy.report, {"model": ranker, "X": X, "y": y}),
        "mauc_score": (mauc_score, {"y_true": y, "y_score": z, "sample_weight": np.ones(24)}),
        "certify_scores": (certify_scores, {"ranker": ranker, "X": X, "y": y, "sample_weight": np.ones(24)}),
        "certify_threshold": (certify_threshold, {"scores": z, "y": y, "recall": 0.5, "confidence": 0.9}),
        "certify_threshold, false alarms": (
            certify_threshold,
            {"scores": z, "y": y, "false_positive_rate": 0.5, "confidence": 0.9},
        ),
        "subset_bound": (subset_bound, {"y": y, "basis": kept, "alpha": 0.1, "kappa": 1.0}),
        "subset_bound, kernel": (subset_bound, {"K": K, "basis": kept, "alpha": 0.1, "loss": "perturbation"}),
        "histogram_intersection_kernel": (
            histogram_intersection_kernel,
            {"X": np.abs(X), "Y": np.abs(X), "power": 1.0},
        ),
        "spline_kernel": (spline_kernel, {"X": X, "Y": X}),
        "wave_kernel": (wave_kernel, {"X": X, "Y": X, "theta": 1.0}),
        "RankRC.alpha_path": (ranker.alpha_path, {"X": X, "y": y, "alphas": [0.1], "sample_weight": np.ones(24)}),
        "SubspaceLPSVC.alpha_path": (
            SubspaceLPSVC(n_components=4, random_state=0).alpha_path,
            {"X": X, "y": y, "alphas": [0.3], "sample_weight": np.ones(24)},
        ),
        "KernelFeatureSelector.mu_path": (
            KernelFeatureSelector(max_iter=2, tol=0.1).mu_path,
            {"X": X, "y": y, "mus": [0.1], "sample_weight": np.ones(24)},
        ),
        "Certificate.verify": (certificate.verify, {"X": X}),
        "SubsetCertificate.verify": (subset.certificate_.verify, {"X": X, "y": y, "sample_weight": np.ones(24)}),
        "KernelCertificate.verify": (kernel_certificate.verify, {"K": K, "K_kept": K}),
        "make_ndcc": (
            rarefy.datasets.make_ndcc,
            {"n_samples": 40, "n_informative": 3, "n_noise": 2, "concentration": 3.0, "spread": 0.1, "random_state": 0},
        ),
        "make_rare_gaussians": (
            rarefy.datasets.make_rare_gaussians,
            {"n_samples": 40, "overlap": 0.7, "rare": 0.1, "n_features": 3, "scale": 0.5, "random_state": 0},
        ),
        "make_relevant": (
            rarefy.datasets.make_relevant,
            {"n_samples": 40, "n_features": 30, "n_relevant": 4, "random_state": 0},
        ),
        "make_topics": (
            rarefy.datasets.make_topics,
            {"n_samples": 40, "n_features": 300, "lift": 4.0, "random_state": 0},
        ),
    }


_MATRICES = {"X", "K", "K_kept", "queries", "Y"}
_TARGETS = {"y", "y_true", "y_score", "z", "scores"}


def function_cases() -> Iterator[Case]:
    """All bad calls of public functions: one argument is bad at a time."""
    for name, (function, good) in _functions().items():
        known = [p for p in signature(function).parameters if p not in good and p not in ("n_jobs", "path")]
        for argument in [*good, *known]:
            if argument in _MATRICES:
                bad = dict(bad_matrices().items())
            elif argument in _TARGETS:
                bad = bad_targets()
            elif argument in ("sample_weight", "weights"):
                bad = bad_weights()
            else:
                work = name.startswith("make") or argument == "n_splits"
                values = [v for v in VALUES if not (work and _is_big(v))]
                bad = {_short(v): (v, False) for v in values}
            for kind, (value, refused) in bad.items():
                optional = value is None and good.get(argument) is not None
                no_labels = argument in _TARGETS and name in ("report", "RankRC.alpha_path")
                unread = argument == "y" and (
                    "subset_bound" in name or "verify" in name
                )  # or an answer says what is wrong
                unread |= argument == "K" and name == "subset_bound"
                empty = name.endswith("_kernel") and kind in ("no rows", "frame without rows", "sparse without rows")
                must = refused and not optional and not no_labels and not unread and not empty
                theirs = None
                if argument in _MATRICES:
                    theirs = partial(check_array, value, accept_sparse=True, dtype=float)
                elif argument == "cv":
                    theirs = partial(cross_val_score, LogisticRegression(), *data(), cv=value)
                call = partial(function, **good | {argument: value})
                yield Case(name, f"{argument} is {kind}", call, must, theirs)


@cache
def all_cases() -> tuple[Case, ...]:
    """Every call of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(chain(chain.from_iterable(map(estimator_cases, ESTIMATORS)), function_cases()))
