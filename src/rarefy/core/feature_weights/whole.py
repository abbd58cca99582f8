r"""All samples of a problem, of which only some are looked at in all features.

With very many samples the features are chosen from some of them, tens of thousands, and all samples are needed in the
chosen features only: these are few numbers for each sample, which are kept, while everything else stays where it is.

Rows : (n, d) samples in their own units; taken : which of them the features are chosen from
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.grouping import spread
from rarefy.core.feature_weights.kernel import Profile
from rarefy.core.feature_weights.landmarks import LandmarkSettings, landmark_selection
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.samples import Units, share_of_classes
from rarefy.core.feature_weights.selection import FeatureSelection
from rarefy.core.linalg.columns import column_deviations, dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows

_CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
"""Standard deviations below this share of the mean are rounding."""


@dataclass(frozen=True)
class Whole:
    """All samples with a positive weight, in the order in which they are stored."""

    rows: Rows
    classifiers: Classifiers
    profile: Profile
    groups: Index | None
    units: Units
    taken: Index
    """The samples from which features are chosen, in ascending order."""

    @property
    def all_taken(self) -> bool:
        """Whether there are no others."""
        return len(self.taken) == self.rows.shape[0]

    def part(self) -> Problem:
        """The problem with the samples that are taken, in all features."""
        X = self.units.apply(self.rows.take(self.taken))
        of = self.classifiers
        some = replace(of, Y=of.Y[self.taken], costs=of.costs[self.taken])
        return Problem(np.ascontiguousarray(X), some, self.profile, self.groups)

    def ratio(self, part: Problem) -> float:
        """The penalty that belongs to some of the samples, for each unit of that for all."""
        whole = self.classifiers.constant
        return part.classifiers.constant / whole if whole > 0.0 else 1.0

    def finish(
        self, found: FeatureSelection, mu: float, landmarks: Index, settings: LandmarkSettings
    ) -> FeatureSelection:
        """Go on with all samples from what was learned from some of them, in the features that were chosen.

        `landmarks` are numbers of the samples that are taken. Features are not brought in any more; weights that have
        become small are dropped.
        """
        features = np.flatnonzero(found.group_weights > 0.0)
        of_all = self.groups
        columns = features if of_all is None else np.flatnonzero(np.isin(of_all, features))
        groups = None if of_all is None else np.searchsorted(features, of_all[columns])
        problem = Problem(
            self._columns(columns),
            replace(self.classifiers, penalty=self.classifiers.penalty.with_mu(mu)),
            self.profile,
            groups,
        )
        begin = np.ascontiguousarray(found.dual_coef.T), found.intercept
        settings = replace(settings, rounds=0)
        own = landmark_selection(problem, found.group_weights[features], self.taken[landmarks], settings, begin)
        weights, shares = np.zeros(len(found.group_weights)), np.zeros(len(found.group_weights))
        weights[features], shares[features] = own.group_weights, own.group_weights * problem.scales
        return replace(
            own,
            feature_weights=spread(weights, of_all),
            group_weights=weights,
            support=spread(weights > 0.0, of_all),
            ranking=rankdata(-spread(shares, of_all), method="min").astype(int),
            n_iter=found.n_iter + own.n_iter,
            converged=found.converged and own.converged,
        )

    def _columns(self, columns: Index) -> Array:
        """Some columns of all samples."""
        chosen = dense_columns(self.rows, columns, np.ones(len(columns)))
        return self.units.apply(chosen.take(np.arange(self.rows.shape[0])), columns)


def whole_problem(
    rows: Rows,
    classifiers: Classifiers,
    profile: Profile,
    groups: Index | None,
    *,
    standardize: bool,
    size: int,
) -> Whole:
    """All samples in standardised features, with so many of them to choose features from.

    Of each class there are as many as in proportion, or fifty if it has so many.
    """
    d = rows.shape[1]
    units = _units(rows, classifiers.costs) if standardize else Units(np.zeros(d), np.ones(d))
    return Whole(rows, classifiers, profile, groups, units, np.flatnonzero(share_of_classes(classifiers, size)))


def _units(rows: Rows, costs: Array) -> Units:
    weight = costs / costs.sum()
    mean = rows.T @ weight
    scale = column_deviations(rows, weight)[0]
    return Units(mean, np.where(scale > _CONSTANT * np.abs(mean), scale, 1.0))
