r"""Certificates about two kernel matrices of the same samples: with all columns, and with the kept ones or a subspace.

K, K~   : (n, n) kernel matrices; lo, hi : lo K <= K~ <= hi K on the range of K (`rarefy.core.certificates.pencil`)
alpha   : penalty of kernel ridge regression (`rarefy.core.certificates.regularised`)
Z, Z~   : optima of a kernel model with labels (`rarefy.certificates._kernel_objective`)

What is claimed of linear models through X X^T holds for any kernel matrix, because hard margin, soft margin, smallest
ball and ridge risk see the samples through it alone. K~ need not be below K: a Gaussian kernel of fewer columns is not.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rarefy._fit import numerical
from rarefy._pictures import data_frame
from rarefy.certificates._claims import Kind
from rarefy.certificates._equality import EqualByContent
from rarefy.certificates._fingerprint import fingerprint
from rarefy.certificates._html import certificate_html
from rarefy.certificates._json_values import checked_fields, plain
from rarefy.certificates._kernel_check import (
    Found,
    checked_kernels,
    is_nested,
    penalty_faults,
    resolution_of,
)
from rarefy.certificates._kernel_fields import convert, impossible
from rarefy.certificates._kernel_objective import KernelObjective
from rarefy.certificates._kernel_statement import kernel_headline, kernel_sentences, kernel_shares
from rarefy.certificates._objective import targets
from rarefy.certificates._share_bars import ShareBars, draw_shares, kernel_matrix_shares
from rarefy.certificates._verdict import Verdict, verdict_of
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.verify import Verification
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.margins import LossName
from rarefy.exceptions import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class KernelCertificate(EqualByContent):
    """What is guaranteed when one kernel matrix takes the place of another, measured and in words.

    Attributes
    ----------
    kind : {"deterministic", "none"}
        What stands behind the claims: a proof; or nothing from below, because a direction was lost.
    verdict : {"strong", "useful", "weak", "none"}
        What it is worth: strong from a certified `share` of 0.9, useful from 0.5, weak from 0.1.
    share : float or None
        The best that is certified: `objective_ratio`, or what is kept of squared margin over squared radius.
    sentence, statement : str
        The verdict in one sentence, and the certificate in words.
    margin_floor, soft_margin_ratio : float or None
        Shares of the squared hard margin, and of the objective of any kernel SVM with any labels and cost, that are
        kept at least; None where nothing is claimed.
    radius_ratio, radius_margin_ratio : float or None
        Factors by which the squared radius of the smallest enclosing ball, and its ratio to the squared margin, grow at
        most.
    risk_ratio : float or None
        Factor by which the risk of kernel ridge regression grows at most: for the penalty that the certificate was made
        with, else for every penalty in the worst case over signals and on average.
    objective_ratio : float or None
        Share of the model's objective that is kept at least, for the labels and the cost given.
    objective_interval : (float, float) or None
        Bounds on the ratio of the optima with the whole and with the kept kernel.
    explained : float or None
        Trace of the kept kernel matrix over that of the whole one, where it is at most the whole one.
    lost : bool
        Whether a direction of the whole kernel matrix was lost or is not told from lost.
    n_samples : int
        Rows of the matrices.
    eigenvalues : (float, float)
        The largest lo and the smallest hi with lo K <= K_kept <= hi K on the range of K, moved outward by what rounding
        may have done; 0 or infinity where they are not known to four digits.
    rank : int or None
        Dimensions of K; None if it was not decomposed, which leaves `eigenvalues` open.
    trace_ratio : float
        tr K_kept / tr K.
    nested : bool
        Whether K_kept <= K, up to rounding to single precision.
    resolution : float
        A margin no wider than this may be lost; 0 if no direction counts as zero.
    objective : KernelObjective or None
        Bounds on a model's objectives and the points that prove them.
    regularised : Regularised or None
        What holds for one ridge penalty.
    fingerprint : str or None
        Hashes of the two matrices.

    See Also
    --------
    certify_kernels : Make one from two kernel matrices.
    Certificate : The same for columns of a matrix and linear models.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((6, 40))
    >>> K, K_kept = X @ X.T, X[:, :30] @ X[:, :30].T
    >>> certificate = rarefy.certify_kernels(K, K_kept)
    >>> again = rarefy.KernelCertificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
    >>> bool(again.verify(K, K_kept))
    True
    """

    n_samples: int
    eigenvalues: tuple[float, float]
    rank: int | None
    trace_ratio: float
    nested: bool
    resolution: float = 0.0
    objective: KernelObjective | None = None
    regularised: Regularised | None = None
    fingerprint: str | None = None

    @property
    def lost(self) -> bool:
        """Whether a direction was lost or is not told from lost."""
        return self.eigenvalues[0] <= 0.0

    @property
    def kind(self) -> Kind:
        """What stands behind the claims."""
        return "none" if self.lost and self.objective_ratio is None else "deterministic"

    @property
    def share(self) -> float | None:
        """The best that is certified of what was there."""
        return max((share for share, _ in kernel_shares(self)), default=None)

    @property
    def verdict(self) -> Verdict:
        """What the certificate is worth."""
        return verdict_of(self.share)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return kernel_headline(self)

    @property
    def statement(self) -> str:
        """The certificate in words."""
        return "\n".join(kernel_sentences(self))

    @property
    def margin_floor(self) -> float | None:
        """Share of the squared hard margin that is kept at least."""
        return None if self.lost else self.eigenvalues[0]

    @property
    def soft_margin_ratio(self) -> float | None:
        """Share of the objective of any kernel SVM, with any labels and any C, that is kept at least."""
        return None if self.margin_floor is None else min(1.0, self.margin_floor)

    @property
    def radius_ratio(self) -> float | None:
        """Factor by which the squared radius of the smallest enclosing ball grows at most."""
        return self.eigenvalues[1] if np.isfinite(self.eigenvalues[1]) else None

    @property
    def radius_margin_ratio(self) -> float | None:
        """Factor by which squared radius over squared margin grows at most."""
        floor, radius = self.margin_floor, self.radius_ratio
        return None if floor is None or radius is None else radius / floor

    @property
    def risk_ratio(self) -> float | None:
        """Factor by which the risk of kernel ridge regression grows at most."""
        if self.regularised is not None:
            return self.regularised.risk_factor
        if self.margin_floor is None or self.radius_ratio is None:
            return None
        return max(min(1.0, self.margin_floor) ** -2, max(1.0, self.radius_ratio) ** 2)

    @property
    def objective_ratio(self) -> float | None:
        """Share of the model's objective that is kept at least, for the given labels and cost."""
        return None if self.objective is None else self.objective.ratio

    @property
    def objective_interval(self) -> tuple[float, float] | None:
        """Bounds on the ratio of the optima with the whole and with the kept kernel."""
        return None if self.objective is None else self.objective.interval

    @property
    def explained(self) -> float | None:
        """Share of the trace of K that is kept, where K_kept <= K."""
        return min(1.0, self.trace_ratio) if self.nested else None

    @numerical("KernelCertificate.verify")
    def verify(self, K: Any, K_kept: Any, y: Any = None) -> Verification:
        """Recompute from the matrices by another route: eigenvectors of K, then singular values on its range.

        Parameters
        ----------
        K, K_kept : array-like of shape (n_samples, n_samples)
            The kernel matrices that the certificate is about.
        y : array-like of shape (n_samples,) or None, default=None
            The labels or responses, for certificates that were made with them. A certificate that claims something
            about an objective does not agree without them.

        Returns
        -------
        verification : Verification
            True in a condition if the matrices agree with the certificate; with the `reason` if not.
        """
        faults = impossible({f.name: getattr(self, f.name) for f in fields(self)})
        if faults:
            return Verification.refused("; ".join(faults))
        K, K_kept = checked_kernels(K, K_kept, "verify")
        if len(K) != self.n_samples:
            raise ParameterError(f"This certificate is about {self.n_samples} samples; K has {len(K)} rows.")
        if not K.any():
            return Verification.refused("every entry of K is zero")
        found = None if self.rank is None else Found(K, K_kept, self.rank)
        if found is not None and self.rank is not None:
            faults += found.faults(*self.eigenvalues, self.rank)
        faults += [*self._trace_faults(K, K_kept), *self._label_faults(K, K_kept, y)]
        if self.regularised is not None:
            faults += penalty_faults(K, K_kept, self.regularised)
        low, high, rank = (0.0, np.inf, 0) if found is None else (found.low, found.high, found.rank)
        same = None if self.fingerprint is None else fingerprints(K, K_kept) == self.fingerprint
        outside = max(0.0, self.eigenvalues[0] - low, high - self.eigenvalues[1] if np.isfinite(high) else 0.0)
        apart = max(1.0 - low, high - 1.0)
        return Verification(not faults, apart, (low, high), rank, rank, outside, 1e-8, "; ".join(faults), same)

    def _trace_faults(self, K: Array, K_kept: Array) -> list[str]:
        faults = []
        ratio = float(np.trace(K_kept) / np.trace(K))
        if not abs(ratio - self.trace_ratio) <= 1e-6 * ratio:
            faults.append(f"the ratio of the traces is {ratio:.6g}, not {self.trace_ratio:.6g}")
        nested = is_nested(K, K_kept) if self.nested or self.rank is not None else False
        if nested != self.nested:
            faults.append(f"K_kept {'is' if nested else 'is not'} at most K")
        least = 0.0 if self.rank is None else resolution_of(K, self.rank)
        if not abs(self.resolution - least) <= 1e-6 * least:
            faults.append(f"the resolution is {least:.6g}, not {self.resolution:.6g}")
        return faults

    def _label_faults(self, K: Array, K_kept: Array, y: Any) -> list[str]:
        if self.objective is None:
            return []
        if y is None:
            return ["it claims something about labels, and no y was passed"]
        return self.objective.faults(K, K_kept, checked_targets(y, self.objective.loss, len(K)))

    def to_frame(self) -> Any:
        """Return what is certified as a pandas data frame, one row for each share.

        Returns
        -------
        frame : pandas.DataFrame
            With columns what and share.
        """
        shares = kernel_matrix_shares(self)
        return data_frame({"what": list(shares), "share": list(shares.values())})

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
        return draw_shares(ax, kernel_matrix_shares(self), f"kernel matrices of {self.n_samples} samples")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, what is derived from them and the statement as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        return {name: plain(getattr(self, name)) for name in (*(f.name for f in fields(self)), *_DERIVED)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "KernelCertificate":
        """Make a certificate from plain values; what is derived is derived again.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, as it is or read from JSON.

        Returns
        -------
        certificate : KernelCertificate
            The certificate.
        """
        return cls(**checked_fields(values, [f.name for f in fields(cls)], convert, "kernel certificate"))

    def __repr__(self) -> str:
        share = "none" if self.share is None else f"{self.share:.4g}"
        return (
            f"KernelCertificate(kind={self.kind!r}, samples={self.n_samples}, share={share}, verdict={self.verdict!r})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.verdict, self.kind, kernel_sentences(self))


_DERIVED = (
    "kind",
    "verdict",
    "sentence",
    "share",
    "lost",
    "margin_floor",
    "soft_margin_ratio",
    "radius_ratio",
    "radius_margin_ratio",
    "risk_ratio",
    "objective_ratio",
    "objective_interval",
    "explained",
    "statement",
)


def fingerprints(K: Array, K_kept: Array) -> str:
    """Hashes of both matrices."""
    return f"{fingerprint(K)}:{fingerprint(K_kept)}"


def checked_targets(y: Any, loss: LossName, n: int) -> Array:
    """One column a model, one row a sample."""
    y = np.asarray(y)
    if y.ndim == 0 or len(y) != n:
        raise ParameterError(f"y must have one entry for each of the {n} samples; got shape {y.shape}.")
    return targets(y, loss)
