"""Models of tables: ranking a rare class and classifying, with what held-out rows say about them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError
from rarefy.kernel import SubspaceLPSVC
from rarefy.ranking import RankRC, RankRCCV
from rarefy.ranking._scoring import recall_at
from rarefy.tables import Table, TableEncoder
from rarefy.tables._messages import one_line
from rarefy.tables._table import LABELS
from rarefy.workflows.labels import MOST_LEARNED, SampledFolds, folds_of, whole_labels
from rarefy.workflows.reading import Reading
from rarefy.workflows.stored import StoredTable, fitted_scaler, held_out_labels, scaled

_MANY = 20_000
"""Rows above which penalties are not compared by cross-validation."""


@dataclass(frozen=True)
class RankedTable:
    """A ranker of a rare class, with held-out scores."""

    pipeline: Pipeline
    target: str
    rare_class: Any
    is_rare: NDArray[np.bool_]
    held_out: Array
    """Scores of the rows by rankers that did not see them; NaN where there are none."""
    X: Any
    """The matrix that the ranker was trained on."""
    one_of_several: Any = None
    """The rare class as the column has it, if the column has more than two; all others are one class then."""

    @property
    def ranker(self) -> Any:
        """The last step."""
        return self.pipeline[-1]

    @property
    def most_learned(self) -> int | None:
        """Rows of a class that the rankers behind the held-out scores learned from at most; None means all."""
        folds = self.ranker.cv
        return folds.most if isinstance(folds, SampledFolds) else None

    @property
    def scorer(self) -> Pipeline:
        """What new rows need of the pipeline: the search is over."""
        return Pipeline([*self.pipeline.steps[:-1], ("rank", self.ranker.best_estimator_)])

    def measures(self) -> dict[str, float]:
        """What held-out rows say."""
        return dict(self._measures)

    @cached_property
    def _measures(self) -> dict[str, float]:
        usable = np.isfinite(self.held_out)
        rare, scores = self.is_rare[usable], self.held_out[usable]
        ones = np.ones(len(scores))
        return {
            "area under the ROC curve": float(roc_auc_score(rare, scores)),
            "average precision": float(average_precision_score(rare, scores)),
            "share of rare cases in the highest 1 %": recall_at(rare.astype(np.intp), scores, ones, 0.01),
        }


def rank_table(
    table: Table,
    target: str | None = None,
    *,
    rare_class: str | None = None,
    recall: float | None = None,
    confidence: float = 0.95,
    scoring: str = "roc_auc",
    impute: str | None = None,
    seed: int = 0,
) -> RankedTable:
    """Learn to rank the rare class of a table's target above the rest.

    Parameters
    ----------
    table : Table
        The table, with its target.
    target : str or None
        The column with two classes; None means the labels that the table states.
    rare_class : str or None
        As it is written in the column; None means the less frequent one. Of several classes it is ranked above all
        others, and has to be named.
    recall, confidence : float
        Asks for a threshold that finds this share of future rare cases with this confidence; None asks for none.
    scoring : str
        What the penalty is chosen by.
    impute : "median" or None
        What to do about missing values.
    seed : int
        Of folds and landmarks.
    """
    features, y = table.split(target)
    y, target = whole_labels(y), target or LABELS
    label = label_of(y, rare_class, target)
    several = label if len(np.unique(y)) > 2 else None
    if several is not None:
        y, label = against_the_rest(y, label), str(label)
    threshold = "f1" if recall is None else {"recall": recall, "confidence": confidence}
    ranker = RankRC(random_state=seed, rare_class=label, threshold=threshold)
    folds = folds_of(y, target, seed, MOST_LEARNED)
    alphas = None if len(y) <= _MANY else [min(1e-3, 2.0 / len(y))]
    search = RankRCCV(ranker, alphas=alphas, cv=folds, scoring=scoring)
    pipeline = Pipeline([("encode", TableEncoder(impute=impute)), ("scale", _scaler(features)), ("rank", search)])
    X = pipeline[:-1].fit_transform(features)
    fitted = search.fit(X, y)
    is_rare = y == fitted.rare_class_
    return RankedTable(pipeline, target, fitted.rare_class_, is_rare, fitted.held_out_scores_, X, several)


@dataclass(frozen=True)
class ClassifiedTable:
    """A classifier, with held-out predictions."""

    pipeline: Pipeline
    target: str
    y: NDArray[Any]
    held_out: NDArray[Any]

    @property
    def accuracy(self) -> float:
        """On held-out rows."""
        return float(np.mean(self.held_out == self.y))

    @property
    def n_classes(self) -> int:
        """How many there are."""
        return len(np.unique(self.y))

    @property
    def most_frequent(self) -> float:
        """Accuracy of always naming the most frequent class."""
        return float(np.unique(self.y, return_counts=True)[1].max() / len(self.y))


def classify_table(
    table: Table | StoredTable, target: str | None = None, *, impute: str | None = None, seed: int = 0
) -> ClassifiedTable:
    """Learn the classes of a table's target with a kernel LP-SVM in a subspace."""
    features: Any
    features, y = table.split(target)
    y, target = whole_labels(y), target or (table.target_name if isinstance(table, StoredTable) else LABELS)
    if y.dtype.kind == "f" or (y.dtype.kind == "i" and len(np.unique(y)) > 50):
        raise ParameterError(f"column {target!r} has {len(np.unique(y))} different numbers, which are no classes.")
    model = SubspaceLPSVC(gamma="mean_distance", random_state=seed)
    if isinstance(features, StoredTable):
        return _classify_stored(features, y, target, features.encoder(impute), model)
    pipeline = Pipeline([("encode", TableEncoder(impute=impute)), ("scale", _scaler(features)), ("classify", model)])
    X = pipeline[:-1].fit_transform(features)
    folds = folds_of(y, target, seed)
    held_out = cross_val_predict(model, X, y, cv=folds)
    return ClassifiedTable(pipeline.fit(features, y), target, y, held_out)


def _classify_stored(
    table: StoredTable, y: NDArray[Any], target: str, encoder: TableEncoder, model: Any
) -> ClassifiedTable:
    """The same of a folder of blocks, block by block."""
    numbers = table.numbers(encoder)
    scaler = fitted_scaler(numbers)
    X = scaled(numbers, scaler)
    held_out = held_out_labels(model, X, y, folds_of(y, target, model.random_state))
    steps = [("encode", encoder), ("scale", scaler), ("classify", model.fit(X, y))]
    return ClassifiedTable(Pipeline(steps), target, y, held_out)


def _scaler(table: Table) -> Any:
    """Sparse matrices keep their zeros."""
    return MaxAbsScaler() if table.is_sparse else StandardScaler()


def label_of(y: NDArray[Any], rare_class: str | None, target: str) -> Any:
    """The rare class as y has it."""
    classes, counts = np.unique(y, return_counts=True)
    if rare_class is None and len(classes) != 2:
        some = ", ".join(one_line(one, 30) for one in classes[np.argsort(counts, kind="stable")][:5].tolist())
        raise ParameterError(
            f"column {target!r} has {len(classes)} different values ({some}{', …' if len(classes) > 5 else ''}); say "
            "which one is to be ranked above all others with --rare-class, or see rarefy classify."
        )
    if rare_class is None:
        return classes[int(np.argmin(counts))]
    found = [
        one for one in classes.tolist() if str(one) == rare_class or _number(one) == _number(rare_class) is not None
    ]
    if not found:
        some = ", ".join(one_line(one, 30) for one in classes[:10].tolist()) + (", …" if len(classes) > 10 else "")
        raise ParameterError(f"column {target!r} has the classes {some}, not {one_line(rare_class, 30)}.")
    return found[0]


def against_the_rest(y: NDArray[Any], label: Any) -> NDArray[Any]:
    """One of several classes and a name for all others."""
    return np.where(y == label, str(label), rest_of(label))


def rest_of(label: Any) -> str:
    """What all other classes together are called."""
    return f"not {label}"


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def ranking_code(reading: Reading, made: RankedTable) -> str:
    """The ranker in Python."""
    search, ranker = made.ranker, made.ranker.estimator
    rare = made.rare_class.item() if hasattr(made.rare_class, "item") else made.rare_class
    settings = f"rare_class={rare!r}, threshold={ranker.threshold!r}, random_state={ranker.random_state}"
    sampled = isinstance(search.cv, SampledFolds)
    folds = repr(search.cv) if sampled else _code_of_folds(search.cv)
    alphas = "" if search.alphas is None else f"alphas={search.alphas}, "
    return "\n".join(
        (
            "from rarefy.workflows.labels import SampledFolds"
            if sampled
            else "from sklearn.model_selection import StratifiedKFold",
            *_preprocessing_code(reading, made.target, made.pipeline),
            *_labels_code(made),
            "from rarefy.ranking import RankRC, RankRCCV",
            f"ranker = RankRC({settings})",
            f"search = RankRCCV(ranker, {alphas}cv={folds}, scoring={search.scoring!r})",
            "model = make_pipeline(encoder, scaler, search).fit(table, y)",
            "print(model[-1].best_score_, model[-1].threshold_)",
        )
    )


def _code_of_folds(folds: Any) -> str:
    return f"StratifiedKFold({folds.n_splits}, shuffle=True, random_state={folds.random_state})"


def _labels_code(made: RankedTable) -> tuple[str, ...]:
    """How one of several classes is set against the others."""
    if made.one_of_several is None:
        return ()
    label = str(made.one_of_several)
    return "import numpy as np", f"y = np.where(y == {made.one_of_several!r}, {label!r}, {rest_of(label)!r})"


def classification_code(reading: Reading, made: ClassifiedTable) -> str:
    """The classifier in Python."""
    seed = made.pipeline[-1].random_state
    if reading.is_stored:
        return _stored_code(reading, seed, made.y, isinstance(made.pipeline[1], StandardScaler))
    return "\n".join(
        (
            *_preprocessing_code(reading, made.target, made.pipeline),
            "from rarefy.kernel import SubspaceLPSVC",
            f'classifier = SubspaceLPSVC(gamma="mean_distance", random_state={seed})',
            "model = make_pipeline(encoder, scaler, classifier).fit(table, y)",
            "print(model.score(table, y))  # of rows that it has seen",
        )
    )


def _preprocessing_code(reading: Reading, target: str, pipeline: Pipeline) -> tuple[str, ...]:
    scaler, impute = type(pipeline[1]).__name__, pipeline[0].impute
    return (
        "from sklearn.pipeline import make_pipeline",
        f"from sklearn.preprocessing import {scaler}",
        "from rarefy.tables import TableEncoder, read_table",
        f"table, y = {reading.code}.split({target!r})",
        f"encoder, scaler = TableEncoder({'' if impute is None else f'impute={impute!r}'}), {scaler}()",
    )


def _stored_code(reading: Reading, seed: int, y: NDArray[Any], standardized: bool) -> str:
    labels = "data.target.astype(int)" if y.dtype.kind == "i" else "data.target"
    return "\n".join(
        (
            "import rarefy",
            "from rarefy.kernel import SubspaceLPSVC",
            f"data = {reading.code}",
            f"X, y = data{'.standardized()' if standardized else ''}, {labels}",
            f'model = SubspaceLPSVC(gamma="mean_distance", random_state={seed}).fit(X, y)',
            "print((model.predict(X) == y).mean())  # of rows that it has seen",
        )
    )
