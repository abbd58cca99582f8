"""What a selection of features is guaranteed to preserve, as a value that can be checked again.

A certificate stores the selection and what was measured. Everything claimed is derived from that
(`rarefy.certificates._claims`), so that a claim cannot be changed without changing what `verify` checks.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from rarefy._fit import numerical
from rarefy._input import validated_alone
from rarefy._parameters import NOT_NEGATIVE
from rarefy.certificates._claims import Claims
from rarefy.certificates._columns import all_names, kept_names, positions_by_name
from rarefy.certificates._equality import EqualByContent
from rarefy.certificates._fields import METHODS_WITH_CHANCE, convert, impossible
from rarefy.certificates._fingerprint import fingerprint, same_data
from rarefy.certificates._html import certificate_html
from rarefy.certificates._json_values import checked_fields, plain
from rarefy.certificates._labels import label_faults
from rarefy.certificates._objective import Objective
from rarefy.certificates._optimality import Optimality
from rarefy.certificates._share_bars import ShareBars, column_shares, draw_shares
from rarefy.certificates._statement import sentences
from rarefy.certificates._verdict import Verdict, headline, share_of, verdict_on
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.measurement import Measurement
from rarefy.core.certificates.verify import Verification, verify, verify_regularised
from rarefy.core.linalg.rows import Array, Index, Rows, as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.sparsify import Selection
from rarefy.exceptions import ParameterError

Method = Literal["bss", "dual", "unweighted", "adaptive", "replacement", "poisson", "top", "all", "given"]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Claims, EqualByContent):
    """What is guaranteed about a selection of features, measured and in words.

    Attributes
    ----------
    kind : {"deterministic", "probabilistic", "estimate", "none"}
        What stands behind the claims: a proof; a proof whose bound fails with `failure_probability`
        (what follows from the measured `distortion` is certain all the same); a sketch of the
        data, so no proof about the data themselves; nothing from below, because a direction was lost.
    verdict : {"strong", "useful", "weak", "none"}
        What it is worth: strong from a certified `share` of 0.9, useful from 0.5, weak from 0.1; weak at most where it
        is only known what the columns explain of the data.
    share : float or None
        The best that is certified: `objective_ratio`, what is kept of squared margin over squared radius, or where
        there is neither what the kept columns explain of the data.
    sentence : str
        The verdict in one sentence.
    distortion : float
        Measured ||E||.
    distortion_bound : float or None
        What ||E|| was known not to exceed before looking; None where no theorem applies.
    margin_ratio, margin_floor, radius_ratio, radius_margin_ratio, risk_ratio : float or None
        Factors by which squared margin, squared radius and ridge risk can change; None where
        nothing is claimed.
    soft_margin_ratio : float or None
        Share of the objective of any linear SVM, with any labels and cost, that is kept at least.
    objective_ratio : float or None
        Share of the objective that is kept at least, for the labels and the cost given to `certify`.
    optimality, optimality_ceiling : float or None
        The kept columns are at least and at most this share as good as the best as many there are, for the same labels
        and cost: the least objective of any choice over theirs.
    all_rows_ratio : float or None
        The same as `soft_margin_ratio` for all rows, where the certificate is about some and speaks of the rest.
    explained_ratio : float or None
        What the kept columns explain of the data's squared norm, beside the best that as many dimensions can.
    statement : str
        The certificate in words.
    eigenvalues : (float, float)
        Smallest and largest eigenvalue of V^T R R^T V, moved outward by what rounding may have done; 0 where the
        smallest is not told from zero.
    proved : bool
        Whether that interval is proved with all rounding included, by Cholesky factorisations.
    rank, numerical_rank : int
        Dimensions of V, and of the row space of the data (if not `complete`, one more than V has).
    singular_values : (float, float)
        The largest and the smallest of those that belong to V.
    next_singular_value : float
        The largest singular value that does not belong to V; 0 if V spans everything.
    energy_kept : float
        Share of the data's squared norm inside V.
    residual_ratio : float or None
        Squared norm outside V after selection, relative to before (dual-set selections).
    failure_probability : float or None
        For probabilistic certificates.
    method : str
        How the features were chosen.
    weighting : {"own", "optimal", "unit"}
        Where the weights come from: the method itself, an optimisation after it, or nowhere (all are 1).
    indices, weights : arrays
        The selection.
    n_requested, n_features : int
        Features asked for, and columns of the data.
    rows : array or None
        The rows of the data that the certificate speaks of; None for all of them.
    sketch : Sketch or None
        The sketch that V was taken from.
    measured : dict
        Quantities that were measured on request (margins and radii before and after), and the share of the squared
        norm that the mean of the rows carries, where it is more than half.
    names : tuple of str or None
        Names of the kept columns, in the order of `indices`, where the data have names.
    resolution : float
        Singular values of the data up to this counted as zero; 0 if there is none left that could.
    unseen : int
        Columns that are not zero and shorter than that. Beside the others they are rounding, and a margin along them is
        lost: with any of them, nothing is claimed about models.
    choice : array of shape (min(n_samples, n_features), n_chosen) or None
        Where V ends amid equal singular values, the singular vectors that were chosen among theirs; None elsewhere.
        Without them nobody else could know what V is.
    complete : bool
        Whether all dimensions of the data were looked at; else only those of V and the next one.
    explained, explainable : float or None
        Share of the data's squared norm inside the span of the kept columns, and the largest share that as many
        dimensions can have; None where the columns span everything or it was not measured.
    objective : Objective or None
        Bounds on a model's objective and the points that prove them.
    all_rows : Objective or None
        Points in the kept columns which prove that no row beyond `rows` matters.
    regularised : Regularised or None
        What holds for one ridge penalty.
    fingerprint : str or None
        Hash of the data.
    optimal : Optimality or None
        Bounds on what the best columns reach, and the points that prove them.

    See Also
    --------
    certify : Certify any subset of features.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((4, 50))
    >>> certificate = rarefy.certify(X, np.arange(40))
    >>> certificate.kind
    'deterministic'
    >>> again = rarefy.Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
    >>> bool(again.verify(X))
    True
    """

    method: Method
    eigenvalues: tuple[float, float]
    rank: int
    numerical_rank: int
    singular_values: tuple[float, float]
    next_singular_value: float
    energy_kept: float
    residual_ratio: float | None
    failure_probability: float | None
    indices: Index
    weights: Array
    n_requested: int
    n_features: int
    rows: Index | None
    sketch: Sketch | None
    measured: dict[str, float]
    names: tuple[str, ...] | None = None
    resolution: float = 0.0
    unseen: int = 0
    choice: Array | None = None
    proved: bool = False
    complete: bool = True
    explained: float | None = None
    explainable: float | None = None
    weighting: str = "own"
    objective: Objective | None = None
    all_rows: Objective | None = None
    regularised: Regularised | None = None
    fingerprint: str | None = None
    optimal: Optimality | None = None

    @property
    def share(self) -> float | None:
        """The best that is certified of what was there."""
        return share_of(self)

    @property
    def verdict(self) -> Verdict:
        """What the certificate is worth."""
        return verdict_on(self)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return headline(self)

    @property
    def statement(self) -> str:
        """The certificate in words."""
        return "\n".join(sentences(self))

    @numerical("Certificate.verify")
    def verify(self, X: Any, y: Any = None, *, tol: float = 1e-8) -> Verification:
        """Recompute from the data by another route: Householder QR, then Lanczos on the operator.

        Checked is all that claims are derived from: eigenvalues, ranks, singular values, shares, the bound that
        `method` implies, and the points that prove an objective. Not checked are `measured`, from which nothing is
        claimed, and `failure_probability`, with any of which the bound holds; and where columns are found by name
        `indices` are not looked at, elsewhere `names` are not.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The data that the selection was made on. Of a data frame, kept columns are found by their names, if the
            certificate has them; then the order of columns does not matter.
        y : array-like of shape (n_samples,) or None, default=None
            The labels or responses, for certificates that were made with them. A certificate that claims something
            about an objective does not agree without them.
        tol : float, default=1e-8
            Largest accepted difference, as a share of what is compared; rounding is allowed for on top.

        Returns
        -------
        verification : Verification
            True in a condition if the data agree with the certificate; with what was found and the `reason` if not.
        """
        if not NOT_NEGATIVE.is_satisfied_by(tol):
            raise ParameterError(f"tol of Certificate.verify must be a number >= 0; got {tol!r}.")
        faults = impossible({f.name: getattr(self, f.name) for f in fields(self)})
        if faults:
            return Verification.refused("; ".join(faults))
        columns = getattr(X, "columns", None)
        X = validated_alone(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        whole = as_rows(X)
        self._check_shape(whole)
        indices = positions_by_name(self.names, columns, self.indices, len(self.weights))
        data = rows = whole if self.rows is None else whole.subset(self.rows)
        if self.sketch is not None:
            if not 1 <= self.sketch.size < rows.shape[0] or self.sketch.seed < 0:  # it is drawn before it is checked
                return Verification.refused("a sketch must have fewer rows than the data, and a seed >= 0")
            rows = self.sketch.apply(rows)
        # A bound that holds with a probability may fail; any other is checked.
        bound = None if self.method in METHODS_WITH_CHANCE else self.distortion_bound
        found = verify(rows, indices, self.weights, self.measurement, bound=bound, tol=tol)
        more = label_faults(self, whole, indices, y)
        if self.regularised is not None:
            more += verify_regularised(data, indices, self.weights, self.regularised, tol)
        reason = "; ".join([found.reason, *more] if found.reason else more)
        same = same_data(self.fingerprint, fingerprint(X))
        return replace(found, agrees=found.agrees and not more, reason=reason, same_data=same)

    def _check_shape(self, rows: Rows) -> None:
        if rows.shape[1] != self.n_features:
            raise ParameterError(
                f"This certificate is about data with {self.n_features} columns; X has "
                f"{rows.shape[1]}. Pass the data that the selector was fitted on."
            )
        if self.rows is not None and self.rows.max(initial=0) >= rows.shape[0]:
            raise ParameterError(
                f"This certificate is about row {self.rows.max()} among others; X has {rows.shape[0]} rows. "
                "Pass the data that the selector was fitted on."
            )

    @property
    def measurement(self) -> Measurement:
        """What was measured, without the selection."""
        return Measurement(**{f.name: getattr(self, f.name) for f in fields(Measurement)})

    def with_names(self, feature_names: Any) -> "Certificate":
        """Return the same certificate with the names of its columns.

        Parameters
        ----------
        feature_names : array-like of str or estimator
            Names of all columns of the data, or what made them, such as a vectoriser (`get_feature_names_out`).

        Returns
        -------
        certificate : Certificate
            The certificate, with `names`.
        """
        return replace(self, names=kept_names(all_names(feature_names, self.n_features), self.indices))

    def plot(self, ax: Any = None) -> Any:
        """Draw the certified shares beside the thresholds of the verdict.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        return self._draw(ax).ax

    def _draw(self, ax: Any) -> ShareBars:
        return draw_shares(ax, column_shares(self), f"{len(self.indices)} of {self.n_features} columns")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, what is derived from them and the statement as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        stored = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return stored | {name: plain(getattr(self, name)) for name in _DERIVED}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Make a certificate from plain values; what is derived is derived again.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, as it is or read from JSON.

        Returns
        -------
        certificate : Certificate
            The certificate.
        """
        return cls(**checked_fields(values, [f.name for f in fields(cls)], convert, "certificate"))

    def __repr__(self) -> str:
        floor = "none" if self.margin_floor is None else f"{self.margin_floor:.4g}"
        return (
            f"Certificate(kind={self.kind!r}, features={len(self.indices)} of {self.n_features}, rank={self.rank}, "
            f"distortion={self.distortion:.4g}, margin_floor={floor}, verdict={self.verdict!r})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.verdict, self.kind, sentences(self))


_DERIVED = (
    "kind",
    "verdict",
    "sentence",
    "share",
    "distortion",
    "distortion_bound",
    "margin_ratio",
    "margin_floor",
    "radius_ratio",
    "radius_margin_ratio",
    "soft_margin_ratio",
    "risk_ratio",
    "objective_ratio",
    "optimality",
    "optimality_ceiling",
    "all_rows_ratio",
    "explained_ratio",
    "statement",
)


def make_certificate(
    found: Measurement,
    selection: Selection,
    *,
    method: Method,
    n_requested: int,
    n_features: int,
    failure_probability: float | None = None,
    sketch: Sketch | None = None,
    columns: Any = None,
    weighting: str = "own",
    fingerprint: str | None = None,
    measured: dict[str, float] | None = None,
) -> Certificate:
    """A certificate of a selection that was measured; `columns` are the names of all columns, or None."""
    return Certificate(
        **vars(found),
        method=method,
        failure_probability=failure_probability,
        indices=selection.indices,
        weights=selection.weights,
        n_requested=n_requested,
        n_features=n_features,
        rows=None,
        sketch=sketch,
        measured=measured or {},
        names=kept_names(columns, selection.indices),
        weighting=weighting,
        fingerprint=fingerprint,
    )
