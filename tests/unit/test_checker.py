"""The one-file checker as a reader would run it, and the forgeries that were once accepted."""

import contextlib
import io
import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.selection import BestSubsetSelector, BSSSelector

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "check_certificate.py"


def noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def run(folder, values, data, *more):
    """Exit code and what was printed, as if it had been run."""
    (folder / "certificate.json").write_text(values if isinstance(values, str) else json.dumps(values))
    arguments, output = [str(CHECKER), str(folder / "certificate.json"), str(data), *map(str, more)], io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", arguments)
        try:
            runpy.run_path(str(CHECKER), run_name="__main__")
        except SystemExit as end:
            code = end.code
    return code, output.getvalue()


@pytest.fixture
def labelled(tmp_path):
    X, y = noise(12, 30), np.arange(12) % 2
    np.savez(tmp_path / "data.npz", X=X, y=y)
    return rarefy.certify(X, range(20), None, y, C=1.0), X, y


@pytest.mark.parametrize(("name", "length"), [("check_certificate", 150), ("check_subset", 120)])
def test_it_is_short_and_imports_numpy_only(name, length):
    lines = (ROOT / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= length
    assert max(map(len, lines)) <= 120
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert {line.split()[1].split(".")[0] for line in imports} <= {"json", "sys", "numpy"}


def test_a_best_choice_is_checked_by_the_same_command(tmp_path):
    X, y, weight = noise(20, 8), np.arange(20) % 2, 1.0 + np.arange(20) % 3
    X[:, :3] += y[:, None]
    found = BestSubsetSelector(3, C=0.1, max_nodes=0).fit(X, y, sample_weight=weight).certificate_
    values, data, bare = found.to_dict(), tmp_path / "data.npz", tmp_path / "bare.npz"
    np.savez(data, X=X, y=y, sample_weight=weight)
    np.savez(bare, X=X, y=y)
    np.save(tmp_path / "w.npy", weight)
    np.save(tmp_path / "y.npy", y)
    code, text = run(tmp_path, values, data)
    assert code == 0
    assert text.startswith(f"verified\nthe best choice, at least {found.optimality:.4f}"[:-1])
    assert run(tmp_path, values, bare, "--labels", tmp_path / "y.npy", "--weights", tmp_path / "w.npy")[0] == 0
    assert run(tmp_path, values, bare) == (1, "not verified: sample weights\n")
    for name, factor in (("lower_bound", 1.001), ("objective", 0.999), ("all_columns_bound", 1.001)):
        assert run(tmp_path, values | {name: factor * values[name]}, data) == (1, f"not verified: {name}\n")
    assert run(tmp_path, values | {"lower_bound": "3.5"}, data)[0] == 2
    command = [sys.executable, "-W", "error", str(CHECKER), "certificate.json", "data.npz"]
    (tmp_path / "certificate.json").write_text(json.dumps(values))
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")


def test_an_honest_certificate_is_verified_and_its_claims_are_printed(tmp_path, labelled):
    found, *_ = labelled
    code, text = run(tmp_path, found.to_dict(), tmp_path / "data.npz")
    assert code == 0
    assert text.startswith("verified")
    assert f"squared margin, at least times {found.margin_floor:g}" in text
    assert f"squared radius, at most times {found.radius_ratio:g}" in text
    assert f"objective, a share of at least {found.objective_ratio:g}" in text


def test_it_runs_alone(tmp_path, labelled):
    found, *_ = labelled
    here = run(tmp_path, found.to_dict(), tmp_path / "data.npz")
    command = [sys.executable, "-W", "error", str(CHECKER), "certificate.json", "data.npz"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (*here, "")


def test_what_is_derived_or_said_in_the_file_is_not_believed(tmp_path, labelled):
    found, *_ = labelled
    forged = found.to_dict() | {"margin_floor": 7.0, "statement": "strong: 7", "verdict": "strong", "radius_ratio": 7.0}
    assert run(tmp_path, forged, tmp_path / "data.npz") == run(tmp_path, found.to_dict(), tmp_path / "data.npz")


def test_a_forged_certificate_is_refused_with_what_is_wrong(tmp_path, labelled):
    found, *_ = labelled
    values = found.to_dict()
    forged = values | {"eigenvalues": [1.001 * values["eigenvalues"][0], values["eigenvalues"][1]]}
    assert run(tmp_path, forged, tmp_path / "data.npz") == (1, "not verified: smallest eigenvalue\n")
    better = values | {"objective": values["objective"] | {"lower": 1.001 * values["objective"]["lower"]}}
    assert run(tmp_path, better, tmp_path / "data.npz") == (1, "not verified: lower\n")


def test_a_claim_about_labels_needs_them(tmp_path, labelled):
    found, X, y = labelled
    np.savez(tmp_path / "bare.npz", X=X)
    np.save(tmp_path / "y.npy", y)
    assert run(tmp_path, found.to_dict(), tmp_path / "bare.npz") == (1, "not verified: labels\n")
    assert run(tmp_path, found.to_dict(), tmp_path / "bare.npz", "--labels", tmp_path / "y.npy")[0] == 0
    np.save(tmp_path / "y.npy", 1 - y[::-1] * (np.arange(12) > 3))
    assert run(tmp_path, found.to_dict(), tmp_path / "bare.npz", "--labels", tmp_path / "y.npy")[0] == 1


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_sparse_files_are_read(tmp_path, kind):
    X = noise(8, 40) * (noise(8, 40, 1) > 0)
    sp.save_npz(tmp_path / "data.npz", kind(X))
    found = BSSSelector(20).fit(X).certificate_
    assert run(tmp_path, found.to_dict(), tmp_path / "data.npz")[0] == 0
    sp.save_npz(tmp_path / "data.npz", kind(1.01 * X))
    assert run(tmp_path, found.to_dict(), tmp_path / "data.npz")[0] == 1


def test_what_cannot_be_read_is_said_in_one_line(tmp_path, labelled):
    found, X, _ = labelled
    values, data = found.to_dict(), tmp_path / "data.npz"
    (tmp_path / "text.npz").write_text("no data")
    np.savez(tmp_path / "nan.npz", X=np.where(np.arange(30) == 3, np.nan, X))
    np.savez(tmp_path / "complex.npz", X=X + 1j)
    np.savez(tmp_path / "flat.npz", X=X[0])
    np.savez(tmp_path / "other.npz", Z=X)
    bad_files = [(values, tmp_path / f"{name}.npz") for name in ("text", "nan", "complex", "flat", "other", "absent")]
    bad_values = ["{", "[]", "3", "{}", values | {"eigenvalues": "ab"}, values | {"weights": ["a"] * 20}]
    for one, file in [*bad_files, *((one, data) for one in bad_values)]:
        code, text = run(tmp_path, one, file)
        assert code == 2, text
        assert text.count("\n") == 1


def test_a_proof_is_repeated_and_a_false_one_refused(tmp_path):
    X = noise(6, 60)
    np.savez(tmp_path / "data.npz", X=X)
    found = BSSSelector(30).fit(X).certificate_
    assert found.proved
    assert run(tmp_path, found.to_dict(), tmp_path / "data.npz")[0] == 0
    ill = noise(6, 60) * np.logspace(0, -8, 6)[:, None] + noise(6, 1)
    np.savez(tmp_path / "ill.npz", X=ill)
    other = rarefy.certify(ill, range(30))
    assert not other.proved
    assert run(tmp_path, other.to_dict(), tmp_path / "ill.npz")[0] == 0
    assert run(tmp_path, other.to_dict() | {"proved": True}, tmp_path / "ill.npz")[0] == 1
