"""How far the scores of a ranker are from those with all kernel functions, as a value that can be checked again."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from rarefy._pictures import axes_of, data_frame
from rarefy._validation import check_array, check_labels
from rarefy.certificates._equality import EqualByContent
from rarefy.certificates._html import certificate_html
from rarefy.certificates._json_values import checked_fields, integers, number, numbers, optional, plain, text
from rarefy.certificates._verdict import Verdict, percent, verdict_of
from rarefy.core.certificates.verify import Verification
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import kernel_named

_DERIVED = ("bound", "kind", "verdict", "sentence", "statement")
_ROOM = 1e-6
"""Two routes differ by rounding; relative."""


@dataclass(frozen=True, eq=False)
class ScoreCertificate(EqualByContent):
    """How far scores can be from those of the ranker with all kernel functions of the training samples.

    The objective with all kernel functions is alpha-strongly convex, so that its minimiser is no further from this
    ranker than the norm of the gradient there divided by alpha. Nothing is assumed, and the solver is not trusted.

    Attributes
    ----------
    alpha : float
        Weight of the penalty.
    kernel : str
        Name of the kernel.
    kernel_parameters : dict
        Its parameters.
    factors : ndarray of shape (n_features,) or None
        What each column is multiplied by before the kernel compares samples; None if columns stay as they are.
    loss : {"smoothed_hinge", "logistic"}
        Loss of a pair.
    eps : float
        Half the length of the curved piece of the smoothed hinge.
    labels : tuple
        Labels of y from the lowest level to the highest.
    basis : ndarray of shape (n_basis,) or None
        Row numbers of the samples whose kernel functions are used; None if they are not all samples.
    basis_points : ndarray of shape (n_basis, n_features)
        These samples.
    dual_coef : ndarray of shape (n_basis,)
        Their coefficients.
    kappa : float
        Largest k(x, x) of the training samples; the bound is about samples up to this.
    gradient_norm : float
        Norm of the gradient of the objective with all kernel functions, at this ranker, not less than it is.
    certain_pairs : float
        Share of the training pairs of different levels that are in the same order with all kernel functions.
    prior_bound : float or None
        What was known before the fit (:func:`subset_bound`), where that theorem applies.

    See Also
    --------
    certify_scores : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import RankRC, ScoreCertificate, certify_scores
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [20, 180])
    >>> X = rng.standard_normal((200, 3)) + 2 * y[:, None]
    >>> made = certify_scores(RankRC(0.1, random_state=0).fit(X, y), X, y)
    >>> bool(made.bound < 0.05 * made.prior_bound)
    True
    >>> bool(ScoreCertificate.from_dict(made.to_dict()).verify(X, y))
    True
    """

    alpha: float
    kernel: str
    kernel_parameters: Mapping[str, float]
    factors: Array | None
    loss: str
    eps: float
    labels: tuple[Any, ...]
    basis: Index | None
    basis_points: Array
    dual_coef: Array
    kappa: float
    gradient_norm: float
    certain_pairs: float
    prior_bound: float | None

    @property
    def bound(self) -> float:
        """No score of a sample x with k(x, x) <= kappa differs by more than this."""
        return float(np.sqrt(self.kappa)) * self.gradient_norm / self.alpha

    @property
    def kind(self) -> str:
        """Kind of claim: always "deterministic"."""
        return "deterministic"

    @property
    def verdict(self) -> Verdict:
        """The verdict by the share of pairs whose order is certain."""
        return verdict_of(self.certain_pairs)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return (
            f"With these {len(self.dual_coef)} kernel functions at least {percent(self.certain_pairs)} of the pairs "
            "are ordered as with those of all samples."
        )

    @property
    def statement(self) -> str:
        """The certificate in words."""
        prior = "" if self.prior_bound is None else f" Before the fit {self.prior_bound:.6g} was known."
        return "\n".join(
            (
                f"{self.verdict.capitalize()}: {self.sentence}",
                f"No score of a sample with k(x, x) <= {self.kappa:.6g} differs by more than {self.bound:.6g}.{prior}",
                "The gradient of the objective with all kernel functions has a norm of at most "
                f"{self.gradient_norm:.6g} here, and the objective is strongly convex with alpha = {self.alpha:.6g}.",
            )
        )

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verification:
        """Compute the gradient once more, pair by pair, and compare.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights.

        Returns
        -------
        verification : Verification
            True in a condition if what is claimed follows from the data; with the `reason` if not.
        """
        faults = self._faults()
        if not faults:
            X = check_array(X, accept_sparse="csr", dtype=np.float64)
            y = check_labels(y, "y")
            weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            faults = self._against(X, y, weights)
        return Verification(not faults, np.nan, (np.nan, np.nan), 0, 0, 0.0, 0.0, "; ".join(faults), None)

    def _faults(self) -> list[str]:
        """What is impossible."""
        finite = all(np.isfinite(a).all() for a in (self.basis_points, self.dual_coef))
        conditions = {
            "alpha, kappa and eps are positive": all(0.0 < v < np.inf for v in (self.alpha, self.kappa, self.eps)),
            "the norm of the gradient is a number": 0.0 <= self.gradient_norm < np.inf,
            "the share of pairs is one": 0.0 <= self.certain_pairs <= 1.0,
            "the loss is known": self.loss in ("smoothed_hinge", "logistic"),
            "points and coefficients are finite and as many": finite and len(self.basis_points) == len(self.dual_coef),
            "factors of columns are positive numbers": self._has_factors(),
            "row numbers are as many": self.basis is None or len(self.basis) == len(self.dual_coef),
            "labels differ": len(set(self.labels)) == len(self.labels) > 1,
        }
        return [f"not true: {what}" for what, right in conditions.items() if not right]

    def _has_factors(self) -> bool:
        f = self.factors
        if f is None:
            return True
        return bool(len(f) == self.basis_points.shape[1] and np.isfinite(f).all() and (f > 0.0).all())

    def _against(self, X: Any, y: Any, weights: Array) -> list[str]:
        """What does not agree with the data."""
        if (
            weights.shape != y.shape
            or X.shape[0] != len(y)
            or not (np.isfinite(weights).all() and weights.min() >= 0.0)
        ):
            return ["X, y and sample_weight have different lengths, or weights are negative"]
        if X.shape[1] != self.basis_points.shape[1]:
            return ["the samples have another number of features than the kernel functions"]
        if not np.isin(y, self.labels).all():
            return ["y has other labels"]
        faults = []
        if self.basis is not None:
            inside = len(self.basis) == 0 or 0 <= self.basis.min() <= self.basis.max() < X.shape[0]
            if not inside or not np.array_equal(_dense(X[self.basis]), self.basis_points):
                return ["the kernel functions are not those of the rows that are named"]
        level = np.array([self.labels.index(one) for one in y.tolist()])
        scores = self._values(X, self.basis_points) @ self.dual_coef
        blocks = (X[i : i + 64] for i in range(0, X.shape[0], 64))
        kappa = max(float(np.diagonal(self._values(block)).max()) for block in blocks)
        norm = self._norm(X, self._pull(level, scores, weights), kappa)
        if not self.kappa <= kappa * (1.0 + _ROOM) or not kappa <= self.kappa * (1.0 + _ROOM):
            faults.append(f"the largest k(x, x) is {kappa:.6g}, not {self.kappa:.6g}")
        if not norm <= self.gradient_norm * (1.0 + _ROOM) + 1e-12 * np.sqrt(kappa):
            faults.append(f"the norm of the gradient is {norm:.6g}, not {self.gradient_norm:.6g}")
        certain = _certain(level, scores, weights, 2.0 * self.bound)
        if not self.certain_pairs <= certain * (1.0 + _ROOM):
            faults.append(f"the order of {certain:.6g} of the pairs is certain, not of {self.certain_pairs:.6g}")
        return faults

    def _values(self, X: Any, Y: Any = None) -> Array:
        X, Y = self._in_units(X), None if Y is None else self._in_units(Y)
        named = ("rbf", "poly", "polynomial", "laplacian", "linear", "cosine", "chi2")
        if self.kernel in named:
            values = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **dict(self.kernel_parameters))
        else:
            values = kernel_named(self.kernel).function(X, Y, **dict(self.kernel_parameters))
        return np.asarray(values, dtype=np.float64)

    def _in_units(self, X: Any) -> Any:
        """Columns times their factors."""
        if self.factors is None:
            return X
        return X @ sp.diags_array(self.factors) if sp.issparse(X) else X * self.factors

    def _pull(self, level: Index, f: Array, weights: Array) -> Array:
        """The derivative of the loss in the scores, one upper sample after another."""
        pull, total = np.zeros(len(f)), 0.0
        for i in np.flatnonzero(weights > 0.0):
            lower = np.flatnonzero((level < level[i]) & (weights > 0.0))
            margin, pairs = f[i] - f[lower], weights[i] * weights[lower]
            slope = -np.clip((1.0 - margin) / (2.0 * self.eps), 0.0, 1.0)
            if self.loss == "logistic":
                slope = -0.5 * (1.0 - np.tanh(0.5 * margin))
            pull[i] += pairs @ slope
            pull[lower] -= pairs * slope
            total += float(pairs.sum())
        return pull / total if total > 0.0 else pull

    def _norm(self, X: Any, pull: Array, kappa: float) -> float:
        """Of the gradient, from the coefficients of all kernel functions."""
        coefficients, points = pull, X
        if self.basis is None:
            points = (
                sp.vstack([X, sp.csr_array(self.basis_points)]) if sp.issparse(X) else np.vstack([X, self.basis_points])
            )
            coefficients = np.append(pull, self.alpha * self.dual_coef)
        else:
            np.add.at(coefficients, self.basis, self.alpha * self.dual_coef)
        used = np.flatnonzero(coefficients)
        c, Z, square = coefficients[used], points.tocsr()[used] if sp.issparse(points) else points[used], 0.0
        for i in range(0, len(used), 256):
            square += float(c[i : i + 256] @ (self._values(Z[i : i + 256], Z) @ c))
        return float(np.sqrt(max(square, 0.0)))

    def to_frame(self) -> Any:
        """Return the kernel functions of the ranker as a pandas data frame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            With columns sample (its row number, -1 if it is none of the training samples) and coefficient.
        """
        samples = np.full(len(self.dual_coef), -1) if self.basis is None else self.basis
        return data_frame({"sample": samples, "coefficient": self.dual_coef})

    def plot(self, ax: Any = None) -> Any:
        """Draw how far scores can be off, and what was known about that before the fit.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        ax = axes_of(ax, 6.0, 2.0)
        bounds = {"proved after the fit": self.bound, "known before the fit": self.prior_bound}
        known = {name: value for name, value in bounds.items() if value is not None}
        ax.barh(list(known), list(known.values()), color="#c8553d")
        if not ax.yaxis_inverted():
            ax.invert_yaxis()
        if min(known.values()) > 0.0:
            ax.set_xscale("log")
        ax.set(xlabel="no score differs by more than this", title=self.sentence)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and what follows from them as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        return {name: plain(getattr(self, name)) for name in (*(f.name for f in fields(self)), *_DERIVED)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ScoreCertificate":
        """Make a certificate from plain values; what follows from them is derived again.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, as it is or read from JSON.

        Returns
        -------
        certificate : ScoreCertificate
            The certificate.
        """
        return cls(**checked_fields(values, [f.name for f in fields(cls)], _convert, "score certificate"))

    def __repr__(self) -> str:
        return (
            f"ScoreCertificate(bound={self.bound:.6g}, certain_pairs={self.certain_pairs:.6g}, alpha={self.alpha:.6g})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.verdict, self.kind, self.statement.splitlines())


def _convert(v: dict[str, Any]) -> None:
    """What was read, as a certificate holds it."""
    for name in ("alpha", "eps", "kappa", "gradient_norm", "certain_pairs"):
        v[name] = number(v[name])
    v["kernel"], v["loss"] = text(v["kernel"]), text(v["loss"])
    if not isinstance(v["kernel_parameters"], Mapping):
        raise ValueError("kernel_parameters must be a dict")
    v["kernel_parameters"] = {text(name): number(value) for name, value in v["kernel_parameters"].items()}
    if not isinstance(v["labels"], list | tuple) or not all(isinstance(one, str | int | float) for one in v["labels"]):
        raise ValueError("labels must be a list of texts or numbers")
    v["labels"], v["basis"] = tuple(v["labels"]), optional(integers, v["basis"])
    v["basis_points"], v["dual_coef"] = numbers(v["basis_points"], 2), numbers(v["dual_coef"], 1)
    v["prior_bound"] = optional(number, v["prior_bound"])
    v["factors"] = optional(lambda f: numbers(f, 1), v["factors"])
    try:
        kernel_named(v["kernel"])
    except KeyError:
        raise ParameterError(f"These values are no score certificate: there is no kernel {v['kernel']!r}.") from None


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def _certain(level: Index, f: Array, weights: Array, apart: float) -> float:
    """Share of the pairs that are further apart, one upper sample after another."""
    certain, total = 0.0, 0.0
    for i in np.flatnonzero(weights > 0.0):
        lower = level < level[i]
        total += float(weights[i] * weights[lower].sum())
        certain += float(weights[i] * weights[lower & (np.abs(f - f[i]) > apart)].sum())
    return certain / total if total > 0.0 else 0.0
