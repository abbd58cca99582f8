"""How close chosen columns are to the best possible ones, as a value that can be checked again."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rarefy._fit import numerical
from rarefy._input import validated_alone
from rarefy._pictures import data_frame
from rarefy._validation import check_weights, refuse_masked
from rarefy.certificates._columns import kept_names
from rarefy.certificates._equality import EqualByContent
from rarefy.certificates._fingerprint import same_data
from rarefy.certificates._html import certificate_html
from rarefy.certificates._json_values import checked_fields, plain
from rarefy.certificates._objective import stated
from rarefy.certificates._share_bars import ShareBars, draw_shares, status_counts, subset_shares
from rarefy.certificates._subset_check import checked_rows, coded_targets, fingerprints, in_order, subset_faults
from rarefy.certificates._subset_fields import convert, impossible
from rarefy.certificates._verdict import Verdict, percent, verdict_of
from rarefy.core.best_subset.problem import SubsetProblem, Trained
from rarefy.core.certificates.subset import SubsetBounds
from rarefy.core.certificates.verify import Verification
from rarefy.core.certificates.witness import objective_above
from rarefy.core.linalg.columns import column_deviations, dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows, as_rows
from rarefy.core.losses.margins import LossName
from rarefy.exceptions import ParameterError

_STATUS = ("in every best set", "in none", "open")


@dataclass(frozen=True, eq=False, repr=False)
class SubsetCertificate(EqualByContent):
    """What is proved about a choice of r columns (or groups of columns) among all choices of r.

    The objective is 1/2 ||w||^2 + C times the sum of losses, with a free intercept, minimised over coefficients that
    are zero outside the chosen columns; of several classes or outputs the sum over them.

    Attributes
    ----------
    optimality : float or None
        The best r columns have an objective of at least this share of that of the chosen ones; None if nothing is
        proved.
    objective_ratio : float or None
        All columns together have an objective of at least this share of it.
    lower_bound : float
        No choice of r columns has a lower objective.
    objective : float
        What the chosen columns reach.
    column_status : ndarray of shape (n_features,), str
        "in every best set", "in none", or "open" if neither is proved.
    verdict : {"strong", "useful", "weak", "none"}
        Of `optimality`: strong from 0.9, useful from 0.5, weak from 0.1.
    sentence, statement : str
        The verdict in one sentence, and all of it in words.
    indices : ndarray of shape (n_selected,)
        The chosen columns.
    n_features, n_chosen : int
        Columns of the data, and r.
    loss, C : str, float
        The loss, and what multiplies it.
    classified : bool
        Whether y holds classes, coded by -1 and 1, or numbers.
    standardized : bool
        Whether columns were divided by their standard deviations.
    groups : ndarray of shape (n_features,) or None
        Number of the group of each column, if whole groups are chosen.
    dual, coef, intercept : ndarrays
        The points that prove the bound and the objective; `coef` is of the (standardised) columns.
    tree, leaf_duals : ndarrays of shape (n_nodes,) and (n_leaves, n_samples, n_models), or None
        If choices were split: the group of each split in preorder, first with it, then without it, -1 for a leaf; and
        a point for each leaf. Each bounds the choices of its leaf, and the least bound holds for all.
    all_columns_bound, all_columns_dual : float, ndarray, or None
        With all columns no model is below this, and what proves it.
    settled : ndarray of shape (n_groups,), int
        1 for groups in every best set, -1 for those in none, 0 for the others.
    names, feature_names : tuple of str or None
        Names of the chosen columns, in the order of `indices`, and of all columns.
    weighted : bool
        Whether the samples that count have different weights, so that `verify` needs them.
    fingerprint : str or None
        Hashes of the samples that count, of what is fitted to them, and of their costs.

    See Also
    --------
    rarefy.selection.BestSubsetSelector : Chooses columns and proves how good they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rarefy.selection import BestSubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> certificate = BestSubsetSelector(2).fit(X, y).certificate_
    >>> certificate.kind, bool(certificate.verify(X, y))
    ('deterministic', True)
    """

    indices: Index
    n_features: int
    n_chosen: int
    loss: LossName
    C: float
    classified: bool
    standardized: bool
    groups: Index | None
    lower_bound: float
    objective: float
    dual: Array
    coef: Array
    intercept: Array
    all_columns_bound: float | None
    all_columns_dual: Array | None
    settled: Index
    names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    weighted: bool = False
    fingerprint: str | None = None
    tree: Index | None = None
    leaf_duals: Array | None = None

    @property
    def optimality(self) -> float | None:
        """Proved share of the best possible choice."""
        if not (self.lower_bound > 0.0 and 0.0 < self.objective < np.inf):
            return None
        return min(1.0, self.lower_bound / self.objective)

    @property
    def objective_ratio(self) -> float | None:
        """Proved share of what all columns allow."""
        if self.all_columns_bound is None or not self.all_columns_bound > 0.0:
            return None
        return min(1.0, self.all_columns_bound / self.objective)

    @property
    def kind(self) -> Literal["deterministic", "none"]:
        """Whether anything is proved."""
        return "none" if self.optimality is None else "deterministic"

    @property
    def share(self) -> float | None:
        """The certified share."""
        return self.optimality

    @property
    def verdict(self) -> Verdict:
        """What the certificate is worth."""
        return verdict_of(self.optimality)

    @property
    def column_status(self) -> NDArray[Any]:
        """What is proved about every column."""
        by_group = np.array(_STATUS, dtype=object)[np.select([self.settled == 1, self.settled == -1], [0, 1], 2)]
        return by_group if self.groups is None else by_group[self.groups]

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        what = "groups of columns" if self.groups is not None else "columns"
        if self.optimality is None:
            return f"Nothing is proved about how good these {self.n_chosen} {what} are: the bound is not positive."
        if self.n_chosen == 1:
            one = "group of columns" if self.groups is not None else "column"
            return f"This {one} is at least {percent(self.optimality)} as good as the best one there is."
        return (
            f"These {self.n_chosen} {what} are at least {percent(self.optimality)} as good as the best "
            f"{self.n_chosen} there are."
        )

    @property
    def statement(self) -> str:
        """The certificate in words."""
        scaled = ", columns divided by their standard deviations" if self.standardized else ""
        always, never = int(np.sum(self.settled == 1)), int(np.sum(self.settled == -1))
        lines = [
            f"{self.verdict.capitalize()}: {self.sentence}",
            f"{len(self.indices)} of {self.n_features} columns chosen; {self.loss.replace('_', ' ')} loss, "
            f"C = {self.C:.4g}{scaled}.",
            f"Objective {self.objective:.6g}; no choice of {self.n_chosen} is below {self.lower_bound:.6g}, proved by "
            f"{'one dual point' if self.leaf_duals is None else f'{len(self.leaf_duals)} dual points'}.",
        ]
        if self.objective_ratio is not None:
            lines.append(f"Against all columns: at least {self.objective_ratio:.4g} of the objective.")
        still_open = len(self.settled) - always - never
        lines.append(f"Proved to be in every best choice: {always}; in none: {never}; open: {still_open}.")
        return "\n".join(lines)

    @numerical("SubsetCertificate.verify")
    def verify(self, X: Any, y: Any, *, sample_weight: Any = None) -> Verification:
        """Put the points into the data and see what they prove.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The data that the choice was made on. Of a data frame, columns are found by their names, if the certificate
            has all of them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels or responses.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the samples, if there were any.

        Returns
        -------
        verification : Verification
            True in a condition if everything that is stated is proved; with the `reason` if not.
        """
        faults = impossible({f.name: getattr(self, f.name) for f in fields(self)})
        if faults:
            return Verification.refused("; ".join(faults))
        columns = getattr(X, "columns", None)
        X = validated_alone(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        if X.shape[1] != self.n_features:
            raise ParameterError(f"This certificate is about {self.n_features} columns; X has {X.shape[1]}.")
        if y is None:
            return Verification.refused("it claims something about labels, and no y was passed")
        if self.weighted and sample_weight is None:
            return Verification.refused("it is about weighted samples, and no sample_weight was passed")
        y = checked_rows(y, X.shape[0])
        try:
            Y = coded_targets(y, self.classified)
        except (ValueError, TypeError) as error:  # numbers where classes are needed, one class, values that are missing
            return Verification.refused(f"y does not suit the loss: {error}")
        rows, costs, Y = weighted_rows(as_rows(in_order(self, X, columns)), self.C, Y, sample_weight)
        scale = column_scales(rows, costs) if self.standardized else np.ones(self.n_features)
        faults = subset_faults(self, rows, costs, Y, scale)
        same = same_data(self.fingerprint, fingerprints(rows, Y, costs))
        nothing = np.nan, np.nan
        return Verification(not faults, np.nan, nothing, 0, 0, 0.0, 0.0, "; ".join(faults), same)

    def to_frame(self) -> Any:
        """Return what is known about the columns as a pandas data frame, one row for each column of the data.

        Returns
        -------
        frame : pandas.DataFrame
            With columns name (or number, where the data have no names), status, chosen and coefficient: of the
            (standardised) column, 0 if it is not chosen. Of several models there are coefficient_0, coefficient_1, ...
        """
        chosen, coef = np.zeros(self.n_features, dtype=bool), np.zeros((self.n_features, self.coef.shape[1]))
        chosen[self.indices], coef[self.indices] = True, self.coef
        names = range(self.n_features) if self.feature_names is None else self.feature_names
        titles = ["coefficient"] if coef.shape[1] == 1 else [f"coefficient_{k}" for k in range(coef.shape[1])]
        known = {"name": list(names), "status": self.column_status, "chosen": chosen}
        return data_frame(known | dict(zip(titles, coef.T, strict=True)))

    def plot(self, ax: Any = None) -> Any:
        """Draw the certified shares beside the thresholds of the verdict, and what is proved about the columns.

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
        about = f"{len(self.indices)} of {self.n_features} columns"
        return draw_shares(ax, subset_shares(self), about, status_counts(self))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and what follows from them as plain values, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        derived = ("kind", "verdict", "sentence", "share", "optimality", "objective_ratio", "statement")
        return {name: plain(getattr(self, name)) for name in (*(f.name for f in fields(self)), *derived)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SubsetCertificate":
        """Make a certificate from plain values; what follows from them is derived again.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, as it is or read from JSON.

        Returns
        -------
        certificate : SubsetCertificate
            The certificate.
        """
        return cls(**checked_fields(values, [f.name for f in fields(cls)], convert, "subset certificate"))

    def __repr__(self) -> str:
        share = "none" if self.optimality is None else f"{self.optimality:.4g}"
        return (
            f"SubsetCertificate(optimality={share}, columns={len(self.indices)} of {self.n_features}, "
            f"verdict={self.verdict!r})"
        )

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        return certificate_html(self.verdict, self.kind, self.statement.splitlines())


def weighted_rows(X: Rows, C: float, Y: Array, sample_weight: Any) -> tuple[Rows, Array, Array]:
    """Rows with a positive weight, their costs and their targets."""
    if sample_weight is None:
        return X, np.full(X.shape[0], C), Y
    refuse_masked(sample_weight, "sample_weight")
    given = np.asarray(sample_weight)
    weight = given.astype(np.float64) if given.dtype.kind in "biuf" else np.zeros(0)
    if weight.shape != (X.shape[0],) or not np.all(np.isfinite(weight) & (weight >= 0.0)):
        raise ParameterError(
            f"sample_weight must be {X.shape[0]} finite numbers >= 0; got shape {given.shape} of type {given.dtype}."
        )
    counted = np.flatnonzero(check_weights(weight, weight[:, None], "a best subset") > 0.0)
    return X.subset(counted), C * weight[counted], Y[counted]


def column_scales(X: Rows, costs: Array) -> Array:
    """One over the standard deviation of each column, with rows weighted by their costs; 0 for constant columns."""
    weight = costs / costs.max()
    deviation, largest = column_deviations(X, weight / weight.sum())
    constant = deviation <= 1e-12 * largest
    return np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, deviation))


def make_subset_certificate(
    problem: SubsetProblem,
    *,
    C: float,
    classified: bool,
    standardized: bool,
    groups: Index | None,
    columns: Index,
    n_chosen: int,
    dual: Array,
    trained: Trained,
    all_columns_dual: Array | None,
    names: tuple[str, ...] | None,
    feature_names: Any = None,
    tree: Index | None = None,
    leaf_duals: Array | None = None,
) -> SubsetCertificate:
    """State what the points prove, a little on the safe side."""
    p, loss = problem, problem.loss.name
    bounds = SubsetBounds(p.X, p.Y, p.costs, loss, p.scale, p.groups)
    found = bounds.of(dual)
    proved = found.over(n_chosen)
    if tree is not None and leaf_duals is not None:
        proved = max(proved, bounds.of_tree(tree, leaf_duals, n_chosen))
    kept = dense_columns(p.X, columns, p.scale[columns])
    reached = objective_above(kept, p.Y, p.costs, loss, trained.coef, trained.intercept)
    lower, upper = stated(proved, reached)
    always, never = found.settled(n_chosen, upper)
    if tree is not None and leaf_duals is not None:
        by_tree = bounds.settled(tree, leaf_duals, n_chosen, upper)
        always, never = always | by_tree[0], never | by_tree[1]
    whole = None if all_columns_dual is None else stated(bounds.of(all_columns_dual).over(p.n_groups), 0.0)[0]
    whole = whole if whole is not None and np.isfinite(whole) else None
    return SubsetCertificate(
        indices=columns,
        n_features=p.X.shape[1],
        n_chosen=n_chosen,
        loss=loss,
        C=C,
        classified=classified,
        standardized=standardized,
        groups=groups,
        lower_bound=lower,
        objective=upper,
        dual=dual,
        coef=trained.coef,
        intercept=trained.intercept,
        all_columns_bound=whole,
        all_columns_dual=None if whole is None else all_columns_dual,
        settled=always.astype(np.intp) - never.astype(np.intp),
        names=names,
        feature_names=None if feature_names is None else kept_names(feature_names, np.arange(p.X.shape[1])),
        weighted=bool(np.any(p.costs != C)),
        fingerprint=fingerprints(p.X, p.Y, p.costs),
        tree=tree,
        leaf_duals=leaf_duals,
    )
