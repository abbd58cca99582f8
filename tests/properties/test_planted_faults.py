"""Every trial of `make trials` can fail: one fault is planted for each and turns its figure red.

Those of linear programs and rankers are in `test_program_trials.py` and `test_ranking_trials.py`.
"""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from trials import (
    clusters,
    features,
    interrupts,
    kills,
    mutants,
    places,
    record,
    registry,
    resumes,
    run,
    subsets,
    times,
)
from trials import inputs as inputs_trial
from trials.bad_calls import Case, takes_weights
from trials.bombs import bomb_trial
from trials.exact import trial
from trials.forgeries import Tally, honest_certificates, try_all
from trials.fuzz import fuzz_trial
from trials.mutants import all_mutants, alone, changes, reason_of
from trials.readers import escape, readers
from trials.subsets import subset_trial
from trials.survivors import REASONS, SEARCHES
from trials.threads import blas_threads, thread_trial

import rarefy._validation as validation
import rarefy.core.certificates.measure as measure
import rarefy.core.linalg.threads as threads
from rarefy.certificates import Certificate
from rarefy.exceptions import ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelSubspace
from rarefy.selection import BestSubsetSelector, BSSSelector

unix = pytest.mark.skipif(os.name == "nt", reason="signals and limits of Unix")


def test_eigenvalues_that_are_wrong_by_a_millionth(monkeypatch):
    interval = measure.interval

    def wrong(*args):
        found = interval(*args)
        return replace(found, low=found.low * (1.0 + 1e-6), high=found.high * (1.0 - 1e-6))

    assert not any(trial(seed, 3)[1] for seed in range(6))
    monkeypatch.setattr(measure, "interval", wrong)
    total = sum((trial(seed, 3)[0] for seed in range(6)), Counter())
    assert total["violated"] > 0
    assert total["honest, not verified"] > 0


@pytest.mark.filterwarnings("ignore")
def test_a_forged_field_that_is_accepted(monkeypatch):
    rng = np.random.default_rng(0)
    honest = next(one for one in honest_certificates(rng, 10.0, 1.0) if one.name == "given")
    verify, right = Certificate.verify, honest.certificate.eigenvalues
    monkeypatch.setattr(Certificate, "verify", lambda self, X, y=None: verify(replace(self, eigenvalues=right), X, y))
    tally = Tally()
    try_all(honest, rng, tally, entries=1)
    assert tally.counts["accepted and improved"] > 0
    assert tally.counts["disagreements"] > 0


def test_a_bound_over_all_choices_that_is_too_high(monkeypatch):
    assert not any(subset_trial(seed)[1] for seed in range(4))

    class Boasting(BestSubsetSelector):
        def fit(self, *args, **kwargs):
            super().fit(*args, **kwargs)
            self.certificate_ = replace(self.certificate_, lower_bound=1.01 * self.certificate_.objective)
            return self

    monkeypatch.setattr(subsets, "BestSubsetSelector", Boasting)
    assert any("above the optimum" in one for seed in range(4) for one in subset_trial(seed)[1])


@pytest.mark.filterwarnings("ignore")  # a fit of few samples has no held-out score
def test_features_that_are_the_wrong_ones(monkeypatch):
    monkeypatch.setitem(features.PROBLEMS, "easy", lambda seed: features.linear(60, 4, 1, seed))
    piece = partial(features.feature_piece, KernelFeatureSelector, "easy", False, 1, 0)
    assert piece()[1] == []
    support = KernelFeatureSelector.get_support
    monkeypatch.setattr(KernelFeatureSelector, "get_support", lambda self, indices=False: np.arange(4)[~support(self)])
    assert any("0 of 1 right" in one for one in piece()[1])


def test_a_command_that_fails_with_a_raw_error(monkeypatch, tmp_path):
    made = inputs_trial.prepared(tmp_path)
    case = inputs_trial.Case("good", "t.csv", made["table.csv"].read_bytes(), False)
    assert inputs_trial.run_case(case, "certify", made) == (False, None)
    monkeypatch.setattr("rarefy.cli.certify.common.read", lambda *_: {}["gone"])
    assert "raw error" in inputs_trial.run_case(case, "certify", made)[1]


def test_weights_that_are_not_looked_at(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((24, 3)), np.arange(24) % 2
    case = Case("KernelSubspace.fit", "negative", lambda: KernelSubspace(2).fit(X, y, sample_weight=-np.ones(24)), True)
    assert takes_weights(KernelSubspace())
    assert fuzz_trial(case)[0]["violated"] == 0
    monkeypatch.setattr("rarefy.kernel._subspace.check_weights", lambda *_: np.ones(24))
    assert fuzz_trial(case) == (Counter(calls=1, accepted=1, violated=1), ["KernelSubspace.fit, negative: accepted"])


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, IndexError, ZeroDivisionError, AttributeError])
def test_errors_from_the_depth(error):
    def call():
        raise error("deep")

    assert fuzz_trial(Case("f", "x", call))[0]["violated"] == 1
    zero_size = Case("f", "x", lambda: np.zeros(0).max())
    assert fuzz_trial(zero_size)[0]["violated"] == 1


@unix
def test_a_reader_that_lets_an_error_escape(monkeypatch):
    good = readers()["certificate"][1]
    assert escape("certificate", b"{}") is None

    def broken(values):
        raise KeyError("gone")

    monkeypatch.setattr(Certificate, "from_dict", broken)
    assert escape("certificate", good).startswith("KeyError")


@unix
def test_a_fit_that_leaves_half_of_its_state(monkeypatch):
    estimator = BSSSelector(3)
    monkeypatch.setattr(interrupts, "ESTIMATORS", (estimator,))
    seeds = range(1, 9)
    assert not any(interrupts.interrupt_trial(seed)[1] for seed in seeds)
    monkeypatch.setattr(BSSSelector, "fit", BSSSelector.fit.__wrapped__)
    assert any("neither as before nor fitted" in one for seed in seeds for one in interrupts.interrupt_trial(seed)[1])


_HALF = """
import rarefy._files as files
def half(path, data):
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])
    with open(path, "ab") as file:
        file.write(data[len(data) // 2 :])
files.write_bytes_atomically = half
from rarefy.cli import main
main()
"""


@unix
def test_a_write_that_is_not_atomic(monkeypatch, tmp_path):
    kills.write_table(tmp_path)
    usual = kills.Whole(3.0, 4)
    # Two files are opened to see whether the folder can be written to; the fourth is the output, a second time, or a
    # later one where older libraries open files of their own.
    monkeypatch.setattr(kills.random, "Random", _Drawn)
    assert kills.kill_trial("certify", 3, tmp_path, usual)[1] == []
    monkeypatch.setattr(kills, "_MAIN", _HALF)
    found = (kills.kill_trial("certify", k, tmp_path, usual)[1] for k in range(4, 16))
    assert any("c.json is not complete" in one for faults in found for one in faults)


class _Drawn:
    """Draws SIGKILL, at a file whose number is the seed, and no second run."""

    def __init__(self, seed):
        self._seed = seed

    def choice(self, values):
        return values[0]

    def random(self):
        return 1.0

    def uniform(self, low, high):
        return low

    def randint(self, low, high):
        return self._seed


@unix
def test_writers_that_see_each_others_halves(monkeypatch):
    direct = "; ".join(
        ("file = open(name, 'w')", "file.write(text[:9])", "file.flush()", "time.sleep(0.005)", "file.write(text[9:])")
    )
    direct = f"import time; {direct}; file.close()"
    monkeypatch.setattr(places, "_WRITER", places._WRITER.replace("write_atomically(name, text)", direct))
    assert any(places.writers_trial(seed)[0]["violated"] for seed in range(3))


@unix
def test_workers_that_nobody_ends(monkeypatch):
    old = "import joblib\njoblib.Parallel(2)(joblib.delayed(busy)(sys.argv[1], 60.0) for _ in range(2))\n"
    first, _, _ = places._WORKERS.rpartition("run_parallel(busy")
    monkeypatch.setattr(places, "_WORKERS", first + old)
    assert "2 of 2 workers run 2 s after their parent" in places.orphan_trial(0, patience=2.0)[1][0]


def test_a_thread_limit_that_is_left(monkeypatch):
    if max(blas_threads(), default=1) < 2:
        pytest.skip("this BLAS has one thread")
    before = threads._one_thread
    monkeypatch.setattr(threads, "_one_thread", threads._OneThread())
    monkeypatch.setattr(threads._OneThread, "_restore", lambda self: None)
    try:
        assert any("BLAS has" in one for seed in (1, 2) for one in thread_trial(seed)[1])
    finally:
        monkeypatch.setattr(threads, "_one_thread", before)


@unix
def test_a_call_that_needs_more_memory_than_there_is_or_does_not_end():
    counts, wrong = bomb_trial("10^6 x 3", "certify", memory=300 << 20)
    assert counts["violated"] == 1
    assert "exit code" in wrong[0]
    counts, wrong = bomb_trial("10^6 x 3", "certify", limit=1)
    assert counts["endless"] == counts["violated"] == 1


def test_a_loss_that_is_changed_and_tests_that_do_not_look(tmp_path, monkeypatch):
    mutant = next(one for one in all_mutants() if "roots" in one[0] and one[3].startswith("always True in (x, high)"))
    looks, does_not = tmp_path / "test_looks.py", tmp_path / "test_nothing.py"
    does_not.write_text("def test():\n    import rarefy.core.losses.roots\n")
    looks.write_text(
        "from rarefy.core.losses.roots import increasing_root\n\n\ndef test():\n"
        "    assert increasing_root(lambda x: (x - 1.0, 1e-9), 0.0, 3.0, 2.0, tol=1e-9) == pytest.approx(1.0)\n"
    )
    looks.write_text("import pytest\n" + looks.read_text())
    assert alone(mutant[0], mutant[1], [str(looks)]) == "killed"
    assert alone(mutant[0], mutant[1], [str(does_not)]) == "survived"
    values = "tests/unit/test_linear_model.py::test_derivatives_are_those_of_the_values"
    tests = [(f"{values}[MarginLoss(name='{loss}', rounding=0.0)]", 1.0) for loss in ("squared_hinge", "logistic")]
    monkeypatch.setattr(mutants, "tests_of_line", lambda path, line: tests)
    noticed = [one for one in all_mutants() if "margins" in one[0] and "None for short = " in one[3]]
    counts, wrong = mutants.mutants_trial([mutant, *noticed])  # in forks, with tests that do not look at the first
    assert 1 <= counts["killed"] == counts["mutants"] - counts["survived"] <= len(noticed)
    path, _, line, what, _ = mutant
    assert wrong[0] == f"{path}:{line}: {what}"
    counts = Counter(mutants=1, survived=1)
    goal = next(one for one in registry.TRIALS if one.name == "mutation").goals[0]
    assert not goal.met(counts)
    assert goal.met(Counter(mutants=100, survived=5))
    assert not goal.met(Counter(mutants=100, survived=6))
    assert goal.worse(Counter(mutants=100, survived=6), {"mutants": 100, "survived": 8})
    assert not goal.worse(Counter(mutants=100, survived=5), {})


def test_what_guards_against_faults_of_programs_is_no_mutant_and_reasons_belong_to_one_line():
    source = "@dataclass(frozen=True)\nclass A:\n    x = 2\n\n\nf = [i + j for i, j in zip(a, b, strict=True)]"
    assert [what for _, what, *_ in changes(ast.parse(source))] == ["2 to 3", "Add to Sub in i + j"]
    source = "def f(n):\n    return (n + 8) * UNIT * 3 + _gamma(n + 12)"  # allowances for rounding
    assert [what for _, what, _, kind in changes(ast.parse(source)) if kind == "numbers"] == ["3 to 4"]
    explained = [(path, line) for path, _, line, what, _ in all_mutants() if reason_of(path, line, what)]
    assert len(set(explained)) == len({(file, start) for file, _, start in REASONS})
    for file, function in SEARCHES:
        text = (mutants.ROOT / "src/rarefy/core" / file).read_text()
        assert function is None or f"def {function}(" in text
        assert function is not None or not any(path.endswith(file) for path, *_ in all_mutants())


def test_each_kind_of_change_is_made_where_it_belongs():
    """The changed source of each, as Python prints it."""
    source = "def f(a, b):\n    c = g(a, 2.5)\n    c += -b\n    return c if a < 0.5 or a <= b else h(len(a))\n"
    made = {}
    for i, (_, what, _, kind) in enumerate(changes(ast.parse(source))):
        made.setdefault(kind, []).append(ast.unparse(mutants.mutated(source, i)))
        assert made[kind][-1] != ast.unparse(ast.parse(source)), what
    texts = {kind: "\n".join(found) for kind, found in made.items()}
    for kind, parts in {
        "assignments": ("c = None", "c = -b"),
        "arguments": ("g(None, 2.5)", "g(a, None)", "g(a)\n", "g(2.5)", "h(None)"),
        "numbers": ("g(a, 3.5)", "a < 1.5"),
        "operators": ("c -= -b", "c += +b", "a < 0.5 and a <= b"),
        "comparisons": ("a >= 0.5", "a < b"),
        "conditions": ("(a < 0.5 or a <= b) and False", "(a < 0.5 or a <= b) or True"),
    }.items():
        assert all(part in texts[kind] for part in parts), (kind, texts[kind])
    assert "len(None)" not in texts["arguments"]


@unix
@pytest.mark.parametrize("off", [0.0, 1e-6])
def test_a_fit_that_a_killed_worker_changes(monkeypatch, off):
    class Worker:
        """A process, and the client of a cluster that has no other."""

        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

        def wait_for_workers(self, *_, **__):
            pass

        def run(self, *_, **__):
            return {"address": self.process.pid}

    class Sum:
        """Adds up data; what a lost worker had is lost."""

        def fit(self, X, y):
            self.weights_ = X.sum(axis=0) * (1.0 - off * (Worker.process.wait() != 0))
            return self

    X = np.arange(1.0, 9.0).reshape(4, 2)
    monkeypatch.setattr(clusters, "ESTIMATORS", {"Sum": Sum})
    counts, wrong = clusters.worker_trial(0, Worker(), X, None, X, {"Sum": (X.sum(axis=0), 0.01)})
    assert counts["violated"] == len(wrong) == (off > 0.0)
    assert not wrong or "results differ by 1e-06" in wrong[0]


_RESUMED = """
import sys, time, pathlib, shutil
import numpy as np
passes = pathlib.Path(sys.argv[2])
again = passes.exists()
passes.mkdir(exist_ok=True)
(passes / "1.npz").touch()
print("ready", flush=True)
if not again:
    time.sleep(60)
np.save(sys.argv[3], np.array([1.0, 2.0 + OFF]))
if not OFF:
    shutil.rmtree(passes)
"""


@unix
@pytest.mark.parametrize("off", [0.0, 1e-15])
def test_a_client_that_goes_on_to_another_result(monkeypatch, tmp_path, off):
    monkeypatch.setattr(clusters, "CLIENT", _RESUMED.replace("OFF", repr(off)))
    counts, wrong = clusters.client_trial(0, tmp_path, np.array([1.0, 2.0]), 0.01)
    assert counts["client resumed"] == 1
    assert counts["violated"] == len(wrong) == (2 if off else 0)
    assert not off or ("the scores differ" in wrong[0] and "passes are left" in wrong[1])


_COMMAND = """
import pathlib, shutil
passes = pathlib.Path("passes")
again = passes.exists()
passes.mkdir(exist_ok=True)
(passes / "1.npz").touch()
pathlib.Path("s.npy").write_text("wrong" if again and OFF else "right")
if not (again and OFF):
    shutil.rmtree(passes)
print("{}")
"""


@unix
@pytest.mark.parametrize("off", [False, True])
def test_a_command_that_goes_on_to_another_result(monkeypatch, tmp_path, off):
    monkeypatch.setattr(resumes, "SETTINGS", {"": ""})
    monkeypatch.setattr(resumes, "_MAIN", _COMMAND.replace("OFF", repr(off)))
    monkeypatch.setattr(resumes, "_data", lambda: tmp_path)
    monkeypatch.setattr(resumes, "_undisturbed", lambda setting: ((b"right", {}), 0.1, 3))
    found = [resumes.command_piece(seed) for seed in range(6)]
    wrong = [one for _, faults in found for one in faults]
    assert sum(counts["violated"] for counts, _ in found) == len(wrong)
    assert any("differ" in one for one in wrong) == any("passes is left" in one for one in wrong) == off
    assert sum(counts["killed"] for counts, _ in found) > 3


def test_a_path_that_is_slower(monkeypatch):
    monkeypatch.setattr(times, "ROUNDS", 1)
    assert times.time_trial("verify", {"verify": dict.fromkeys(times.YARDSTICKS, 1e-6)})[0]["slower"] == 1
    assert times.time_trial("verify", {"verify": dict.fromkeys(times.YARDSTICKS, 1e6)})[0]["slower"] == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_path_that_takes_a_quarter_more_on_a_computer_that_others_use(monkeypatch, seed):
    rng, now = np.random.default_rng(seed), [0.0]

    def takes(seconds):
        """A call by a clock that counts: in a third of all calls it is alone, in others it takes up to three times."""

        def call():
            now[0] += seconds * (1.0 + 0.03 * rng.random() + (rng.random() > 0.3) * 2.0 * rng.random())

        return call

    monkeypatch.setattr(times, "clock", lambda: now[0])
    monkeypatch.setattr(times, "YARDSTICKS", {"arithmetic": takes(0.02), "calls": takes(0.01)})
    recorded = {"path": {"arithmetic": 0.5, "calls": 1.0}}
    assert times.time_trial("path", recorded, takes(0.01))[0]["slower"] == 0
    assert times.time_trial("path", recorded, takes(0.0125))[0]["slower"] == 1
    # On a computer that is faster in one of the units the path is in the other what it was.
    monkeypatch.setattr(times, "YARDSTICKS", {"arithmetic": takes(0.01), "calls": takes(0.01)})
    assert times.time_trial("path", recorded, takes(0.01))[0]["slower"] == 0


def _pieces(calls, faults):
    def piece(i):
        calls.append(i)
        if i == faults.get("stop"):
            raise KeyboardInterrupt
        return Counter(problems=1, violated=int(i in faults.get("wrong", ()))), [f"{i} is wrong"]

    return lambda n, seed: (("table", partial(piece, i)) for i in range(n))


def test_runs_go_on_and_figures_that_are_worse_are_failures(monkeypatch, tmp_path, capsys):
    calls, faults = [], {"stop": 3}
    goals = (registry.Goal("violated", "problems"),)
    fake = registry.Trial("fake", "Nothing", _pieces(calls, faults), 6, 4, goals, alone=True)
    monkeypatch.setattr(run, "NAMES", {"fake": fake})
    monkeypatch.setattr(record, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(record, "SAVE_AFTER", -1.0)
    go = partial(run.main, ["--only", "fake", "--results", str(tmp_path)])
    with pytest.raises(KeyboardInterrupt):
        go()
    faults.clear()
    assert go() == 0
    assert calls == [0, 1, 2, 3, 3, 4, 5]  # what was done is not done again
    assert run.main(["--only", "fake", "--results", str(tmp_path), "--record"]) == 0
    assert json.loads((tmp_path / "figures.json").read_text())["full"]["fake"]["counts"]["problems"] == 6
    monkeypatch.setattr(record, "fingerprint", lambda: "other sources")
    faults["wrong"] = (2, 4)
    assert go() == 1
    assert "WORSE than the recorded 0 of 6" in capsys.readouterr().out
    assert run.main(["--only", "fake", "--results", str(tmp_path), "--record"]) == 0
    assert go() == 0
    assert "2 of 6 problems violated (goal 0): NOT MET\n" in capsys.readouterr().out
    assert run.main(["--only", "fake", "--results", str(tmp_path), "--daily"]) == 0


def test_a_piece_that_crashes_is_a_failure(monkeypatch, tmp_path):
    def broken():
        raise ParameterError("cannot be made")

    goals = (registry.Goal("violated", "problems"),)
    fake = registry.Trial("fake", "Nothing", lambda n, seed: iter([("table", broken)]), 1, 1, goals)
    monkeypatch.setattr(run, "NAMES", {"fake": fake})
    monkeypatch.setattr(record, "FIGURES", tmp_path / "figures.json")
    assert run.main(["--only", "fake", "--results", str(tmp_path), "--jobs", "1"]) == 1


def test_validation_is_what_the_fault_above_replaces():
    with pytest.raises(ValueError, match="Negative"):
        validation.check_weights(-np.ones(24), np.ones((24, 1)), "Thing")
