"""The walk of somebody with a table: select, verify, certify, rank, classify, score; and what goes wrong."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rarefy.cli._app import app


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    """A CSV of 60 samples and 40 genes, of which two tell the class, with a category beside them."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 40)).round(4)
    X[:, 3] += 3 * y
    X[:, 7] -= 3 * y
    frame = pl.DataFrame({f"gene {j}": X[:, j] for j in range(40)})
    frame = frame.with_columns(
        pl.Series("tissue", rng.choice(["liver", "lung", "skin"], 60)),
        pl.Series("class", np.where(y == 1, "ill", "well")),
    )
    path = tmp_path_factory.mktemp("genes") / "genes.csv"
    frame.write_csv(path)
    return path


@pytest.fixture(scope="module")
def payments(tmp_path_factory):
    rng = np.random.default_rng(1)
    rare = np.arange(800) < 60
    X = rng.standard_normal((800, 4)) + 1.8 * rare[:, None]
    frame = pl.DataFrame({name: X[:, j] for j, name in enumerate(("amount", "hour", "age", "distance"))})
    frame = frame.with_columns(pl.Series("is_fraud", rare.astype(int)))
    path = tmp_path_factory.mktemp("payments") / "payments.csv"
    frame.sample(fraction=1.0, shuffle=True, seed=0).write_csv(path)
    return path


def test_select_keeps_columns_and_anybody_can_verify_it(genes, tmp_path):
    out, certificate, model = tmp_path / "kept.csv", tmp_path / "c.json", tmp_path / "s.skops"
    result = run(
        *(
            "select",
            genes,
            "--target",
            "class",
            "--keep",
            2,
            "--out",
            out,
            "--certificate",
            certificate,
            "--save",
            model,
        )
    )
    assert result.stdout.split()[0] in ("Strong.", "Useful.", "Weak.")
    assert "gene 3" in result.stdout
    assert "from rarefy.selection import BestSubsetSelector" in result.stdout
    kept = pl.read_csv(out)
    assert kept.columns == ["gene 3", "gene 7", "class"]
    np.testing.assert_allclose(kept["gene 3"], pl.read_csv(genes)["gene 3"])
    assert "Verified." in run("verify", certificate, genes).stdout
    changed = pl.read_csv(genes).with_columns(pl.col("gene 3") * -0.5)
    changed.write_csv(tmp_path / "changed.csv")
    assert "Not verified" in run("verify", certificate, tmp_path / "changed.csv", code=1).stdout
    forged = json.loads(certificate.read_text())
    forged["certificate"]["lower_bound"] = forged["certificate"]["objective"]
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    run("verify", tmp_path / "forged.json", genes, code=1)
    scored = tmp_path / "scored.parquet"
    run("score", model, genes, "--out", scored)
    assert pl.read_parquet(scored).columns == ["gene 3", "gene 7"]


def test_the_python_that_is_printed_does_the_same(genes, tmp_path):
    result = run("select", genes, "--target", "class", "--keep", 3)
    code = result.stdout.partition("The same in Python\n")[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0].rstrip(":") in ("Strong", "Useful", "Weak", "None")
    summary = json.loads(run("select", genes, "--target", "class", "--keep", 3, "--json").stdout)
    assert summary["sentence"] in done.stdout
    assert len(summary["kept"]) == 3


def test_select_without_a_target_serves_any(genes, tmp_path):
    certificate = tmp_path / "c.json"
    result = run("select", genes, "--drop", "class", "--keep", 0.5, "--certificate", certificate)
    assert "BSSSelector" in result.stdout
    run("verify", certificate, genes)
    for method in ("leverage", "rrqr"):
        run("select", genes, "--drop", "class", "--keep", 30, "--method", method, "--certificate", certificate)
        run("verify", certificate, genes)


def test_certify_audits_anybodys_choice(genes, tmp_path):
    names = tmp_path / "mine.txt"
    names.write_text("gene 3\ngene 7\n\n")
    certificate = tmp_path / "c.json"
    result = run("certify", genes, "--columns", names, "--target", "class", "--certificate", certificate)
    assert "of the best 2 columns" in result.stdout.replace("\n", " ") or "best" in result.stdout
    run("verify", certificate, genes)
    poor = json.loads(run("certify", genes, "--columns", "gene 1,gene 2", "--target", "class", "--json").stdout)
    good = json.loads(run("certify", genes, "--columns", names, "--target", "class", "--json").stdout)
    assert good["certificate"]["optimality"] > 0.9 > poor["certificate"]["optimality_ceiling"]
    assert "gene 99 is not a column" in run("certify", genes, "--columns", "gene 99", code=2).stderr


def test_rank_save_score(payments, tmp_path):
    model, scores = tmp_path / "m.skops", tmp_path / "scores.csv"
    result = run("rank", payments, "--target", "is_fraud", "--recall", 0.7, "--confidence", 0.9, "--save", model)
    assert "60 of 800 rows are 1" in result.stdout
    assert "90 % confidence: at least 70 % of future rare cases" in result.stdout
    run("score", model, payments, "--out", scores)
    scored, truth = pl.read_csv(scores), pl.read_csv(payments)["is_fraud"].to_numpy()
    assert scored.columns == ["score", "predicted is_fraud"]
    assert scored["score"].to_numpy()[truth == 1].mean() > scored["score"].to_numpy()[truth == 0].mean()
    shuffled = tmp_path / "shuffled.csv"
    pl.read_csv(payments).select("age", "hour", "amount", "distance").write_csv(shuffled)
    run("score", model, shuffled, "--out", tmp_path / "again.csv")
    np.testing.assert_allclose(pl.read_csv(tmp_path / "again.csv")["score"], scored["score"], rtol=1e-9)
    pl.read_csv(payments).drop("age").write_csv(shuffled)
    assert "age" in run("score", model, shuffled, "--out", tmp_path / "none.csv", code=2).stderr
    assert not (tmp_path / "none.csv").exists()
    summary = json.loads(run("rank", payments, "--target", "is_fraud", "--json").stdout)
    assert summary["held_out"]["area under the ROC curve"] > 0.8


def test_classify(genes, tmp_path):
    result = run("classify", genes, "--target", "class", "--drop", "tissue", "--save", tmp_path / "m.skops")
    assert "% of held-out rows are classified rightly" in result.stdout
    run("score", tmp_path / "m.skops", genes, "--out", tmp_path / "classes.tsv")
    assert set(pl.read_csv(tmp_path / "classes.tsv", separator="\t")["predicted class"]) <= {"ill", "well"}


def test_standard_input(genes):
    result = run("select", "-", "--target", "class", "--keep", 2, stdin=genes.read_text())
    assert "gene 7" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("select", "{genes}", "--target", "clas"), "class"),
        (("select", "/no/such/file.csv"), "no/such/file.csv"),
        (("select", "{genes}", "--keep", "many"), "must be a number of columns"),
        (("select", "{genes}", "--method", "best"), "--target"),
        (("select", "{genes}", "--target", "class", "--out", "/no/folder/kept.csv"), "not a folder"),
        (("verify", "{genes}", "{genes}"), "not JSON"),
        (("rank", "{genes}", "--target", "tissue"), "must have two classes"),
        (("rank", "{genes}", "--target", "class", "--rare-class", "dead"), "ill, well"),
        (("score", "{genes}", "{genes}", "--out", "x.csv"), "not a model file"),
        (("score", "/no/such.skops", "{genes}", "--out", "x.csv"), "cannot be read"),
        (("classify", "{genes}", "--target", "gene 3"), "no classes"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(genes, arguments, words):
    result = run(*(a.format(genes=genes) for a in arguments), code=2)
    lines = [line for line in result.stderr.strip().splitlines() if line.startswith("Error")]
    assert len(lines) == 1
    assert words in lines[0]


def test_models_of_strangers_are_refused(tmp_path):
    from sklearn.feature_extraction import FeatureHasher
    from skops.io import dump

    class Stranger:
        pass

    for name, content in (("a", {"format": "rarefy model 1", "pipeline": Stranger()}), ("b", FeatureHasher())):
        dump(content, tmp_path / f"{name}.skops")
        assert "Error" in run("score", tmp_path / f"{name}.skops", "x.csv", "--out", tmp_path / "o.csv", code=2).stderr
    (tmp_path / "c.skops").write_bytes(b"PK\x03\x04 not a zip")
    run("score", tmp_path / "c.skops", "x.csv", "--out", tmp_path / "o.csv", code=2)


def test_every_command_has_help_with_an_example():
    for name in ("select", "certify", "verify", "rank", "classify", "score"):
        text = run(name, "--help").stdout
        assert "Example:" in text
        assert "Exit codes: 0" in text
