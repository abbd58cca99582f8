r"""What a selection of features is guaranteed to preserve, as a value that can be checked again.

X : (n, d) data with right singular vectors V (d, l)
R : S D, samples and rescales columns; `indices` and `weights` are S and the diagonal of D
M : V^T R R^T V, with extreme eigenvalues lambda_min and lambda_max
E : I - M; `distortion` is its spectral norm

Everything below follows from M alone and holds for any selection, whoever made it, provided V
spans the whole row space of X:

- hard margin g of a linear SVM, g~ after selection: g~^2 >= lambda_min g^2. The margin is half the
  distance between the convex hulls of the classes, and the difference of two hull points lies
  in the row space. (`margin_floor`)
- the published form [PaulMagdonIsmailDrineas2015, Theorem 1]: g~^2 >= (1 - ||E|| / (1 - ||E||)) g^2
  when ||E|| < 1/2. It is weaker than the floor and kept for comparison. (`margin_ratio`)
- soft margin, any C, dual optima Z and Z~: Z~ - Z <= ||E|| / (2 (1 - ||E||)) ||w~||^2 when ||E|| < 1.
- both together: B^2 / g^2, which bounds generalisation, grows at most by lambda_max / lambda_min,
  whatever common factor the columns are multiplied by. (`radius_margin_ratio`)
- radius B of the smallest ball around the rows: B~^2 <= (1 + ||E||) B^2. The centre is a convex
  combination of rows, hence in the row space: appending it changes nothing. (`radius_ratio`)
- ridge, fixed design, ||E|| < 1: the risk in the worst case over signals of a given norm, and on
  average over their directions, grows at most by (1 - ||E||)^-2. (`risk_ratio`) For *one fixed* signal
  that is false: (K + alpha)^-2 is not operator monotone. What holds is the ratio times
  (c + 1)^2 / (4 c), c = (sigma_max^2 + alpha) / (sigma_min^2 + alpha), by Kantorovich's inequality.
  (`fixed_signal_risk_ratio`)

A certificate stores the selection and what was measured. Everything claimed is derived from that, so
that a claim cannot be changed without changing what `verify` checks.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array

from rarefy.certificates._columns import kept_names, positions_by_name
from rarefy.certificates._fields import METHODS_WITH_CHANCE, checked_fields, impossible
from rarefy.certificates._html import certificate_html
from rarefy.certificates._statement import sentences
from rarefy.core.certificates.measurement import Measurement
from rarefy.core.certificates.verify import Verification, verify
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.leverage import distortion_bound as leverage_bound
from rarefy.exceptions import ParameterError

Kind = Literal["deterministic", "probabilistic", "estimate", "none"]
Method = Literal["bss", "dual", "replacement", "poisson", "top", "all", "given"]

_LOST = 1e-12
"""An eigenvalue of M below this share of the largest means that a direction of the row space was lost."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What is guaranteed about a selection of features, measured and in words.

    Attributes
    ----------
    kind : {"deterministic", "probabilistic", "estimate", "none"}
        What stands behind the claims: a proof; a proof whose bound fails with `failure_probability`
        (what follows from the measured `distortion` is certain all the same); a sketch of the
        data, so no proof about the data themselves; nothing from below, because a direction was lost.
    distortion : float
        Measured ||E||.
    distortion_bound : float or None
        What ||E|| was known not to exceed before looking; None where no theorem applies.
    margin_ratio, margin_floor, radius_ratio, radius_margin_ratio, risk_ratio : float or None
        Factors by which squared margin, squared radius and ridge risk can change; None where
        nothing is claimed.
    statement : str
        The certificate in words.
    eigenvalues : (float, float)
        Smallest and largest eigenvalue of V^T R R^T V.
    rank, numerical_rank : int
        Dimensions of V, and of the row space of the data.
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
    indices, weights : arrays
        The selection.
    n_requested, n_features : int
        Features asked for, and columns of the data.
    rows : array or None
        The rows of the data that the certificate speaks of; None for all of them.
    sketch : Sketch or None
        The sketch that V was taken from.
    measured : dict
        Quantities that were measured on request (margins and radii before and after).
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

    @property
    def kind(self) -> Kind:
        """What stands behind the claims."""
        if self.sketch is not None:
            return "estimate"
        if self.lost or self.unseen:
            return "none"
        return "deterministic" if self.failure_probability is None else "probabilistic"

    @property
    def distortion(self) -> float:
        """Measured ||E||."""
        low, high = self.eigenvalues
        return max(1.0 - low, high - 1.0)

    @property
    def distortion_bound(self) -> float | None:
        """What ||E|| was known not to exceed before looking."""
        ell, r = self.rank, self.n_requested
        if r < 1:
            return None
        if self.method == "all" or (self.method == "bss" and ell == r == 1):
            return 0.0
        if self.method == "bss":
            return float(2.0 * np.sqrt(ell / r) + ell / r)
        if self.failure_probability is None or self.method not in METHODS_WITH_CHANCE:
            return None
        return leverage_bound(ell, r, self.method == "poisson", self.failure_probability)

    @property
    def margin_ratio(self) -> float | None:
        """Published lower bound on the share of the squared margin that is kept."""
        eps = self.distortion
        return 1.0 - eps / (1.0 - eps) if self._whole and eps < 0.5 else None

    @property
    def margin_floor(self) -> float | None:
        """Share of the squared hard margin that is kept at least."""
        return self.eigenvalues[0] if self._whole and not self.lost else None

    @property
    def radius_ratio(self) -> float | None:
        """Factor by which the squared radius of the smallest enclosing ball grows at most."""
        return 1.0 + self.distortion if self._whole else None

    @property
    def radius_margin_ratio(self) -> float | None:
        """Factor by which squared radius over squared margin grows at most."""
        floor = self.margin_floor
        return None if floor is None else self.eigenvalues[1] / floor

    @property
    def risk_ratio(self) -> float | None:
        """Factor by which the ridge risk grows at most, in the worst case over signals and on average."""
        return (1.0 - self.distortion) ** -2 if self._whole and self.distortion < 1.0 else None

    def fixed_signal_risk_ratio(self, alpha: float = 0.0) -> float | None:
        """Factor by which the ridge risk grows at most for any one signal.

        Parameters
        ----------
        alpha : float, default=0.0
            The ridge penalty (scikit-learn's); 0 covers all penalties.

        Returns
        -------
        ratio : float or None
            The factor; None where nothing is claimed.
        """
        if self.risk_ratio is None:
            return None
        top, bottom = self.singular_values
        relative = alpha / top / top
        c = (1.0 + relative) / ((bottom / top) ** 2 + relative)
        kantorovich = self.risk_ratio * (c + 1.0) ** 2 / (4.0 * c)
        growth = self.distortion * np.sqrt(c) / (1.0 - self.distortion)  # tends to 0 with the distortion
        return float(min(kantorovich, (1.0 + growth) ** 2))

    @property
    def statement(self) -> str:
        """The certificate in words."""
        return "\n".join(sentences(self))

    @property
    def ambiguous(self) -> bool:
        """Whether the cut after the leading dimensions passes through (nearly) equal singular values."""
        top, bottom = self.singular_values
        return bottom - self.next_singular_value <= 1e-6 * top

    @property
    def lost(self) -> bool:
        """Whether a direction of V was lost, whatever factor all columns are multiplied by."""
        low, high = self.eigenvalues
        return len(self.indices) < self.rank or low <= _LOST * high

    @property
    def _whole(self) -> bool:
        """Whether V spans the whole row space of the data, so that claims about models follow."""
        return self.sketch is None and self.rank == self.numerical_rank and not self.unseen

    def verify(self, X: Any, *, tol: float = 1e-8) -> Verification:
        """Recompute from the data by another route: Householder QR, then Lanczos on the operator.

        Checked is all that claims are derived from: eigenvalues, ranks, singular values, shares, and the bound that
        `method` and `n_requested` imply. Not checked are `measured` and `failure_probability`; and where columns are
        found by name `indices` are not looked at, elsewhere `names` are not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data that the selection was made on. Of a data frame, kept columns are found by their names, if the
            certificate has them; then the order of columns does not matter.
        tol : float, default=1e-8
            Largest accepted difference, relative to the larger of 1 and the distortion; rounding in
            ill-conditioned data is allowed for on top, up to 1e-4. What was allowed is the result's `tolerance`.

        Returns
        -------
        verification : Verification
            True in a condition if the data agree with the certificate; with what was found and tolerated.
        """
        faults = impossible({f.name: getattr(self, f.name) for f in fields(self)})
        if faults:
            return Verification.refused("; ".join(faults))
        columns = getattr(X, "columns", None)
        rows = as_rows(check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32)))
        if rows.shape[1] != self.n_features:
            raise ParameterError(
                f"This certificate is about data with {self.n_features} columns; X has "
                f"{rows.shape[1]}. Pass the data that the selector was fitted on."
            )
        if self.rows is not None:
            if self.rows.max(initial=0) >= rows.shape[0]:
                raise ParameterError(
                    f"This certificate is about row {self.rows.max()} among others; X has {rows.shape[0]} rows. "
                    "Pass the data that the selector was fitted on."
                )
            rows = rows.subset(self.rows)
        if self.sketch is not None:
            if not 1 <= self.sketch.size < rows.shape[0] or self.sketch.seed < 0:  # it is drawn before it is checked
                return Verification.refused("a sketch must have fewer rows than the data, and a seed >= 0")
            rows = self.sketch.apply(rows)
        indices = positions_by_name(self.names, columns, self.indices, len(self.weights))
        # A bound that holds with a probability may fail; any other is checked.
        bound = None if self.method in METHODS_WITH_CHANCE else self.distortion_bound
        return verify(rows, indices, self.weights, self.measurement, bound=bound, tol=tol)

    @property
    def measurement(self) -> Measurement:
        """What was measured, without the selection."""
        return Measurement(**{f.name: getattr(self, f.name) for f in fields(Measurement)})

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, what is derived from them and the statement as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        stored = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return stored | {name: _plain(getattr(self, name)) for name in _DERIVED}

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
        return cls(**checked_fields(values, [f.name for f in fields(cls)]))

    def __repr__(self) -> str:
        floor = "none" if self.margin_floor is None else f"{self.margin_floor:.4g}"
        return (
            f"Certificate(kind={self.kind!r}, features={len(self.indices)} of {self.n_features}, "
            f"rank={self.rank}, distortion={self.distortion:.4g}, margin_floor={floor})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.kind, sentences(self))


_DERIVED = (
    "kind",
    "distortion",
    "distortion_bound",
    "margin_ratio",
    "margin_floor",
    "radius_ratio",
    "radius_margin_ratio",
    "risk_ratio",
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
        measured={},
        names=kept_names(columns, selection.indices),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sketch):
        return {"size": int(value.size), "seed": int(value.seed)}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value
