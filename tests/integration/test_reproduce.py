"""Tables as data: loading, judging, running, stopping and resuming, and the pages."""

import io
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from rich.console import Console
from threadpoolctl import threadpool_info

import rarefy
from rarefy.cli._app import app
from rarefy.cli.reproduce import _grid
from rarefy.datasets import _catalogue, load
from rarefy.exceptions import MissingDataError
from rarefy.papers import Claim, Table, load_tables, run_table, runner
from rarefy.papers.claims import judge
from rarefy.papers.page import read_other_run, write_results
from rarefy.papers.text import documents, most_frequent

SHOW = {"rows": "i", "columns": [], "metrics": ["v"]}
RESULTS = [({"m": "a", "s": s}, {"error": 10.0 + s}) for s in (0, 1)] + [
    ({"m": m, "s": s}, {"error": e + s}) for m, e in (("b", 12.0), ("d", 20.0)) for s in (0, 1)
]


@pytest.mark.parametrize(
    ("claim", "outcome", "ours"),
    [
        (Claim("x", {"m": "a"}, "error", "", expected=10.0, tolerance=0.5), "reproduced", 10.5),
        (Claim("x", {"m": "a"}, "error", "", expected=9.0, tolerance=0.5), "not reached", 10.5),
        (Claim("x", {"m": "a"}, "error", "", expected=12.0, tolerance=0.5), "better", 10.5),
        (Claim("x", {"m": "a"}, "error", "", expected=12.0, tolerance=0.5, higher_is_better=True), "not reached", 10.5),
        (Claim("x", {"m": ["a", "b"]}, "error", "", expected=11.5), "reproduced", 11.5),
        (Claim("x", {"m": "a"}, "error", "", expected=12.0, bound=True), "reproduced", 10.5),
        (Claim("x", {"m": "a"}, "error", "", expected=9.0, bound=True), "not reached", 10.5),
        (Claim("x", {"m": "a"}, "error", "", than={"m": "b"}), "reproduced", 10.5),
        (Claim("x", {"m": "b"}, "error", "", than={"m": "a"}), "not reached", 12.5),
        (Claim("x", {"m": "a"}, "error", "", than={"m": "b"}, comparable=True, tolerance=3), "reproduced", 10.5),
        (Claim("x", {"m": "a"}, "error", "", than={"m": "b"}, comparable=True, tolerance=1), "better", 10.5),
        (Claim("x", {"m": "b"}, "error", "", than={"m": "a"}, comparable=True, tolerance=1), "not reached", 12.5),
        (Claim("x", {"m": "c"}, "error", "", expected=1.0), "not run", None),
        (Claim("x", {"m": "a"}, "error", "", expected=1.0, data="lost"), "data unavailable", None),
    ],
)
def test_verdicts(claim, outcome, ours):
    verdict = judge(claim, RESULTS)
    assert verdict.outcome == outcome
    assert verdict.ours == ours


def _pairs(*differences, draws=1):
    """Cells of "a" and "b" whose errors differ by these, each as often as there are cells in a draw."""
    return [
        ({"m": m, "s": s, "r": r}, {"error": 10.0 + (d if m == "a" else 0.0)})
        for s, d in enumerate(differences)
        for r in range(draws)
        for m in "ab"
    ]


@pytest.mark.parametrize(
    ("differences", "options", "outcome"),
    [
        ([-5.0], {}, "not settled"),  # one pair says nothing about the next
        ([-5.0, -5.2], {}, "reproduced"),
        ([-5.0, -3.0], {}, "not settled"),  # a mean of -4 with a standard error of 1: 12.7 of them for two draws
        ([-5.0, -3.0, -4.0], {}, "reproduced"),  # 0.58, and 4.3 of them for three draws
        ([-5.0, -3.0, -0.5], {}, "not settled"),
        ([5.0, 3.0, 4.0], {}, "not reached"),
        ([5.0, -3.0, 4.0], {}, "not settled"),
        ([5.0, 3.0, 4.0], {"higher_is_better": True}, "reproduced"),
        ([0.0, 0.0, 0.0], {}, "reproduced"),
        ([0.1, -0.1, 0.0], {"comparable": True, "tolerance": 1.0}, "reproduced"),
        ([0.1, -0.1, 3.0], {"comparable": True, "tolerance": 1.0}, "not settled"),
        ([-5.0, -3.0, -4.0], {"comparable": True, "tolerance": 1.0}, "better"),
        ([-5.0, -3.0, -0.4], {"comparable": True, "tolerance": 1.0}, "not settled"),
    ],
)
def test_comparisons_of_few_draws_are_not_settled(differences, options, outcome):
    claim = Claim("x", {"m": "a"}, "error", "", than={"m": "b"}, **options)
    verdict = judge(claim, _pairs(*differences), ["s"])
    assert verdict.outcome == outcome
    assert verdict.paper is None
    assert verdict.other == 10.0
    # More cells of the same draws are no more evidence; counted as draws of their own they would be.
    assert judge(claim, _pairs(*differences, draws=50), ["s"]).outcome == outcome
    if differences == [-5.0, -3.0, -0.5]:
        assert judge(claim, _pairs(*differences, draws=50)).outcome == "reproduced"


def test_only_the_paper_prints_what_is_shown_as_the_papers(tmp_path):
    claims = (
        Claim("printed", {"m": "a"}, "error", "", expected=10.25, tolerance=1.0),
        Claim("extended", {"m": "a"}, "error", "", expected=10.75, tolerance=1.0, own=True),
        Claim("ordered", {"m": "a"}, "error", "", than={"m": "d"}),
    )
    table = Table("t", "t", "s", None, {}, {}, claims, show={"rows": "m", "columns": [], "metrics": ["error"]})
    verdicts = table.judge(RESULTS)
    assert [verdict.paper for verdict in verdicts] == [10.25, None, None]
    assert [verdict.other for verdict in verdicts] == [None, None, 20.5]
    assert [verdict.claim.title for verdict in verdicts] == ["printed", "ours: extended", "ordered"]
    shown = _console(_grid(table, verdicts, None, list_not_run=True))
    assert {text: shown.count(text) for text in ("10.25", "10.75", "20.5")} == {"10.25": 1, "10.75": 0, "20.5": 1}
    (line,) = (line for line in shown.splitlines() if "20.5" in line)
    assert not line.split("│")[2].strip(), "no number of ours under the paper's heading"
    write_results(table, "quick", RESULTS, verdicts, tmp_path)
    stored = json.loads((tmp_path / "t.json").read_text())["verdicts"]
    assert [(one["paper"], one["compared_with"]) for one in stored] == [(10.25, None), (None, None), (None, 20.5)]


def _console(grid):
    text = io.StringIO()
    Console(file=text, width=160).print(grid)
    return text.getvalue()


def test_quick_and_full_results_stand_side_by_side(tmp_path):
    claims = (Claim("one", {"m": "a"}, "error", "", than={"m": "d"}), Claim("two", {"m": "x"}, "error", "", expected=1))
    table = Table("t", "t", "s", None, {}, {}, claims, show={"rows": "m", "columns": [], "metrics": ["error"]})
    quick = [(cell, metrics) for cell, metrics in RESULTS if cell["s"] == 0]
    assert read_other_run(table, "quick", tmp_path / "quick") is None
    for mode, results in (("full", RESULTS), ("quick", quick)):
        (tmp_path / mode).mkdir()
        page = write_results(table, mode, results, table.judge(results), tmp_path / mode).read_text(encoding="utf-8")
    assert '<th scope="col">full run</th>' in page
    assert "10.5 ± 0.5 reproduced" in page
    assert "not settled" in page
    assert "other code" not in page
    beside = read_other_run(table, "quick", tmp_path / "quick")
    assert beside.texts == {"one": "10.5 ± 0.5 reproduced"}
    assert "10.5 ± 0.5 reproduced" in _console(_grid(table, table.judge(quick), beside, list_not_run=True))
    changed = replace(table, run=lambda data, m: {"error": 1.0})
    assert not read_other_run(changed, "quick", tmp_path / "quick").same_code
    page = write_results(changed, "quick", quick, table.judge(quick), tmp_path / "quick").read_text(encoding="utf-8")
    assert "other code" in page
    for damaged in ("[]", '{"verdicts": [{}]}', "{"):
        (tmp_path / "full" / "t.json").write_text(damaged)
        assert read_other_run(table, "quick", tmp_path / "quick") is None


def test_what_the_papers_do_not_have_is_marked_as_ours(tmp_path):
    for table in load_tables().values():
        own = set(table.show.get("own", []))
        assert own <= {cell[table.show["rows"]] for mode in ("quick", "full") for cell in table.cells(mode)}, table.id
        for claim in table.claims:
            named = [where.get(table.show["rows"]) for where in (claim.where, claim.than or {})]
            rows = {row for value in named for row in (value if isinstance(value, list) else [value])}
            assert claim.own or not rows & own, claim.what
    assert "bss, 95 %" in load_tables()["svm-table-1"].show["own"]
    show = {"rows": "m", "columns": [], "metrics": ["error"], "own": ["b"]}
    table = Table("t", "t", "s", None, {}, {}, (), show=show)
    page = write_results(table, "quick", RESULTS, [], tmp_path).read_text(encoding="utf-8")
    assert '<th scope="row">b (ours)</th>' in page
    assert '<th scope="row">a</th>' in page


def test_every_table_says_what_tells_draws_apart():
    for table in load_tables().values():
        assert table.draws, table.id
        assert set(table.draws) <= set(table.cells("full")[0]), table.id


def test_all_claims_are_about_cells_that_exist():
    for table in load_tables().values():
        cells = table.cells("full")
        assert cells
        assert len({str(c) for c in cells}) == len(cells)
        for claim in table.claims:
            assert claim.reason or claim.data or claim.than, claim.what
            for where in filter(None, (claim.where, claim.than)):
                for name, value in where.items():
                    wanted = value if isinstance(value, list) else [value]
                    left_out = "left out" in claim.reason
                    assert left_out or all(any(cell[name] == w for cell in cells) for w in wanted), claim.what


def test_most_frequent_prefers_the_higher_number_among_equals():
    np.testing.assert_array_equal(most_frequent(np.array([1, 5, 5, 0, 5]), 2), [4, 2])
    np.testing.assert_array_equal(most_frequent(np.array([1, 5, 5, 0, 5]), 5), [4, 2, 1, 0])


SLOW = """
import sys, time
from pathlib import Path
from rarefy.papers import Table, run_table

def cell(data, i):
    time.sleep(0.2)
    with open(Path(__file__).with_name("ran.txt"), "a") as log:
        log.write(f"{i}\\n")
    return {"value": i}

if __name__ == "__main__":
    table = Table("slow", "t", "s", cell, {"i": list(range(12))}, {}, ())
    results, _ = run_table(table, "quick", Path(__file__).parent, jobs=1)
    print([metrics["value"] for _, metrics in results])
"""


def test_a_killed_run_resumes_without_measuring_stored_cells_again(tmp_path, capsys):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    process = subprocess.Popen([sys.executable, script])
    store = tmp_path / "cells" / "slow"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(store.glob("*.json"))) < 3:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in store.glob("*.json")}
    assert 3 <= len(done) < 12
    (tmp_path / "ran.txt").unlink()
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip() == str(list(range(12)))
    assert len((tmp_path / "ran.txt").read_text().split()) == 12 - len(done)
    assert {path: path.stat().st_mtime_ns for path in done} == done


@pytest.mark.parametrize(
    "content",
    [
        b'{"origin": ',
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        lambda stored: stored.replace(b'"value": 1', b'"value": 1}, "cell": {"i": 2'),  # that of another cell
        lambda stored: stored.replace(b'"metrics": {\n  "value": 1\n }', b'"metrics": "1"'),
    ],
)
def test_a_broken_cell_is_measured_again(tmp_path, content):
    table = Table("t", "t", "s", lambda data, i: {"value": i}, {"i": [1]}, {}, ())
    notices = []
    run_table(table, "quick", tmp_path, notice=notices.append)
    assert not notices
    (stored,) = (tmp_path / "cells" / "t").glob("*.json")
    before = stored.read_bytes()
    broken = content if isinstance(content, bytes) else content(before)
    assert broken != before
    stored.write_bytes(broken)
    results, _ = run_table(table, "quick", tmp_path, notice=notices.append)
    assert results == [({"i": 1}, {"value": 1})]
    assert notices == ["1 stored cells are damaged or come from other code or data, and are measured again."]
    assert json.loads(stored.read_bytes())["metrics"] == {"value": 1}


def test_a_cell_that_measured_too_little_is_measured_again(tmp_path):
    table = Table("t", "t", "s", lambda data, c: [{"v": one} for one in c], {"c": [3, 5]}, {}, (), batched="c")
    run_table(table, "quick", tmp_path)
    (stored,) = (tmp_path / "cells" / "t").glob("*.json")
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps(content | {"metrics": content["metrics"][:1]}))
    assert [metrics["v"] for _, metrics in run_table(table, "quick", tmp_path)[0]] == [3, 5]


def test_other_code_does_not_reuse_stored_cells(tmp_path):
    first = Table("t", "t", "s", lambda data, i: {"value": i}, {"i": [1]}, {}, ())
    second = Table("t", "t", "s", lambda data, i: {"value": 2 * i}, {"i": [1]}, {}, ())
    run_table(first, "quick", tmp_path)
    assert run_table(second, "quick", tmp_path)[0] == [({"i": 1}, {"value": 2})]


HELPED = """
from pathlib import Path
from rarefy.papers import Table, run_table

FACTOR = 1

def cell(data, i):
    # a comment
    print("ran")
    return {"value": i * FACTOR}

if __name__ == "__main__":
    table = Table("helped", "t", "s", cell, {"i": [7]}, {}, ())
    print(run_table(table, "quick", Path(__file__).parent)[0][0][1]["value"])
"""


def test_code_beside_the_cell_counts_and_comments_do_not(tmp_path, capsys):
    def run(text):
        script = tmp_path / f"helped{len(list(tmp_path.glob('*.py')))}.py"  # a process reads the code of a file once
        script.write_text(text)
        runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out.split()

    assert run(HELPED) == ["ran", "7"]
    assert run('"""A word about it."""\n' + HELPED.replace("from pathlib", "# a comment\nfrom pathlib")) == ["7"]
    assert run(HELPED.replace("FACTOR = 1", "FACTOR = 2")) == ["ran", "14"]


def test_our_own_code_counts(tmp_path):
    package = tmp_path / "package"
    for name in ("core", "cli"):
        (package / name).mkdir(parents=True)
        (package / name / "a.py").write_text("x = 1")
    digests = [runner._digest_of.__wrapped__(package)]
    (package / "cli" / "a.py").write_text("x = 2")
    digests.append(runner._digest_of.__wrapped__(package))
    (package / "core" / "a.py").write_text("x = 2")
    digests.append(runner._digest_of.__wrapped__(package))
    assert digests[0] == digests[1] != digests[2]
    cell = load_tables()["fs-table-4"].run
    origin = runner.origin_of(cell)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_digest_of", lambda path: "another")
        assert runner.origin_of(cell) != origin


def test_other_data_do_not_reuse_stored_cells_and_the_same_data_elsewhere_do(tmp_path, monkeypatch):
    rows = {"a": [[1.0]], "same": [[1.0]], "other": [[2.0]]}
    for name, values in rows.items():
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "numbers.npz", X=np.array(values), y=np.array([1]))
    monkeypatch.setitem(_catalogue.ARRAYS, "numbers", _catalogue.Source("numbers.npz", (1, 1), {}, "numbers"))
    ran = []

    def run(data, i):
        ran.append(i)
        return {"value": float(load("numbers", data).data[0, 0])}

    table = Table("t", "t", "s", run, {"i": [1]}, {}, ())
    for folder, value, count in (("a", 1.0, 1), ("same", 1.0, 1), ("other", 2.0, 2), ("a", 1.0, 3), (None, 1.0, 3)):
        data = None if folder is None else tmp_path / folder
        assert run_table(table, "quick", tmp_path, data=data)[0] == [({"i": 1}, {"value": value})]
        assert len(ran) == count


def test_cells_without_data_do_not_affect_the_others(tmp_path):
    def run(data, i):
        if i == 2:
            raise MissingDataError("two.npz is missing.")
        return {"value": i}

    claims = [Claim(f"{i}", {"i": i}, "value", "", expected=i) for i in (1, 2)]
    table = Table("t", "t", "s", run, {"i": [1, 2, 3]}, {"i": [2]}, tuple(claims))
    notices = []
    results, verdicts = run_table(table, "quick", tmp_path, notice=notices.append)
    assert [metrics["value"] for _, metrics in results] == [1, 3]
    assert [verdict.outcome for verdict in verdicts] == ["reproduced", "not run"]
    assert notices == ["1 of 3 cells could not be measured. two.npz is missing."]
    with pytest.raises(MissingDataError, match=r"two\.npz"):
        run_table(table, "full", tmp_path / "other")


def test_processes_share_the_cells_with_one_thread_each(tmp_path):
    def run(data, i):
        return {"process": os.getpid(), "threads": max(pool["num_threads"] for pool in threadpool_info())}

    table = Table("t", "t", "s", run, {"i": list(range(4))}, {}, ())
    found = [metrics for _, metrics in run_table(table, "quick", tmp_path, jobs=2)[0]]
    assert os.getpid() not in {metrics["process"] for metrics in found}
    assert {metrics["threads"] for metrics in found} == {1}


def test_pairs_differ_only_in_what_the_claim_compares():
    results = [({"m": m, "r": r}, {"error": e}) for m, r, e in (("a", 1, 5), ("a", 2, 6), ("b", 1, 4), ("b", 2, 5.5))]
    verdict = judge(Claim("x", {"m": "a", "r": [1, 2]}, "error", "", than={"m": "b", "r": [1, 2]}), results)
    assert (verdict.ours, verdict.other) == (5.5, 4.75)


@pytest.fixture
def small_collection(tmp_path, monkeypatch):
    """A collection in the format of the movie reviews, small enough for a test."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 120)
    rates = np.where(rng.random(300) < 0.2, 1.0, 0.1)
    X = rng.poisson(rates * np.where(np.arange(300) < 20, 1 + 2 * y[:, None], 1))
    words = np.array([f"word{i:03d}".encode() for i in range(298)] + [b"tiny", b"a<b>&"])
    (tmp_path / "text").mkdir()
    sp.save_npz(tmp_path / "text" / "movie_review_polarity_X.npz", sp.csr_array(X))
    np.savez(tmp_path / "text" / "movie_review_polarity_y.npz", y=y, vocab=words)
    monkeypatch.setitem(
        _catalogue.DOCUMENTS, "movie_reviews", _catalogue.Source("text/movie_review_polarity", (240, 300), {}, "test")
    )
    return tmp_path


def test_documents_have_long_words_only(small_collection):
    X, y, words = documents("movie 0", small_collection)
    assert X.shape[0] == 200
    assert set(y) == {-1.0, 1.0}
    assert all(len(word) > 4 for word in words)
    assert "tiny" not in words
    assert np.all(np.diff(X.indptr) > 0), "documents without words are left out"


def test_cells_of_both_papers_measure_something(small_collection):
    tables = load_tables()
    common = {"collection": "movie 0", "repeats": 1, "n_splits": 2}
    for method in ("all", "bss", "leverage", "rfe", "lpsvm", "rrqr", "random"):
        for supervised in (True, False):
            found = tables["svm-figure-1-3"].run(small_collection, method=method, r=60, supervised=supervised, **common)
            assert 0 <= found["error"] <= 60
    first, second = tables["ridge-table-3"].run(small_collection, method="ig", r=60, lam=[0.1, 0.7], **common)
    assert max(first["error"], second["error"]) < 50
    assert first["seconds"] == second["seconds"]
    for collection, factor in (("synthetic", 6), ("movie 0", 1.4)):
        found = {
            method: tables["ridge-figure-3"].run(
                small_collection, method=method, factor=factor, k=90, collection=collection, dataset=0, lam=[0.1, 0.9]
            )
            for method in ("bss", "random", "random, rescaled")
        }
        assert len(found["bss"]) == 2
        assert all(0.2 < each["risk_ratio"] < 5 for each in found["bss"])
    assert found["random"][1]["risk"] != found["random, rescaled"][1]["risk"]


@pytest.fixture
def small_digits(tmp_path, monkeypatch):
    """Images in the format of MNIST, small in number: ten patterns of ink, each with its own noise."""
    rng = np.random.default_rng(0)
    patterns = 255 * (rng.random((10, 784)) < 0.2)
    arrays = {}
    for part, n in (("train", 240), ("test", 80)):
        y = np.arange(n) % 10
        arrays |= {f"X_{part}": np.where(rng.random((n, 784)) < 0.2, 0, patterns[y]).astype(np.uint8)}
        arrays |= {f"y_{part}": y.astype(np.uint8)}
        source = _catalogue.Source("mnist.npz", (n, 784), {3: n // 10}, "test")
        monkeypatch.setitem(_catalogue.SPLIT_ARRAYS["mnist"], part, source)
    np.savez(tmp_path / "mnist.npz", **arrays)
    return tmp_path


def test_cells_of_the_subspace_paper_measure_something(small_digits):
    tables = load_tables()
    common = {"L": 60, "sample": 0, "n_train": 200, "n_test": 70}
    path = tables["lp-table-1"].run(small_digits, degree=7, S=20, C=[0.1, 0.01], **common)
    one = tables["lp-table-2"].run(small_digits, degree=7, S=20, C=0.01, **common)
    digits = tables["lp-table-5"].run(small_digits, digit=[0, 7], degree=7, S=20, C=0.01, **common)
    assert path[1]["error"] == one["error"] == digits[0]["error"] == 0.0
    assert [one["errors in 10 000"] for one in digits] == [0.0, 0.0]
    svms = tables["lp-table-5-svm"].run(small_digits, digit=list(range(10)), degree=7, n_train=200, n_test=70)
    assert {one["error"] for one in svms} == {0.0}
    assert max(cell["relative_gap"] for cell in (*path, one)) <= 1e-5
    assert tables["lp-table-3"].run(small_digits, gamma=0.2, S=20, C=0.01, **common)["error"] == 0.0
    for kernel in ("polynomial", "rbf"):
        few, more = tables["lp-table-4"].run(small_digits, kernel=kernel, S=[10, 20], C=0.08, **common)
        assert few["svm_seconds"] == more["svm_seconds"] > 0.0
        assert more["ratio"] == more["svm_seconds"] / more["seconds"]
        assert more["error"] == more["svm_error"] == 0.0


def test_one_call_may_measure_a_batch_of_cells(tmp_path):
    calls = []

    def run(data, i, c):
        calls.append(i)
        return [{"value": i * one} for one in c]

    claims = (Claim("x", {"c": 3, "i": 2}, "value", "", expected=6.0),)
    table = Table("t", "t", "s", run, {"i": [1, 2], "c": [3, 5]}, {}, claims, batched="c")
    for _ in range(2):
        results, verdicts = run_table(table, "quick", tmp_path)
    assert calls == [1, 2]
    assert [cell for cell, _ in results] == table.cells("quick")
    assert results[1] == ({"i": 1, "c": 5}, {"value": 5})
    assert verdicts[0].outcome == "reproduced"


def test_blocks_of_numbers_are_claims():
    claims = {claim.what: claim for claim in load_tables()["lp-table-5"].claims}
    claim = claims["S = 200, digit 9: errors in 10 000"]
    assert claim.where == {"n_train": 60000, "S": 200, "digit": 9}
    assert (claim.expected, claim.tolerance) == (180.5, pytest.approx(36.1))
    assert claims["S = 200, digit 1: errors in 10 000"].tolerance == 10.0
    wanted = {"lp-table-1": 55, "lp-table-2": 20, "lp-table-3": 20, "lp-table-4": 41, "lp-table-5": 55}
    wanted["lp-table-5-svm"] = 11
    for name, count in wanted.items():
        table = load_tables()[name]
        numbers = [claim for claim in table.claims if claim.expected is not None]
        assert len(numbers) == count
        # Numbers of 60 000 digits are not compared with a run on fewer.
        small = [(cell, {claim.metric: 1.0 for claim in numbers}) for cell in table.cells("quick")]
        assert {judge(claim, small).outcome for claim in numbers} == {"not run"}


def test_pages_draw_curves_beside_the_published_ones(tmp_path):
    show = {"rows": "s", "columns": ["m"], "metrics": ["error"], "curves": "s"}
    claims = [Claim("x", {"m": "a", "s": s}, "error", "", expected=e) for s, e in ((1, 5.0), (2, 4.0))]
    table = Table("t", "t", "s", None, {}, {}, tuple(claims), show=show)
    results = [({"m": m, "s": s, "i": i}, {"error": 60.0 / s}) for m in "ab" for s in (1, 2) for i in (0, 1)]
    text = write_results(table, "quick", results, [], tmp_path).read_text(encoding="utf-8")
    assert ">paper</text>" in text
    other = [({"m": "b", "s": s}, {"error": 60.0 / s}) for s in (1, 2)]
    text = write_results(table, "quick", other, [], tmp_path).read_text(encoding="utf-8")
    assert ">paper</text>" not in text


def test_pages_count_lists_over_all_data_sets_and_draw_what_was_measured(tmp_path):
    show = {"rows": "m", "columns": ["s"], "metrics": ["top", "error"], "curves": "s"}
    table = Table("t", "t", "s", None, {}, {}, (), show=show)
    tops = [[1, 2], [7, 2], [7, 3]]
    results = [({"m": "a", "s": 1, "i": i}, {"top": top, "error": 5.0}) for i, top in enumerate(tops)]
    results.append(({"m": "b", "s": 1, "i": 0}, {"top": [4, 9]}))
    text = write_results(table, "quick", results, [], tmp_path).read_text(encoding="utf-8")
    assert "2, 7 (most often in 3)" in text
    assert "4, 9<" in text.replace("\n", "").replace(" <", "<")


def test_claims_that_were_not_run_are_folded_away(tmp_path):
    show = {"rows": "m", "columns": ["s"], "metrics": ["error"]}
    claims = [Claim(f"claim {m}", {"m": m}, "error", "", expected=10.0, tolerance=5.0) for m in "ac"]
    table = Table("t", "t", "s", None, {}, {}, tuple(claims), show=show)
    verdicts = [judge(claim, RESULTS) for claim in claims]
    text = write_results(table, "quick", RESULTS, verdicts, tmp_path).read_text(encoding="utf-8")
    before, after = text.split("<details>")
    assert "claim a" in before
    assert "claim c" not in before
    assert "1 claim not run" in after
    assert "claim c" in after


def test_the_command_lists_runs_and_explains(tmp_path):
    runner = CliRunner()
    assert "svm-table-1" in runner.invoke(app, ["reproduce", "--list"]).output
    assert "no table poems" in runner.invoke(app, ["reproduce", "poems"]).output
    result = runner.invoke(app, ["reproduce", "ridge-figure-3", "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "risk comparable" in " ".join(result.output.replace("│", " ").split())
    page = (tmp_path / "quick" / "ridge-figure-3.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert (tmp_path / "quick" / "ridge-figure-3.json").exists()
    result = runner.invoke(app, ["reproduce", "ridge-figure-4", "--out", str(tmp_path)], env={"RAREFY_DATA": ""})
    assert "data unavailable" in result.output
    result = runner.invoke(app, ["reproduce", "lp-table-2", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert "mnist.npzismissing" in "".join(result.output.split())  # wherever lines were broken


def test_pages_escape_words(tmp_path):
    show = {"rows": "m", "columns": ["s"], "metrics": ["error"]}
    table = Table("t", "<b>", "s", None, {}, {}, (), show=show)
    results = [({"m": "a", "s": 0}, {"error": 1.0, "always": ["<script>"]})]
    text = write_results(table, "quick", results, [], tmp_path).read_text(encoding="utf-8")
    assert text.count("<script>") == 1, "that of the page"
    assert "&lt;script&gt;" in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--quick", "--full", "ridge-figure-3"], "exclude each other"),
        (["svm-table1"], "did you mean svm-table-1"),
        (["--jobs", "0", "ridge-figure-3"], "a number of processes"),
        (["ridge-figure-3", "--out", "{file}/sub"], "cannot be written to"),
    ],
)
def test_wrong_arguments_are_explained_before_any_work(arguments, words, tmp_path):
    file = tmp_path / "file"
    file.touch()
    result = CliRunner().invoke(app, ["reproduce", *(a.format(file=file) for a in arguments)])
    assert result.exit_code == 2
    assert words.replace(" ", "") in "".join(result.output.split()).replace("│", "")


def test_the_exit_status_says_that_nothing_could_be_run(tmp_path):
    (tmp_path / "mnist.npz").write_text("no archive")
    result = CliRunner().invoke(app, ["reproduce", "lp-table-2", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "damaged" in result.output
    assert "0 of 1 tables" in result.output


def test_a_table_that_fails_does_not_stop_the_others_and_loses_nothing(tmp_path, monkeypatch):
    fine = Table("fine", "t", "s", lambda data, i: {"v": i}, {"i": [1]}, {"i": [2]}, (), show=SHOW)

    def broken(data, i):
        if i == 2:
            raise ArithmeticError("two")
        return {"v": i}

    tables = {"bad": Table("bad", "t", "s", broken, {"i": [1, 2]}, {}, (), show=SHOW), "fine": fine}
    monkeypatch.setattr("rarefy.cli.reproduce.load_tables", lambda: tables)
    out = tmp_path / "r[a]x[/b]"
    result = CliRunner().invoke(app, ["reproduce", "--out", str(out)])
    assert result.exit_code == 0
    assert "ArithmeticError: two" in result.output + result.stderr
    assert "bad: failed" in result.output
    assert "1 of 2 tables were run" in result.output
    assert str(out / "quick" / "fine.html") in result.output.replace("\n", "")
    assert len(list((out / "quick" / "cells" / "bad").glob("*.json"))) == 1
    # Fresh replaces cell by cell: the stored cell of what fails now is still there.
    assert CliRunner().invoke(app, ["reproduce", "bad", "--fresh", "--out", str(out)]).exit_code == 1
    assert len(list((out / "quick" / "cells" / "bad").glob("*.json"))) == 1
    assert CliRunner().invoke(app, ["reproduce", "fine", "--full", "--out", str(out)]).exit_code == 0
    cells = json.loads((out / "full" / "fine.json").read_text())["cells"]
    assert [one["metrics"]["v"] for one in cells] == [2]


@pytest.mark.parametrize("command", [["reproduce", "ridge-figure-3", "--out", "{}"], ["demo", "--out", "{}/x.html"]])
def test_a_folder_that_cannot_be_written_to_is_reported_before_any_work(tmp_path, monkeypatch, command):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rarefy._files.tempfile.TemporaryFile", refuse)
    result = CliRunner().invoke(app, [part.format(tmp_path) for part in command])
    assert result.exit_code == 2
    assert "cannot be written to: Permission denied" in " ".join(result.output.split())


def test_the_demo_looks_at_its_folder_first(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "nowhere" / "x.html")])
    assert result.exit_code == 2
    assert "is not a folder" in " ".join(result.output.split())


def test_python_runs_the_package_as_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rarefy", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("rarefy", run_name="__main__", alter_sys=True)
    assert end.value.code == 0
    assert rarefy.__version__ in capsys.readouterr().out


def test_fresh_measures_again(tmp_path, monkeypatch):
    table = Table("t", "t", "s", lambda data, i: {"v": i}, {"i": [1, 2, 3]}, {}, (), show=SHOW)
    monkeypatch.setattr("rarefy.cli.reproduce.load_tables", lambda: {"t": table})
    runner, command = CliRunner(), ["reproduce", "t", "--out", str(tmp_path)]
    assert runner.invoke(app, command).exit_code == 0
    cells = sorted((tmp_path / "quick" / "cells" / "t").iterdir())
    assert len(cells) == 3
    before = [cell.stat().st_mtime_ns for cell in cells]
    assert runner.invoke(app, command).exit_code == 0
    assert [cell.stat().st_mtime_ns for cell in cells] == before
    assert runner.invoke(app, [*command, "--fresh"]).exit_code == 0
    assert all(cell.stat().st_mtime_ns > then for cell, then in zip(cells, before, strict=True))
