r"""Branch and bound over the groups that are open: choices with a group and choices without it, each with a bound.

A node is a set of choices of r groups: those that contain the `fixed` ones and none of the `barred` ones. The
relaxation over them (`relaxation`) gives a dual point whose bound holds for all of them, and suggests a choice. The
node with the lowest bound is split at the group whose share is least decided, weighted by its pull, and the lowest
bound of all nodes that are left is a bound on every choice. Splitting may stop at any time, by an interrupt too.

The proof is the tree in preorder: the group of each split, first the choices with it, then those without it, and
`LEAF` for a leaf; and the leaves' dual points in the same order.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import Relaxed, project, relaxed
from rarefy.core.best_subset.search import Choice, choice, exchanged
from rarefy.core.linalg.rows import Array, Index

LEAF = -1
_STEPS = 30
"""Steps of the relaxation in a node; it starts from the shares of the node above."""

_CLOSE = 0.05
"""How closely a node's relaxation is solved, as a share of its gap."""

Progress = Callable[[int, int], None]


@dataclass(eq=False)
class Node:
    """Choices that contain some groups and do not contain others."""

    fixed: Index
    barred: Index
    relaxed: Relaxed
    group: int = LEAF
    children: tuple["Node", ...] = ()

    @property
    def bound(self) -> float:
        """No choice of this node has a lower objective, up to rounding."""
        return self.relaxed.bound


@dataclass(frozen=True, eq=False)
class Branched:
    """The best choice met, and the tree that bounds all choices."""

    chosen: Choice
    root: Node
    n_nodes: int
    interrupted: bool

    @property
    def bound(self) -> float:
        """No choice has a lower objective, up to rounding."""
        return min(node.bound for node in _preorder(self.root) if not node.children)

    def tree(self) -> Index:
        """Groups of the splits and leaves, in preorder."""
        return np.array([node.group for node in _preorder(self.root)], dtype=np.intp)

    def duals(self) -> Array:
        """(L, n, m) dual points of the leaves, in preorder."""
        return np.stack([node.relaxed.dual for node in _preorder(self.root) if not node.children])


def branch(
    problem: SubsetProblem,
    r: int,
    chosen: Choice,
    root: Relaxed,
    *,
    gap_tol: float,
    max_nodes: int,
    progress: Progress | None = None,
) -> Branched:
    """Split until the gap is closed or there are `max_nodes` nodes.

    Parameters
    ----------
    problem : SubsetProblem
        The problem.
    r : int
        Groups to choose.
    chosen : Choice
        The best choice known.
    root : Relaxed
        The relaxation over all choices.
    gap_tol : float
        Splitting ends when the bound is at least 1 minus this times the objective of the best choice.
    max_nodes : int
        Nodes beside the root.
    progress : callable or None
        Called with (nodes, max_nodes).
    """
    search = _Search(problem, r, gap_tol, chosen)
    nothing = np.zeros(0, dtype=np.intp)
    first = Node(nothing, nothing, root)
    search.push(first)
    interrupted = False
    try:
        while search.n_nodes + 2 <= max_nodes and (node := search.pop()) is not None:
            search.split(node)
            if progress is not None:
                progress(search.n_nodes, max_nodes)
    except KeyboardInterrupt:
        interrupted = True
    return Branched(search.chosen, first, search.n_nodes, interrupted)


@dataclass(eq=False)
class _Search:
    problem: SubsetProblem
    r: int
    gap_tol: float
    chosen: Choice
    n_nodes: int = 0
    _open: list[tuple[float, int, Node]] = field(default_factory=list)

    def push(self, node: Node) -> None:
        heapq.heappush(self._open, (node.bound, self.n_nodes, node))

    def pop(self) -> Node | None:
        """The node with the lowest bound, if that leaves anything to gain."""
        if not self._open or self._closed(self._open[0][0]):
            return None
        return heapq.heappop(self._open)[2]

    def split(self, node: Node) -> None:
        group = self._least_decided(node)
        if group is None:  # one choice is left, and its bound is its objective up to the tolerance of training
            return
        inside = self._child(node, np.append(node.fixed, group), node.barred)
        outside = self._child(node, node.fixed, np.append(node.barred, group))
        # Only now is the tree changed: an interrupt leaves a whole one.
        node.children, node.group = (inside, outside), group
        for child in node.children:
            self.n_nodes += 1
            self.push(child)

    def _closed(self, bound: float) -> bool:
        return bound >= (1.0 - self.gap_tol) * self.chosen.value

    def _child(self, node: Node, fixed: Index, barred: Index) -> Node:
        s = node.relaxed.s.copy()
        s[barred] = 0.0
        s[fixed] = 1.0
        free = np.setdiff1d(np.arange(len(s)), np.concatenate([fixed, barred]))
        s[free] = project(s[free], self.r - len(fixed))
        found = relaxed(
            self.problem,
            self.r,
            s=s,
            start=node.relaxed.trained.start,
            fixed=fixed,
            barred=barred,
            tol=max(0.1 * self.gap_tol, _CLOSE * (1.0 - node.bound / self.chosen.value)),
            max_iter=_STEPS,
            watch=lambda s, pulls, bound: self._closed(bound),
        )
        self._consider(found.s)
        if found.bound < node.bound:  # what holds for more choices holds for fewer
            found = found.with_bound(node.bound, node.relaxed.dual)
        return Node(fixed, barred, found)

    def _consider(self, s: Array) -> None:
        groups = np.sort(np.argsort(-s, kind="stable")[: self.r])
        if not np.array_equal(groups, self.chosen.groups):
            tried = choice(self.problem, groups, self.chosen.trained)
            if tried.value < 1.02 * self.chosen.value:
                tried = exchanged(self.problem, tried, 0.0)
            if tried.value < self.chosen.value:
                self.chosen = tried

    def _least_decided(self, node: Node) -> int | None:
        s, settled = node.relaxed.s, np.concatenate([node.fixed, node.barred])
        free = np.ones(len(s), dtype=bool)
        free[settled] = False
        if len(node.fixed) >= self.r or int(free.sum()) <= self.r - len(node.fixed):
            return None
        worth = np.where(free, np.minimum(s, 1.0 - s) * node.relaxed.pulls, -1.0)
        if worth.max() <= 0.0:  # all shares are 0 or 1: the largest pull of those with share 1
            worth = np.where(free & (s > 0.5), node.relaxed.pulls, -1.0)
        return int(np.argmax(worth))


def _preorder(node: Node) -> list[Node]:
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(node.children))
    return found
