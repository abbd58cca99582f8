"""The numbers that a certificate is made of: plain values, filled in by two independent routes."""

from dataclasses import dataclass

from rarefy.core.linalg.rows import Array


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured of a selection R, with V the right singular vectors that it should preserve."""

    eigenvalues: tuple[float, float]
    """Smallest and largest eigenvalue of V^T R R^T V."""
    rank: int
    """Columns of V."""
    numerical_rank: int
    """Dimensions of the row space of the data."""
    singular_values: tuple[float, float]
    """The largest and the smallest of those that belong to V."""
    next_singular_value: float
    """The largest that does not belong to V; 0 if V spans everything."""
    energy_kept: float
    """Share of the data's squared norm inside V."""
    residual_ratio: float | None
    """Squared norm outside V after selection, relative to before; None where it is not asked for."""
    resolution: float
    """Singular values up to this counted as zero; 0 if there is none left that could."""
    unseen: int
    """Columns that are not zero and no longer than that."""
    choice: Array | None = None
    """Where the cut after V divides equal singular values: which of their singular vectors were chosen, as columns of
    length min(n, d). A witness: without it nobody else could know what V is."""

    @property
    def distortion(self) -> float:
        """||I - V^T R R^T V||."""
        low, high = self.eigenvalues
        return max(1.0 - low, high - 1.0)
