"""What all rankers share: which kernel functions, where their values are kept, who solves."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from rarefy._parameters import check_number, draw_seed, one_of, optional_count
from rarefy._progress import progress_bar, progress_line
from rarefy.backends.kernel_rows import kernel_rows
from rarefy.core.linalg.landmarks import pivoted_cholesky, ridge_leverage
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.linalg.threads import threads_over
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.rankers import rank, rank_in_blocks, rank_sparsely, whitening
from rarefy.exceptions import ParameterError
from rarefy.kernel._base import KernelEstimator
from rarefy.kernel._kernels import check_kernel, evaluate

_DOUBLE, _SINGLE = 1e-12, 1e-8
"""Squared distance, relative to the largest, at which a kernel function counts as one of those before: with kernel
values in single precision, what is smaller is mostly their rounding."""


@dataclass(frozen=True)
class RankPath:
    """Rankers for several weights of the penalty, in the order in which the weights were given.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The weights.
    dual_coef : ndarray of shape (n_alphas, n_basis)
        Coefficients of the kernel functions.
    objective : ndarray of shape (n_alphas,)
        Values reached.
    n_iter : ndarray of shape (n_alphas,)
        Iterations.
    estimator : object
        The ranker that made them; it evaluates the kernel.
    """

    alphas: np.ndarray
    dual_coef: np.ndarray
    objective: np.ndarray
    n_iter: np.ndarray
    estimator: object

    def scores(self, X):
        """Scores by every ranker, as an array of shape (n_alphas, n_samples); larger is rarer or higher."""
        return self.estimator._scores(self.estimator._new(X), self.dual_coef.T).T


@dataclass(frozen=True)
class _Task:
    """What all weights of the penalty share."""

    K: object
    T: np.ndarray | None
    loss: PairLoss
    levels: np.ndarray
    weights: np.ndarray


class KernelRanker(KernelEstimator):
    """What ranking a class and ranking levels share: basis, kernel block, solvers."""

    def _check_parameters(self):
        owner = type(self).__name__
        check_kernel(self.kernel, owner)
        check_number("alpha", self.alpha, owner, strictly=True)
        one_of("loss", self.loss, ("hinge", "logistic"), owner)
        check_number("eps", self.eps, owner, strictly=True)
        check_number("push", self.push, owner, at_least=1.0)
        check_number("false_positive_range", self.false_positive_range, owner, strictly=True)
        if self.false_positive_range > 1.0:
            raise ParameterError(
                f"false_positive_range of {owner} must be a share in (0, 1]; got {self.false_positive_range!r}."
            )
        one_of("penalty", self.penalty, ("l2", "l1"), owner)
        one_of("solver", self.solver, ("trust-region", "stochastic"), owner)
        one_of("landmarks", self.landmarks, ("cholesky", "kmeans", "leverage", "random"), owner)
        one_of("overflow", self.overflow, ("recompute", "disk"), owner)
        check_number("tol", self.tol, owner, strictly=True)
        check_number("memory_budget", self.memory_budget, owner)
        optional_count("max_iter", self.max_iter, owner)
        optional_count("n_passes", self.n_passes, owner)
        optional_count("block_size", self.block_size, owner)
        self._check_gamma()
        if isinstance(self.basis, str):
            one_of("basis", self.basis, ("rare", "all", "random"), owner)
        if self.landmarks == "kmeans" and self.kernel == "precomputed":
            raise ParameterError(
                f"landmarks='kmeans' of {owner} needs points, not a precomputed kernel: centres of clusters are no "
                "rows of the matrix. Use 'cholesky', 'leverage' or 'random'."
            )
        if self.penalty == "l1" and self.solver == "stochastic":
            raise ParameterError(
                f"solver='stochastic' of {owner} is for penalty='l2'; use solver='trust-region' with 'l1'."
            )

    # Kernel

    def _kernel(self, X, Y):
        if self.kernel == "precomputed":
            block = X[:, Y]
            return block.toarray() if sp.issparse(block) else block
        return evaluate(
            X, Y, self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _basis(self, X, rare, used, rng):
        """Indices of the basis points, or None and points that are no rows of X."""
        m, owner = X.shape[0], type(self).__name__
        if isinstance(self.basis, str):
            if self.basis == "rare":
                return rare, None
            return used if self.basis == "all" else np.sort(rng.choice(used, len(rare), replace=False)), None
        if isinstance(self.basis, Integral) and not isinstance(self.basis, bool) and self.basis >= 1:
            return self._landmarks(X, rare, used, min(int(self.basis), len(used)), rng)
        indices = np.asarray(self.basis)
        whole = indices.ndim == 1 and len(indices) and indices.dtype.kind in "iu"
        if not whole or indices.min() < 0 or indices.max() >= m:
            raise ParameterError(
                f"basis of {owner} must be 'rare', 'all', 'random', a number of kernel functions >= 1 or an array of "
                f"row numbers from 0 to {m - 1}; got {self.basis!r}."
            )
        return indices, None

    def _landmarks(self, X, rare, used, n, rng):
        """n points: rare ones first; what is missing, or which of the rare, by the chosen way."""
        pool = rare if n < len(rare) else np.setdiff1d(used, rare)
        first = rare[:0] if n < len(rare) else rare
        wanted = n - len(first)
        if wanted == 0:
            return rare, None
        if self.landmarks == "random":
            return np.sort(np.append(first, rng.choice(pool, wanted, replace=False))), None
        if self.landmarks == "kmeans":
            seed = int(rng.integers(2**31))
            centres = KMeans(wanted, n_init=1, random_state=seed).fit(X[pool]).cluster_centers_.astype(X.dtype)
            kept = X[first].toarray() if sp.issparse(X) else X[first]
            return None, np.vstack([kept, centres])
        some = np.sort(rng.choice(pool, min(len(pool), max(2000, 10 * wanted)), replace=False))
        if self.landmarks == "leverage":
            chances = self._leverage(X, first, some, wanted, rng)
            return np.sort(np.append(first, rng.choice(some, wanted, replace=False, p=chances))), None
        # The worst represented of some candidates, one after the other.
        candidates = np.append(first, some)
        rows = X[candidates]  # once, not for every column

        def column(i):
            values = self._kernel(rows, candidates[[i]] if self.kernel == "precomputed" else rows[[i]])
            return np.asarray(values, dtype=np.float64).ravel()

        chosen = pivoted_cholesky(self._diagonal(X, candidates), column, n, np.arange(len(first)))
        return candidates[chosen], None

    def _leverage(self, X, first, some, wanted, rng):
        """Chances of some points that grow with what they add to the given ones and to a first sample."""
        pilot = np.append(first, rng.choice(some, wanted, replace=False))
        T = whitening(self._between(X, pilot, pilot))
        D = self._between(X, some, pilot) @ T
        scores = ridge_leverage(D, self._diagonal(X, some), np.ones(len(some)), wanted)
        return scores / scores.sum()

    def _between(self, X, rows, others):
        """Kernel values of some rows with others."""
        values = self._kernel(X[rows], others if self.kernel == "precomputed" else X[others])
        return np.asarray(values, dtype=np.float64)

    def _diagonal(self, X, index):
        if self.kernel == "precomputed":
            return np.asarray([X[i, i] for i in index], dtype=np.float64)
        if self.kernel in ("rbf", "laplacian", "wave", "chi2"):
            return np.ones(len(index))
        return np.concatenate(
            [np.diagonal(self._kernel(X[part], X[part])) for part in np.array_split(index, -(-len(index) // 64))]
        ).astype(np.float64)

    def _block(self, X, points):
        return lambda rows: self._kernel(X[rows], points)

    # Fitting

    def _task(self, X, levels, rare, weights, rng):
        """Choose the basis and evaluate the kernel."""
        self.gamma_ = self._resolved_gamma(X, weights)
        used = np.flatnonzero(weights)
        self.basis_, centres = self._basis(X, rare, used, rng)
        if self.kernel == "precomputed":
            points = self.basis_
            K_RR = self._kernel(X[self.basis_], self.basis_)
        else:
            points = X[self.basis_] if centres is None else centres
            K_RR = self._kernel(points, points)
        self.basis_points_ = points
        single = np.asarray(K_RR).dtype == np.float32
        K_RR = np.asarray(K_RR, dtype=np.float64)
        if not np.isfinite(K_RR).all():
            raise ParameterError(f"the kernel of {type(self).__name__} gives values that are not finite.")
        if not np.allclose(K_RR, K_RR.T, rtol=1e-5, atol=1e-8 * float(np.abs(K_RR).max(initial=0.0))):
            raise ParameterError(f"the kernel of {type(self).__name__} is not symmetric: k(x, y) differs from k(y, x).")
        loss = PairLoss(
            Pairs.of(levels, weights),
            eps=None if self.loss == "logistic" else float(self.eps),
            push=float(self.push),
            false_positive_range=float(self.false_positive_range),
        )
        K = None
        if self.solver != "stochastic":
            K, self.storage_ = kernel_rows(
                (X.shape[0], len(K_RR)), self._block(X, points), budget=self.memory_budget, overflow=self.overflow
            )
            single |= self.storage_ in ("float32", "on disk")
        T = None if self.penalty == "l1" else whitening(0.5 * (K_RR + K_RR.T), _SINGLE if single else _DOUBLE)
        return _Task(K, T, loss, levels, weights)

    def _solve(self, task, alpha, start):
        """One ranker; `start` is the one before, for a warm start."""
        limit = self.max_iter or 100
        with progress_line(self.verbose) as show:
            callback = None if show is None else lambda i, *_: show(f"ranking, alpha={alpha:.3g}: step {i + 1}")
            common = {"tol": self.tol, "callback": callback}
            if self.penalty == "l1":
                beta = None if start is None else start.beta
                return rank_sparsely(task.K, task.loss, alpha, start=beta, max_iter=50 * limit, **common)
            with threads_over(task.K.shape[0] * task.K.shape[1]):
                return self._rank(task, alpha, None if start is None else start.w, common | {"max_iter": limit})

    @staticmethod
    def _rank(task, alpha, w, common):
        loss = task.loss
        if loss.false_positive_range < 1.0 and w is None:
            # Who stands highest has to be known before only they can count.
            everyone = PairLoss(loss.pairs, loss.eps, loss.push)
            w = rank(task.K, task.T, everyone, alpha, tol=1e-4).w
        return rank(task.K, task.T, loss, alpha, start=w, **common)

    def _solve_in_blocks(self, X, task, rng):
        """Passes over the most frequent level in blocks; the others, which are few, are in every block."""
        levels, weights = task.levels, task.weights
        counts = np.bincount(levels, weights=(weights > 0.0).astype(float))
        frequent = int(np.argmax(counts))
        few = np.flatnonzero((levels != frequent) & (weights > 0.0))
        many = np.flatnonzero((levels == frequent) & (weights > 0.0))
        kernel = self._block(X, self.basis_points_)
        K_few = np.asarray(kernel(few), dtype=np.float64)
        size = self.block_size or max(1000, len(few))
        n_blocks, passes = -(-len(many) // size), self.n_passes or 5
        show = progress_bar("blocks", self.verbose)

        def blocks():
            for part in np.array_split(rng.permutation(many), n_blocks):
                K = np.vstack([K_few, np.asarray(kernel(part), dtype=np.float64)])
                # A point of the block stands for as many as there are blocks: their mean is the whole loss.
                weight = np.append(weights[few], n_blocks * weights[part])
                pairs = replace(Pairs.of(levels[np.append(few, part)], weight), total=task.loss.pairs.total)
                yield DenseRows(K), replace(task.loss, pairs=pairs)

        callback = None if show is None else lambda count, *_: show(count, passes * n_blocks)
        w = rank_in_blocks(blocks, task.T, float(self.alpha), passes=passes, callback=callback)
        return task.T @ w, w, passes * n_blocks

    def _fit_ranker(self, X, levels, rare, weights):
        """Find the coefficients; scores of the training points, and whether the minimum was reached."""
        rng = np.random.default_rng(draw_seed(self.random_state))
        task = self._task(X, levels, rare, weights, rng)
        if self.solver == "stochastic":
            beta, w, n_iter = self._solve_in_blocks(X, task, rng)
            self.storage_ = "blocks"
            scores = self._scores(X, beta)
            self.objective_ = task.loss.at(scores).value + 0.5 * self.alpha * float(w @ w)
            self.n_iter_, converged = n_iter, False
        else:
            found = self._solve(task, float(self.alpha), None)
            converged = found.converged
            if not found.converged:
                warnings.warn(
                    f"{type(self).__name__} was stopped after {found.n_iter} iterations; {found.objective:.6g} "
                    f"may still fall by about {found.decrement:.2g}. Raise max_iter or tol, or alpha.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            beta = found.beta
            # The threshold is for scores as they will be, without the rounding of stored values.
            scores = task.K @ beta if self.storage_ == "float64" else self._scores(X, beta)
            self.objective_, self.n_iter_ = found.objective, found.n_iter
        self.dual_coef_ = beta[None]
        return scores, converged

    def _path(self, X, levels, rare, weights, alphas):
        alphas = np.asarray(alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() <= 0.0:
            raise ParameterError(
                f"alphas of {type(self).__name__} must be finite numbers > 0, at least one; got {alphas}."
            )
        if self.solver == "stochastic":
            raise ParameterError(f"alpha_path of {type(self).__name__} needs solver='trust-region'.")
        task = self._task(X, levels, rare, weights, np.random.default_rng(draw_seed(self.random_state)))
        found, before = {}, None
        for i in np.argsort(-alphas):
            found[i] = before = self._solve(task, float(alphas[i]), before)
        rows = [found[i] for i in range(len(alphas))]
        return RankPath(
            alphas,
            np.stack([row.beta for row in rows]),
            np.array([row.objective for row in rows]),
            np.array([row.n_iter for row in rows]),
            self,
        )

    def _scores(self, X, beta):
        """Kernel expansion, block by block."""
        scores = np.empty((X.shape[0], *np.shape(beta)[1:]))
        step = max(1, (1 << 22) // max(1, len(beta)))
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            scores[part] = self._kernel(X[part], self.basis_points_) @ beta
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
