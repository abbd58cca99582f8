"""The walk of somebody with a table: select, verify, certify, rank, classify, score; and what goes wrong."""

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from trials.inputs import cases, places, prepared, run_case
from trials.kills import Whole, kill_trial, write_table

from properties.test_bad_tables import BAD
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
    assert "60 of 800 rows have is_fraud = 1" in result.stdout
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
        (("rank", "{genes}", "--target", "tissue"), "say which one is to be ranked"),
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


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two folders of documents, and a third one with the same words in other proportions."""
    rng, folder = np.random.default_rng(2), tmp_path_factory.mktemp("texts")
    common = ["the", "old", "new", "great"]
    for label, words in {"sea": ["boat", "sail", "wind"], "opera": ["aria", "tenor", "labels"], "": ["boat"]}.items():
        place = folder / "seen" / label if label else folder / "new"
        place.mkdir(parents=True)
        for i in range(12 if label else 3):
            (place / f"{i}.txt").write_text(" ".join([*rng.choice(words, 4), *rng.choice(common, 6)]))
    return folder


def test_labels_beside_the_columns_are_a_target(texts, tmp_path):
    certificate = tmp_path / "c.json"
    result = run("select", texts / "seen", "--target", "labels", "--keep", 2, "--certificate", certificate)
    assert "its name is 'labels'" in result.stderr
    run("verify", certificate, texts / "seen")
    assert "is called 'labels'" in run("select", texts / "seen", "--target", "class", code=2).stderr
    (tmp_path / "t.svm").write_text("1 1:2 3:1\n0 2:1\n" * 10)
    assert json.loads(run("rank", tmp_path / "t.svm", "--json").stdout)["n_rare"] == 10
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,5\n")
    assert "states no target" in run("rank", tmp_path / "t.csv", code=2).stderr


def test_new_texts_get_the_weights_of_the_old_ones(texts, tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer

    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    run("select", texts / "seen", "--target", "labels", "--keep", 5, "--save", model)
    run("score", model, texts / "new", "--out", out)
    seen = [path.read_text() for path in sorted((texts / "seen").rglob("*.txt"))]
    vectorizer = TfidfVectorizer().fit(seen)
    found, words = pl.read_csv(out), list(vectorizer.get_feature_names_out())
    expected = vectorizer.transform([path.read_text() for path in sorted((texts / "new").iterdir())]).toarray()
    for name in found.columns:
        np.testing.assert_allclose(found[name], expected[:, words.index(name)], atol=1e-12)
    ranker = tmp_path / "r.skops"
    run("rank", texts / "seen", "--save", ranker)
    run("score", ranker, texts / "new", "--out", out)
    assert set(pl.read_csv(out)["predicted labels"]) == {"sea"}


def test_a_model_of_texts_and_a_table_do_not_mix(texts, genes, tmp_path):
    matrix = tmp_path / "words.svm"
    matrix.write_text("1 1:2 3:1\n0 2:1\n" * 10)
    run("select", matrix, "--target", "labels", "--keep", 2, "--save", tmp_path / "m.skops")
    assert "Error" in run("score", tmp_path / "m.skops", texts / "new", "--out", tmp_path / "o.csv", code=2).stderr
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("rank", "{payments}", "--target", "is_fraud", "--drop", "age", "--sample", "300", "--seed", "3"),
        ("classify", "{genes}", "--target", "class", "--drop", "gene 3,tissue", "--seed", "1"),
        ("select", "{genes}", "--drop", "class,gene 5", "--keep", "auto", "--sample", "50", "--seed", "2"),
        ("select", "{genes}", "--drop", "tissue", "--target", "class", "--C", "0.1"),
    ],
)
def test_the_python_that_is_printed_knows_all_options(genes, payments, arguments):
    arguments = [a.format(genes=genes, payments=payments) for a in arguments]
    result = run(*arguments)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(result.stdout.partition("The same in Python\n")[2], {})  # what we printed ourselves
    summary = json.loads(run(*arguments, "--json").stdout)
    if arguments[0] == "select":
        assert summary["sentence"] in printed.getvalue()
    elif arguments[0] == "rank":
        assert float(printed.getvalue().split()[1]) == pytest.approx(summary["threshold"])


def test_a_sample_is_drawn_again_to_verify(genes, tmp_path):
    certificate = tmp_path / "c.json"
    run("select", genes, "--target", "class", "--keep", 2, "--sample", 40, "--seed", 5, "--certificate", certificate)
    run("verify", certificate, genes)


def test_certify_takes_whole_numbers_for_classes_and_categories_for_their_indicators(genes, payments):
    found = json.loads(run("certify", payments, "--columns", "age,hour", "--target", "is_fraud", "--json").stdout)
    assert "linear classifier" in found["sentence"]
    found = json.loads(run("certify", genes, "--columns", "gene 3,tissue", "--target", "class", "--json").stdout)
    assert found["sentence"].startswith("With these 4 columns")


def test_few_rows_of_a_class(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.standard_normal(60), "b": rng.standard_normal(60), "id": range(60)})
    frame = frame.with_columns(y=(pl.col("id") < 3).cast(pl.Int64))
    frame.write_csv(tmp_path / "few.csv")
    result = run("rank", tmp_path / "few.csv", "--target", "y")
    assert "3 of 60 rows have y = 1. Of the 3 rows that score highest" in result.stdout
    assert "Column 'id' is whole numbers without a gap" in result.stderr
    assert "StratifiedKFold(3" in result.stdout
    few = run("rank", tmp_path / "few.csv", "--target", "y", "--recall", 0.9, code=2)
    assert "a recall of 90 % needs at least 29" in few.stderr
    frame.with_columns(y=(pl.col("id") < 1).cast(pl.Int64)).write_csv(tmp_path / "one.csv")
    for command in ("rank", "classify"):
        assert "in one row only" in run(command, tmp_path / "one.csv", "--target", "y", code=2).stderr


def test_the_index_of_a_pandas_frame_is_left_out(tmp_path):
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 5.0, 1.0], "__index_level_0__": list("wxyz")})
    frame.write_parquet(tmp_path / "t.parquet")
    result = run("select", tmp_path / "t.parquet", "--keep", 1)
    assert "'__index_level_0__' is the index of a pandas frame" in result.stderr


EVIL = ("<script>alert(1)</script>", "=cmd|' /C calc'!A0", "[bold]x[/bold]", "😀" * 150, "red \x1b[31m")


def test_names_of_columns_harm_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.standard_normal(40) for name in EVIL}).with_columns(y=pl.Series(np.arange(40) % 2))
    frame.write_csv(tmp_path / "evil.csv")
    out, page, certificate = (tmp_path / name for name in ("kept.csv", "page.html", "c.json"))
    options = ("--target", "y", "--keep", 5, "--out", out, "--report", page, "--certificate", certificate)
    result = run("select", tmp_path / "evil.csv", *options)
    assert "\x1b[31m" not in result.output
    assert "[bold]x[/bold]" in result.stdout
    assert max(map(len, result.stdout.partition("Strong:")[0].splitlines()[1:])) <= 60
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert pl.read_csv(out).columns == [*EVIL, "y"]  # names stay what they are, so that the file can be verified
    assert pl.read_csv(out)["y"].dtype == pl.Int64
    run("verify", certificate, out)


def test_outputs_are_checked_before_the_work(genes, tmp_path):
    same = tmp_path / "same.csv"
    for options, words in (
        (("--out", genes), "is the table itself"),
        (("--out", same, "--report", same), "by another option already"),
        (("--report", "/dev/null"), "not a regular file"),
        (("--out", tmp_path / "kept.xlsx"), "must end in"),
        (("--certificate", "/no/folder/c.json"), "is not a folder"),
    ):
        result = run("select", genes, *options, code=2)
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_malformed_tables_through_the_commands(payments, tmp_path):
    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    run("rank", payments, "--target", "is_fraud", "--sample", 200, "--save", model)
    for i, (name, (content, _)) in enumerate(BAD.items()):
        path = tmp_path / name
        path.write_bytes(content)
        commands = (("select", path, "--out", out), ("rank", path, "--save", out), ("score", model, path, "--out", out))
        assert_refused(commands[i % 3], out)


def assert_refused(arguments, out):
    """One line that begins with "Error", exit code 2, no file."""
    result = run(*arguments, code=2)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Reading")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert not out.exists()


def test_damaged_models_and_certificates(payments, tmp_path):
    model, forged, out = tmp_path / "m.skops", tmp_path / "forged.skops", tmp_path / "out.csv"
    run("rank", payments, "--target", "is_fraud", "--sample", 200, "--save", model)
    data, rng = model.read_bytes(), np.random.default_rng(0)
    for cut in rng.integers(0, len(data), 4):
        forged.write_bytes(data[: int(cut)])
        assert_refused(("score", forged, payments, "--out", out), out)
    for change in (lambda v: v.pop("columns_"), lambda v: v.pop("idf_")):
        with zipfile.ZipFile(model) as old, zipfile.ZipFile(forged, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "schema.json":
                    schema = json.loads(content)
                    steps = schema["content"]["pipeline"]["content"]["content"]["steps"]["content"]
                    change(steps[0]["content"][1]["content"]["content"])
                    content = json.dumps(schema)
                new.writestr(name, content)
        assert_refused(("score", forged, payments, "--out", out), out)
    with zipfile.ZipFile(forged, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("schema.json", b"0" * 150_000_000)
    assert_refused(("score", forged, payments, "--out", out), out)
    assert_refused(("score", tmp_path, payments, "--out", out), out)
    certificate = tmp_path / "c.json"
    run("select", payments, "--drop", "is_fraud", "--keep", 3, "--certificate", certificate)
    good = certificate.read_text()
    for key, value in (("kind", {}), ("target", 1), ("sample", "x"), ("preprocessing", None), ("certificate", [])):
        certificate.write_text(json.dumps(json.loads(good) | {key: value}))
        assert_refused(("verify", certificate, payments), out)
    for text in (good[: len(good) // 2], "[" * 100_000, ""):
        certificate.write_text(text)
        assert_refused(("verify", certificate, payments), out)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_command_that_is_ended_leaves_nothing_by_halves(tmp_path):
    write_table(tmp_path)
    for seed, name, seconds, files in ((0, "select", 4.0, 17), (3, "rank", 3.0, 9), (4, "convert", 3.0, 14)):
        counts, faults = kill_trial(name, seed, tmp_path, Whole(seconds, files))  # many more: make trials ONLY=kills
        assert not faults, faults
        assert counts["violated"] == 0


def test_a_sample_of_the_malformed_inputs(tmp_path):
    made = prepared(tmp_path)
    for case, command in list(cases(300, 1, made))[3::8]:  # all of them: make trials ONLY=inputs
        refused, fault = run_case(case, command, made)
        assert fault is None
        assert refused or not case.refused


@pytest.mark.skipif(os.name == "nt", reason="links, permissions and limits of Unix")
def test_places_that_cannot_be_read_or_written_to(tmp_path):
    made = prepared(tmp_path)
    wanted = ("loop", "permission to write", "--certificate")
    for kind, words, code, options in places(tmp_path, made):
        if not any(word in kind for word in wanted):
            continue
        call = [sys.executable, "-c", code, *map(str, words)]
        found = subprocess.run(call, capture_output=True, text=True, check=False, **options)
        assert found.returncode == 2, (kind, found.stderr)
        assert found.stderr.splitlines()[-1].startswith("Error: "), kind
        assert not words[-1].exists(), kind
        assert not list(tmp_path.rglob(f".{words[-1].name}*")), kind


def test_models_of_strangers_are_refused(tmp_path):
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer
    from skops.io import dump

    class Stranger:
        pass

    for name, content in (("a", {"format": "rarefy model 1", "pipeline": Stranger()}), ("b", FeatureHasher())):
        dump(content, tmp_path / f"{name}.skops")
        assert "Error" in run("score", tmp_path / f"{name}.skops", "x.csv", "--out", tmp_path / "o.csv", code=2).stderr
    # What would run a command if it were built: a function of the system, and a class in the place of ours.
    ran = tmp_path / "ran"
    steps = [
        ("table", FunctionTransformer(os.system)),
        ("then", FunctionTransformer(os.mkdir, kw_args={"path": str(ran)})),
    ]
    dump({"format": "rarefy model 1", "pipeline": Pipeline(steps)}, tmp_path / "d.skops")
    with zipfile.ZipFile(tmp_path / "d.skops") as old, zipfile.ZipFile(tmp_path / "e.skops", "w") as new:
        forged = old.read("schema.json").decode().replace("sklearn.pipeline", "subprocess").replace("Pipeline", "Popen")
        new.writestr("schema.json", forged)
    for name in ("d", "e"):
        said = run("score", tmp_path / f"{name}.skops", "x.csv", "--out", tmp_path / "o.csv", code=2).stderr
        assert "which no model of rarefy has; it is not read" in said
        assert not ran.exists()
    (tmp_path / "c.skops").write_bytes(b"PK\x03\x04 not a zip")
    run("score", tmp_path / "c.skops", "x.csv", "--out", tmp_path / "o.csv", code=2)


def test_every_command_has_help_with_an_example():
    for name in ("select", "certify", "verify", "rank", "classify", "score"):
        text = run(name, "--help").stdout
        assert "Example:" in text
        assert "Exit codes: 0" in text
