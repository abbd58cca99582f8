"""What fitted estimators and values show: callbacks, links, tables and pictures; and errors that name columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import rarefy
from rarefy import _callbacks, kernel, ranking, selection, tables
from rarefy.exceptions import ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV, KernelSubspace
from rarefy.ranking import RankRC, RankRCCV, certify_scores
from rarefy.selection import BestSubsetSelector, BSSSelector, LPSVMSelector, ReliefSelector, RRQRSelector

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
NAMES = [f"gene {j}" for j in range(8)]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4 == 0
    return pd.DataFrame(rng.standard_normal((60, 8)) + y[:, None], columns=NAMES), y


class Recorder:
    """A callback that remembers what it was told."""

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        self.told.append(("end", context.task_name, context.max_subtasks))
        return True  # a request to stop, which is not obeyed


with_callbacks = pytest.mark.skipif(
    not hasattr(_callbacks.CallbackSupportMixin, "set_callbacks"), reason="scikit-learn has no callbacks"
)


@with_callbacks
@pytest.mark.parametrize(
    ("model", "steps"),
    [
        (BSSSelector(5, rank=2), 5),
        (RankRCCV(RankRC(random_state=0), alphas=[1e-3, 1e-2], cv=3), 3),
        (RankRC(random_state=0), None),
        (KernelFeatureSelector(tol=0.1), None),
    ],
)
def test_callbacks_are_told_of_the_fit_and_its_steps(problem, model, steps):
    recorder = Recorder()
    plain = sklearn.clone(model).fit(*problem)
    fitted = model.set_callbacks(recorder).fit(*problem)
    told = recorder.told
    assert told[:2] == ["setup", ("begin", "fit", None)]
    assert told[-2:] == [("end", "fit", None), "teardown"]
    begun, ended = ([one[1:] for one in told[1:-1] if one[0] == word] for word in ("begin", "end"))
    assert sorted(begun, key=str) == sorted(ended, key=str), "what begins ends"
    assert len(begun) > 2
    assert steps is None or sum(limit == 0 for _, limit in begun[: steps + 2]) == steps
    assert {name for name in vars(fitted) if "callback" in name} == {"_skl_callbacks"}
    assert fitted.set_callbacks().get_params().keys() == plain.get_params().keys()


@with_callbacks
def test_a_fit_that_fails_is_torn_down_and_a_search_passes_its_callbacks_on(problem):
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        BSSSelector(3).set_callbacks(recorder).fit(np.full((4, 4), np.nan))
    assert recorder.told[-1] == "teardown"

    class Inherited(Recorder):
        max_propagation_depth = None

    recorder = Inherited()
    search = GridSearchCV(BSSSelector(rank=2), {"n_features_to_select": [5]}, scoring=_zero, cv=2)
    search.set_callbacks(recorder).fit(*problem)
    assert sum(one[:2] == ("begin", "selecting") for one in recorder.told) == 3 * 6, "two folds and the whole"


def _zero(*_):
    return 0.0


@with_callbacks
def test_steps_beyond_an_estimate_are_not_told():
    class Task:
        def __init__(self, told=None, name="root"):
            self.told, self.name = [] if told is None else told, name

        def subcontext(self, task_name, max_subtasks=0):
            return Task(self.told, f"{task_name} {max_subtasks}")

        def call_on_fit_task_begin(self, estimator):
            self.told.append(self.name)

        def call_on_fit_task_end(self, estimator):
            self.told.append("end")

    root = Task()
    steps = _callbacks.Steps("x", None, root)
    steps(1, 2)
    steps(5, 3)
    steps.close()
    assert root.told == ["x 2", "x 0", "end", "x 0", "end", "end"]


def test_every_estimator_links_to_a_page_of_the_guide():
    found = {
        cls
        for module in (selection, ranking, kernel, tables)
        for cls in map(vars(module).get, module.__all__)
        if isinstance(cls, type) and issubclass(cls, BaseEstimator)
    }
    assert len(found) > 12
    for cls in found:
        model = cls(BSSSelector()) if cls is selection.SupportVectorSelector else cls()
        link = model._get_doc_link()
        assert link.startswith("https://")
        assert (GUIDE / link.rpartition("/")[2]).is_file(), link
        assert link in model._repr_mimebundle_()["text/html"]


def test_notebooks_show_the_verdict_of_fitted_estimators(problem):
    X, y = problem
    best = BestSubsetSelector(3).fit(X, y)
    assert best.certificate_.sentence in best._repr_mimebundle_()["text/html"]
    promise = {"recall": 0.5, "confidence": 0.9}
    for ranker in (RankRC(threshold=promise), RankRCCV(RankRC(threshold=promise), alphas=[0.01], cv=3)):
        ranker.fit(X, y)
        assert ranker.threshold_certificate_.sentence in ranker._repr_html_()
    assert "confidence" not in RankRC().fit(X, y)._repr_html_().rpartition("</script>")[2]


def test_tables_of_selectors(problem):
    X, y = problem
    best = BestSubsetSelector(3).fit(X, y)
    frame = best.to_frame()
    assert frame["name"].tolist() == NAMES
    np.testing.assert_array_equal(frame["kept"], best.support_)
    assert frame.set_index("place").loc[[0, 1, 2], "name"].tolist() == [NAMES[j] for j in best.selection_order_]
    np.testing.assert_array_equal(frame["coefficient"][best.support_], best.coef_[0])
    assert (frame["coefficient"][~best.support_] == 0).all()
    np.testing.assert_array_equal(frame["status"], best.certificate_.column_status)
    bss = BSSSelector(8).fit(X)
    np.testing.assert_array_equal(bss.to_frame()["weight"][bss.support_], bss.weights_)
    relief = ReliefSelector(3).fit(X, y)
    np.testing.assert_array_equal(relief.to_frame()["score"], relief.scores_)
    weighted = KernelFeatureSelector(tol=0.1).fit(X, y)
    np.testing.assert_array_equal(weighted.to_frame()["weight"], weighted.feature_weights_)
    assert RRQRSelector(3).fit(X.to_numpy()).to_frame()["name"].tolist() == list(range(8))
    several = BestSubsetSelector(3).fit(X, np.arange(60) % 3)
    np.testing.assert_allclose(
        several.to_frame()["coefficient"][several.support_], np.linalg.norm(several.coef_, axis=0)
    )
    with pytest.raises(NotFittedError):
        BSSSelector().to_frame()


def test_pictures_of_selectors(problem):
    X, y = problem
    relief = ReliefSelector(3).fit(X, y)
    ax = relief.plot()
    top = NAMES[int(np.argmax(np.abs(relief.scores_)))]
    assert ax.get_yticklabels()[0].get_text() == top
    assert LPSVMSelector().fit(X, y).plot(ax) is ax
    certified = BSSSelector(8).fit(X)
    assert certified.plot().get_title(loc="left") == certified.certificate_.plot().get_title(loc="left")
    with pytest.raises(ParameterError, match="RRQRSelector has neither a certificate nor scores"):
        RRQRSelector(3).fit(X).plot()


def test_tables_and_pictures_of_certificates(problem):
    X, y = problem
    made = BSSSelector(8).fit(X).certificate_
    frame = made.to_frame()
    assert frame["name"].tolist() == list(made.names)
    np.testing.assert_array_equal(frame["weight"], made.weights)
    assert rarefy.certify(X.to_numpy(), [1, 5]).to_frame()["name"].tolist() == [1, 5]
    K = X.to_numpy() @ X.to_numpy().T
    kernels = rarefy.certify_kernels(K, 0.5 * K)
    assert kernels.to_frame()["share"].between(0, 1).all()
    ranker = RankRC(threshold={"recall": 0.5, "confidence": 0.9}, random_state=0).fit(X, y)
    promise = ranker.threshold_certificate_
    assert promise.to_frame()["called"].sum() == np.sum(promise.scores >= promise.threshold)
    labels = [text.get_text() for text in promise.plot().get_legend().get_texts()]
    assert "at least 0.5 of future ones" in labels
    assert len(labels) == 3
    scores = certify_scores(ranker, X, y)
    np.testing.assert_array_equal(scores.to_frame()["coefficient"], scores.dual_coef)
    bars = scores.plot()
    assert bars.patches[0].get_width() == scores.bound
    assert scores.plot(bars) is bars


def test_tables_and_pictures_of_searches_and_paths(problem):
    X, y = problem
    search = RankRCCV(RankRC(random_state=0), alphas=[1e-3, 1e-2], cv=3).fit(X, y)
    np.testing.assert_array_equal(search.to_frame()["mean_test_score"], search.cv_results_["mean_test_score"])
    assert search.plot().get_xlabel() == "alpha"
    model = KernelFeatureSelector(tol=0.1)
    weighted = KernelFeatureSelectorCV(model, Cs=[1.0, 10.0], mus=[0.1, 1.0], cv=2).fit(X, y)
    frame = weighted.to_frame()
    row = frame[(frame["param_C"] == 10.0) & (frame["param_mu"] == 0.1)]
    np.testing.assert_allclose(row["mean_test_score"], weighted.cv_scores_[1, 0].mean())
    ax = weighted.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["C=1", "C=10"]
    with pytest.raises(NotFittedError):
        RankRCCV().to_frame()
    path = RankRC(random_state=0).alpha_path(X, y, [1e-2, 1e-3])
    line = path.plot().get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), [1e-3, 1e-2])
    np.testing.assert_array_equal(line.get_ydata(), path.attribute("objective_")[::-1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("model", [BSSSelector(1), BestSubsetSelector(1), RankRC(), RankRCCV(), KernelSubspace()])
def test_errors_about_text_name_the_columns(frame, model):
    X = frame({"size": np.arange(20.0), "city": ["Rome", "Oslo"] * 10})
    with pytest.raises(ParameterError, match=r"needs numbers; column 'city' \(text\) is not. Encode it") as caught:
        model.fit(X, np.arange(20) % 2)
    assert str(caught.value).startswith(type(model).__name__)
    assert isinstance(caught.value.__cause__, ValueError)


def test_errors_about_dates_and_of_functions_name_the_columns():
    dates = pd.date_range("2020-01-01", periods=4)
    X = pd.DataFrame({"a": np.arange(4.0), "when": dates, **{f"text {k}": list("abcd") for k in range(6)}})
    with pytest.raises(ParameterError, match=r"columns 'when' \(dates\), 'text 0' \(text\).* and 2 more are not"):
        rarefy.certify(X, [0])
    with pytest.raises(ParameterError, match=r"report needs numbers; column 'when' \(dates\) is not"):
        rarefy.report(BSSSelector(1).fit(X[["a"]]), X[["a", "when"]])
    with pytest.raises(ValueError, match="could not convert"):
        BSSSelector(1).fit(np.array([["a"], ["b"]]))
    numbers = pd.DataFrame({"a": ["1", "2", "3"]}, dtype=object)
    assert BSSSelector(1).fit(numbers).n_features_in_ == 1, "texts of numbers are numbers, as in scikit-learn"


@pytest.mark.skipif("sparse_interface" not in sklearn.get_config(), reason="scikit-learn has no sparse_interface")
@pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")
@pytest.mark.parametrize("model", [BSSSelector(5), BestSubsetSelector(5), RRQRSelector(5), LPSVMSelector()])
def test_sparse_arrays_where_scikit_learn_makes_them(model):
    X, y = sp.random_array((30, 20), density=0.3, format="csr", random_state=0), np.arange(30) % 2
    plain = sklearn.clone(model).fit(sp.csr_matrix(X), y)
    with sklearn.config_context(sparse_interface="sparray"):
        model.fit(X, y)
        kept = model.transform(X)
        assert isinstance(kept, sp.sparray)
        assert isinstance(model.inverse_transform(kept), sp.sparray)
    np.testing.assert_array_equal(model.support_, plain.support_)
    assert sp.isspmatrix(plain.transform(sp.csr_matrix(X)))


def test_names_of_sparse_columns():
    X, y = sp.random_array((30, 8), density=0.5, format="csr", random_state=0), np.arange(30) % 2
    curve = rarefy.best_subset_curve(X, y, n_features=[2], feature_names=NAMES)
    assert curve.certificates[0].to_frame()["name"].tolist() == NAMES
    found = rarefy.selection_stability(RRQRSelector(2), X, n_splits=2, random_state=0, feature_names=NAMES)
    assert found.to_frame()["name"].tolist() == NAMES
    assert rarefy.certify(X, [3], feature_names=NAMES).names == (NAMES[3],)
    assert NAMES[7] in rarefy.report(RRQRSelector(2).fit(X), X, feature_names=NAMES).html
    with pytest.raises(ParameterError, match="feature_names must be 8 strings"):
        rarefy.best_subset_curve(X, y, n_features=[2], feature_names=NAMES[:3])
