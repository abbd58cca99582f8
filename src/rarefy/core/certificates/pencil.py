r"""Two kernel matrices in one basis, and the extreme ratios of their quadratic forms.

K      : (n, n) positive semi-definite, all columns (X X^T, or any kernel matrix)
K~     : the same from the kept columns (X R R^T X^T, or any kernel matrix)
mu, G  : K = U diag(mu) U^T and G = U^T K~ U in an orthonormal basis U of l <= n directions; on the n - l others both
         matrices are zero
lo, hi : the largest and the smallest number with lo K <= K~ <= hi K in the order of quadratic forms

*What lo and hi mean for a model whose dual sees the data through K alone.* Hard margin: margin~^2 >= lo margin^2.
Radius of the smallest ball around the samples: lo B^2 <= B~^2 <= hi B^2, because the dual of the ball is a sum of
forms (e_i - b)^T K (e_i - b). Soft margin with the bound C on the dual variables: Z~ <= Z / min(1, lo) and
Z <= max(1, hi) Z~ (K~ >= lo K makes the dual value of a at most 1/lo times the other one at lo a, which needs
lo a <= C).

*Rounding.* Orthogonal reductions and products of n x n matrices are backward stable: what is computed from A belongs
to A + F, ||F|| <= p(n) eps ||A|| (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 19). We take
p(n) = 4n + 8: the a-priori constants are larger, observed errors are below sqrt(n) eps ||A||, and the tests compare
with exact rational arithmetic. With ||K - U mu U^T|| <= e and ||K~ - U G U^T|| <= e~, and x^T A x >= a |x|^2 for A = K
or K + alpha I, a ratio q of the forms of (K~, K) changes by at most (e~ + q e) / a: that is the error bar by which lo
goes down and hi goes up. A proof that includes every rounding is another matter (a shifted Cholesky factorisation);
these bars are for stating numbers.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rarefy.core.certificates.kernel_values import KernelInterval
from rarefy.core.linalg.rows import Array, Rows, as_rows
from rarefy.core.linalg.spectrum import EPS, Spectrum, decompose
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection


@dataclass(frozen=True, eq=False)
class Pencil:
    """K = diag(mu) and K~ = G in a common basis, both divided by `scale`, with bounds on their errors in norm."""

    mu: Array
    G: Array
    error: float
    error_kept: float
    scale: float
    n: int
    """Rows of the matrices; where there are more than directions, the forms of both are zero on the others."""
    U: Array
    """The basis: of R^n, or of the range of Q where a matrix X = Q T was reduced to T."""
    limits: tuple[float, float] = (0.0, np.inf)
    """lo and hi of the two matrices themselves where they are known more accurately, already widened."""

    @property
    def rank(self) -> int:
        """Number of directions."""
        return len(self.mu)

    def leading(self, k: int) -> "Pencil":
        """The k directions with the largest eigenvalues of K; the others are taken for zero."""
        top = slice(self.rank - k, None)
        return replace(self, mu=self.mu[top], G=self.G[top, top], U=self.U[:, top])


def rounding(n: int) -> float:
    """p(n) eps: the relative error in norm of products and orthogonal reductions of n x n matrices."""
    return (4 * n + 8) * EPS


def kernel_pencil(K: Array, K_kept: Array, *, error: float = 0.0, error_kept: float = 0.0) -> Pencil:
    """Both matrices in the eigenbasis of K; the only decomposition of K that a curve over penalties needs.

    Parameters
    ----------
    K, K_kept : (n, n) arrays
        Symmetric, positive semi-definite up to the errors.
    error, error_kept : float
        Bounds on how far they are, in norm, from the matrices that are meant (the rounding of a Gram product).
    """
    scale = _power_of_two(max(float(np.abs(A).max(initial=0.0)) for A in (K, K_kept)))
    A, B = (_symmetric(M / scale) for M in (K, K_kept))
    with threads_for(len(A)):
        mu, U = np.linalg.eigh(A) if len(A) else (np.zeros(0), A)
        G = _symmetric(U.T @ B @ U)
    p = rounding(len(A))
    return Pencil(
        np.maximum(mu, 0.0),
        G,
        p * float(np.abs(mu).max(initial=0.0)) + error / scale,
        p * norm(G) + error_kept / scale,
        scale,
        len(A),
        U,
    )


def row_pencil(X: Rows, selection: Selection, spec: Spectrum | None = None) -> Pencil:
    """The same for K = X X^T and K~ = X R R^T X^T; matrices of min(n, d) rows and columns only.

    For n > d, X = Q T with T from an orthogonal reduction in blocks of rows, so K = T T^T in the basis Q. A Gram
    product of rows x_i has errors below eps sqrt(d) |x_i| |x_j| when it sums in blocks, together eps sqrt(d) tr K.

    Without a penalty lo and hi are the extreme eigenvalues of V^T R R^T V, and they are accurate to the condition
    number of X, not its square: a perturbation of X by eta ||X|| changes y = X^T x by at most eta cond(X) |y|, and the
    square root of a ratio q by at most eta cond(X) (w + sqrt(q)) with w the largest weight. They are the limits; `spec`
    is the whole spectrum of X, if it is known.
    """
    spec = decompose(X).leading() if spec is None else spec
    if spec.rank == 0:
        return Pencil(np.zeros(0), np.zeros((0, 0)), 0.0, 0.0, 1.0, X.shape[0], np.zeros((0, 0)))
    size = 1.0 if 1e-60 < spec.sigma[0] < 1e60 else _power_of_two(float(spec.sigma[0]))
    scaled = X if size == 1.0 else X.scaled(1.0 / size)
    T = scaled if X.shape[0] <= X.shape[1] else as_rows(triangular(scaled))
    kept = T.T.take(selection.indices).T * selection.weights
    K, K_kept = T.T.gram(), kept @ kept.T
    gram = 4.0 * EPS * np.sqrt(max(X.shape))
    pencil = kernel_pencil(K, K_kept, error=gram * float(np.trace(K)), error_kept=gram * float(np.trace(K_kept)))
    return replace(pencil, scale=pencil.scale * size**2, n=X.shape[0], limits=_limits(spec, selection))


def triangular(X: Rows) -> Array:
    """The factor T of X = Q T with orthonormal columns of Q, which is not stored; one pass over blocks of rows."""
    T = np.zeros((0, X.shape[1]))
    for _, block in X.blocks():
        T = np.asarray(np.linalg.qr(np.vstack([T, block]), mode="r"))
    return T


def _limits(spec: Spectrum, selection: Selection) -> tuple[float, float]:
    """The extreme eigenvalues of V^T R R^T V, outward."""
    W = spec.V.take(selection.indices) * selection.weights[:, None]
    with threads_for(spec.rank):
        q = np.maximum(np.linalg.eigvalsh(W.T @ W), 0.0)
    p = rounding(spec.rank + int(np.sqrt(spec.V.shape[0])))
    w, slack = float(np.abs(selection.weights).max(initial=0.0)), p * float(spec.sigma[0] / spec.sigma[-1])
    lo = max(0.0, np.sqrt(max(q[0] - p * q[-1], 0.0)) - slack * (w + np.sqrt(q[0]))) ** 2
    hi = (np.sqrt(q[-1] * (1.0 + p)) + slack * (w + np.sqrt(q[-1]))) ** 2
    return float(lo), float(hi)


def kernel_interval(K: Array, K_kept: Array, *, error: float = 0.0, error_kept: float = 0.0) -> KernelInterval:
    """The extreme ratios of the forms of K~ and K over all vectors that K does not map to zero.

    Both matrices are first scaled to unit diagonal of K by powers of two, which changes no ratio and removes what is
    due to samples of different length only. A direction counts when its eigenvalue then exceeds the error bar. On the
    directions that do not count nothing is claimed, unless K~ is clearly positive there: then no hi exists, and lo is
    taken over the sums of both kinds (a Schur complement), where the form of K~ is smallest.
    """
    d = _balancing(K)
    scaled = kernel_pencil(d[:, None] * K * d, d[:, None] * K_kept * d)
    top2 = float((d * d).max(initial=0.0)) / scaled.scale
    mu, G = scaled.mu, scaled.G
    e, e_kept = scaled.error + error * top2, scaled.error_kept + error_kept * top2
    counts = mu > 2.0 * e
    if not counts.any():
        added = int(np.sum(np.linalg.eigvalsh(G) > 2.0 * e_kept)) if len(G) else 0
        return KernelInterval(0.0 if added else 1.0, np.inf if added else 1.0, 0, 0, added)
    P, growth, added = _schur(G, counts, e_kept)
    root = np.sqrt(mu[counts])
    with threads_for(len(P)):
        q = np.linalg.eigvalsh(_symmetric(P / root[:, None] / root))
    a = float(mu[counts].min()) - e
    bar = (e_kept * growth + np.maximum(q, 0.0) * e) / a
    lost = int(np.sum(q <= bar))
    hi = np.inf if added else float(q[-1] + bar[-1])
    return KernelInterval(0.0 if lost else float(q[0] - bar[0]), max(hi, 0.0), len(root), lost, added)


def norm(A: Array) -> float:
    """Spectral norm of a symmetric matrix."""
    if not len(A):
        return 0.0
    with threads_for(len(A)):
        return float(np.abs(np.linalg.eigvalsh(A)).max())


def _schur(G: Array, counts: NDArray[np.bool_], error: float) -> tuple[Array, float, int]:
    """K~ minimised over the directions without K where it is positive; how much an error grows; how many there are.

    The minimiser is z = -S^+ Q^T x, so that an error e of G becomes at most e (|x|^2 + |z|^2).
    """
    P, Q, S = G[np.ix_(counts, counts)], G[np.ix_(counts, ~counts)], G[np.ix_(~counts, ~counts)]
    if not len(S):
        return P, 1.0, 0
    s, E = np.linalg.eigh(S)
    positive = s > 2.0 * error
    if not positive.any():
        return P, 1.0, 0
    Z = (Q @ E[:, positive]) / s[positive]
    return P - (Z * s[positive]) @ Z.T, 1.0 + float(np.linalg.norm(Z, 2) ** 2), int(positive.sum())


def _balancing(K: Array) -> Array:
    """Powers of two that bring the diagonal of K near 1; 1 where it is not positive."""
    diagonal = K.diagonal()
    safe = np.where(diagonal > 0.0, diagonal, 1.0)
    return np.exp2(-np.round(0.5 * np.log2(safe)))


def _power_of_two(size: float) -> float:
    """The power of two below a size, so that dividing by it is exact; 1 for zero."""
    return float(2.0 ** np.floor(np.log2(size))) if size > 0.0 else 1.0


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)
