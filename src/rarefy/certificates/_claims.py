r"""What follows from the numbers of a certificate.

X : (n, d) data with right singular vectors V (d, l)
R : S D, samples and rescales columns; `indices` and `weights` are S and the diagonal of D
M : V^T R R^T V, with extreme eigenvalues lo and hi
E : I - M; `distortion` is its spectral norm
K, K~ : X X^T and X R R^T X^T; lo K <= K~ <= hi K

Everything below follows from M alone and holds for any selection, whoever made it, provided V
spans the whole row space of X:

- hard margin g of a linear SVM, g~ after selection: g~^2 >= lo g^2. The margin is half the
  distance between the convex hulls of the classes, and the difference of two hull points lies
  in the row space. (`margin_floor`)
- the published form [PaulMagdonIsmailDrineas2015, Theorem 1]: g~^2 >= (1 - ||E|| / (1 - ||E||)) g^2
  when ||E|| < 1/2. It is weaker than the floor and kept for comparison. (`margin_ratio`)
- soft margin, any labels and any C, optima Z and Z~: Z >= min(1, lo) Z~. The dual of the kept columns at a is at most
  1/lo times the other dual at lo a, which is feasible when lo <= 1. (`soft_margin_ratio`)
- radius B of the smallest ball around the rows: B~^2 <= hi B^2. The centre is a convex
  combination of rows, hence in the row space. (`radius_ratio`)
- both together: B^2 / g^2, which bounds generalisation, grows at most by hi / lo,
  whatever common factor the columns are multiplied by. (`radius_margin_ratio`)
- ridge, fixed design, any penalty: the bias in the worst case over signals of a given norm, and on average over their
  directions, grows at most by min(1, lo)^-2, the variance by max(1, hi)^2. (`risk_ratio`) For *one fixed* signal
  that is false: (K + alpha)^-2 is not operator monotone. What holds is the first factor times
  (c + 1)^2 / (4 c), c = (sigma_max^2 + alpha) / (sigma_min^2 + alpha), by Kantorovich's inequality.
  (`fixed_signal_risk_ratio`)

Singular values up to `resolution` count as zero. Where there are any, a margin no wider than that may be lost.
"""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rarefy._pictures import data_frame
from rarefy.certificates._fields import METHODS_WITH_CHANCE
from rarefy.core.certificates.measurement import EPS, RESOLVED
from rarefy.core.sparsify.leverage import distortion_bound as leverage_bound

if TYPE_CHECKING:
    from rarefy.certificates._objective import Objective
    from rarefy.certificates._optimality import Optimality
    from rarefy.core.certificates.kernel_values import Regularised
    from rarefy.core.linalg.rows import Array, Index
    from rarefy.core.linalg.sketch import Sketch

Kind = Literal["deterministic", "probabilistic", "estimate", "none"]

_LOST = 1e-12
"""An eigenvalue of M below this share of the largest means that a direction of the row space was lost."""


class Claims:
    """Derived from the fields of a certificate, so that no claim can be changed without what `verify` checks."""

    if TYPE_CHECKING:
        method: str
        names: tuple[str, ...] | None
        weighting: str
        eigenvalues: tuple[float, float]
        rank: int
        numerical_rank: int
        singular_values: tuple[float, float]
        next_singular_value: float
        failure_probability: float | None
        n_requested: int
        indices: Index
        weights: Array
        sketch: Sketch | None
        measured: dict[str, float]
        unseen: int
        complete: bool
        explained: float | None
        explainable: float | None
        objective: Objective | None
        all_rows: Objective | None
        regularised: Regularised | None
        optimal: Optimality | None

    def to_frame(self) -> Any:
        """Return the kept columns as a pandas data frame, one row for each, in the order of `indices`.

        Returns
        -------
        frame : pandas.DataFrame
            With columns name (or number, where the data have no names), index and weight.
        """
        names = self.indices if self.names is None else list(self.names)
        return data_frame({"name": names, "index": self.indices, "weight": self.weights})

    @property
    def kind(self) -> Kind:
        """What stands behind the claims."""
        if self.objective_ratio is not None:
            return "deterministic"
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
        """What ||E|| was known not to exceed before looking, for as many columns as are kept."""
        ell, r = self.rank, len(self.indices)
        weighted = self.method == "bss" and self.weighting != "unit"
        if self.method == "all" or (weighted and ell == r == self.n_requested == 1):
            return 0.0
        if weighted and r > ell:
            q = float(np.sqrt(ell / r))
            return 2.0 * q + q * q if self.weighting == "own" else 2.0 * q / (1.0 + q * q)
        if self.failure_probability is None or self.method not in METHODS_WITH_CHANCE or r < 1:
            return None
        return leverage_bound(ell, r, self.method == "poisson", self.failure_probability)

    @property
    def margin_ratio(self) -> float | None:
        """Published lower bound on the share of the squared margin that is kept."""
        eps = self.distortion
        return 1.0 - eps / (1.0 - eps) if self.margin_floor is not None and eps < 0.5 else None

    @property
    def margin_floor(self) -> float | None:
        """Share of the squared hard margin that is kept at least."""
        if not self._whole or self.lost or self._contradicted("squared_margin", above=False):
            return None
        return self.eigenvalues[0]

    @property
    def soft_margin_ratio(self) -> float | None:
        """Share of the objective of any linear SVM, with any labels and any C, that is kept at least."""
        return None if self.margin_floor is None else min(1.0, self.margin_floor)

    @property
    def radius_ratio(self) -> float | None:
        """Factor by which the squared radius of the smallest enclosing ball grows at most."""
        if not self._whole or self._contradicted("squared_radius", above=True):
            return None
        return self.eigenvalues[1]

    @property
    def radius_margin_ratio(self) -> float | None:
        """Factor by which squared radius over squared margin grows at most."""
        floor, radius = self.margin_floor, self.radius_ratio
        return None if floor is None or radius is None else radius / floor

    @property
    def risk_ratio(self) -> float | None:
        """Factor by which the ridge risk grows at most, in the worst case over signals and on average.

        For the penalty that the certificate was made with, if it was made with one; else for every penalty.
        """
        if self.regularised is not None and self._penalty_resolved:
            return self.regularised.risk_factor
        if self.margin_floor is None:
            return None
        low, high = self.eigenvalues
        return max(min(1.0, low) ** -2, max(1.0, high) ** 2)

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
        if self.margin_floor is None:
            return None
        low, high = min(1.0, self.eigenvalues[0]), max(1.0, self.eigenvalues[1])
        top, bottom = self.singular_values
        if 20.0 * EPS * top > RESOLVED * bottom:  # not told from any other so small
            bottom = 0.0
        if bottom == alpha == 0.0:
            return 1.0 if low == high == 1.0 else None
        relative = alpha / top / top
        c = (1.0 + relative) / ((bottom / top) ** 2 + relative)
        kantorovich = (c + 1.0) ** 2 / (4.0 * c) / low**2
        growth = max(1.0 / low - 1.0, 1.0 - 1.0 / high) * np.sqrt(c)  # tends to 0 with the distortion
        return float(max(min(kantorovich, (1.0 + growth) ** 2), high**2))

    @property
    def objective_ratio(self) -> float | None:
        """Share of the model's objective that is kept at least, for the given labels and cost."""
        return None if self.objective is None else self.objective.ratio

    @property
    def optimality(self) -> float | None:
        """Proved share of the best columns there are, of as many as are kept; see `optimality_ceiling`."""
        if self.optimal is None or self.objective is None:
            return None
        return self.optimal.floor(self.objective)

    @property
    def optimality_ceiling(self) -> float | None:
        """A share of the best columns that the kept ones do not exceed, because better ones are known."""
        return None if self.optimal is None or self.objective is None else self.optimal.ceiling()

    @property
    def all_rows_ratio(self) -> float | None:
        """Share of the objective of a model of all rows that is kept at least, from the rows that matter."""
        if self.all_rows is None or self.all_rows.ratio is None or self.soft_margin_ratio is None:
            return None
        return self.soft_margin_ratio * self.all_rows.ratio

    @property
    def explained_ratio(self) -> float | None:
        """What the kept columns explain of the squared norm, beside the best that as many dimensions can."""
        if self.explained is None or not self.explainable or self.sketch is not None:
            return None
        return self.explained / self.explainable

    @property
    def residual_factor(self) -> float | None:
        """How many times the least that as many dimensions leave of the data is what the kept columns leave."""
        if self.explained is None or self.explainable is None or not self.explainable < 1.0:
            return None
        return (1.0 - self.explained) / (1.0 - self.explainable)

    @property
    def ambiguous(self) -> bool:
        """Whether the cut after the leading dimensions passes through (nearly) equal singular values."""
        top, bottom = self.singular_values
        return bottom - self.next_singular_value <= 1e-6 * top

    @property
    def lost(self) -> bool:
        """Whether a direction of V was lost or cannot be told from lost, whatever factor all columns have."""
        low, high = self.eigenvalues
        return len(self.indices) < self.rank or low <= _LOST * high

    @property
    def _penalty_resolved(self) -> bool:
        """Whether rounding, beside the largest eigenvalue of either matrix, is small beside the penalty."""
        top = self.singular_values[0] * max(1.0, float(self.weights.max(initial=0.0)))
        return self.regularised is not None and 1e4 * EPS * top * top <= RESOLVED * self.regularised.alpha

    @property
    def _whole(self) -> bool:
        """Whether V spans the whole row space of the data, so that claims about models follow."""
        return self.sketch is None and self.complete and self.rank == self.numerical_rank and not self.unseen

    def _contradicted(self, name: str, *, above: bool) -> bool:
        """Whether a measured ratio of after to before lies outside what the eigenvalues allow."""
        before, after = self.measured.get(f"{name}_before"), self.measured.get(f"{name}_after")
        if before is None or after is None:
            return False
        low, high = self.eigenvalues
        return after > high * before * (1.0 + 1e-6) if above else after < low * before * (1.0 - 1e-6)
