"""The commands that take tables, on folders of blocks: the same answers as on the table that the folder was made of."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rarefy
from rarefy import blocks
from rarefy.cli._app import app

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
    return result


def found(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table with a category, and the same as blocks."""
    place, rng = tmp_path_factory.mktemp("commands"), np.random.default_rng(0)
    ill = rng.random(150) < 0.4
    X = rng.standard_normal((150, 9)) * np.linspace(0.5, 3.0, 9) + 2.0 * ill[:, None] * (np.arange(9) < 2)
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(9)})
    frame = frame.with_columns(
        pl.Series("leaf", rng.choice(["oak", "elm", "ash"], 150)), pl.Series("class", np.where(ill, "ill", "well"))
    )
    frame.write_csv(place / "t.csv")
    frame.drop("class").write_csv(place / "new.csv")
    run("convert", place / "t.csv", "--out", place / "data", "--target", "class")
    # More than one block: `convert` makes large ones.
    data = blocks.open(place / "data")
    run("convert", place / "new.csv", "--out", place / "new")
    return place, frame, data


@pytest.mark.parametrize(
    "options",
    [
        ("--keep", 5),
        ("--keep", 4, "--method", "leverage"),
        ("--keep", 4, "--method", "rrqr"),
        ("--target", "class", "--keep", 3),
        ("--target", "class", "--keep", 4, "--method", "bss"),
        ("--keep", "auto"),
    ],
    ids=str,
)
def test_select_says_the_same_of_a_folder_as_of_its_table(place, options, tmp_path):
    folder, _, _ = place
    without = ("--drop", "class") if "--target" not in options else ()
    table = found("select", folder / "t.csv", *options, *without)
    stored = found("select", folder / "data", *options)
    assert (stored["kept"], stored["verdict"], stored["n_columns"]) == (table["kept"], table["verdict"], 12)
    shown = run("select", folder / "data", *options).stdout
    namespace = {}
    exec(shown.partition("The same in Python")[2].partition("print")[0], namespace)
    names = namespace["data"].columns
    assert sorted(names[j] for j in namespace["selector"].selection_order_) == sorted(stored["kept"])


def test_certificates_of_a_folder_hold_for_the_table_and_the_other_way_round(place, tmp_path):
    folder, _, _ = place
    for number, options in enumerate((("--keep", 5), ("--target", "class", "--keep", 3))):
        for made_of, other in (("t.csv", "data"), ("data", "t.csv")):
            path = tmp_path / f"{number}{made_of}.json"
            drop = ("--drop", "class") if made_of == "t.csv" and "--target" not in options else ()
            run("select", folder / made_of, *options, *drop, "--certificate", path)
            for file in (made_of, other):
                assert run("verify", path, folder / file).stdout.startswith("Verified.")
    given = ("--columns", "x0,leaf", "--target", "class", "--certificate", tmp_path / "c.json")
    stored, table = found("certify", folder / "data", *given), found("certify", folder / "t.csv", *given)
    assert stored["sentence"] == table["sentence"]
    assert run("verify", tmp_path / "c.json", folder / "data").stdout.startswith("Verified.")
    values = json.loads((tmp_path / "c.json").read_text())
    values["preprocessing"]["mean"][0] += 0.1
    (tmp_path / "forged.json").write_text(json.dumps(values))
    assert run("verify", tmp_path / "forged.json", folder / "data", code=1).stdout.startswith("Not verified")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npz", ""])
def test_kept_columns_are_written_block_by_block(place, tmp_path, ending):
    _, frame, data = place
    many = tmp_path / "many"
    parts = ((block[i : i + 40], data.target[i : i + 40]) for block in data.blocks() for i in range(0, 150, 40))
    blocks.from_arrays(many, parts, columns=data.columns, block_rows=40, target_name="class")
    assert blocks.open(many).n_blocks == 4
    out, options = tmp_path / f"kept{ending}", ("--target", "class", "--keep", 3)
    run("select", many, *options, "--out", out)
    names = sorted(found("select", many, *options)["kept"])
    if ending == "":
        kept = blocks.open(out)
        values, y = np.vstack(list(kept.blocks())), kept.target
        assert (sorted(kept.columns), kept.target_name) == (names, "class")
    elif ending == ".npz":
        archive = np.load(out)
        values, y = archive["X"], archive["y"]
    else:
        read = {".csv": pl.read_csv, ".tsv": lambda f: pl.read_csv(f, separator="\t"), ".parquet": pl.read_parquet}
        table = read[ending](out)
        values, y = table.drop("class").to_numpy(), table["class"].to_numpy()
    order = [name for name in data.columns if name in names]
    expected = np.stack([data.column(name) for name in order], axis=1)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert (y == frame["class"].to_numpy()).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([out.name, "many"])


def test_models_of_a_folder_score_tables_and_folders(place, tmp_path):
    folder, frame, _ = place
    ill = (frame["class"] == "ill").to_numpy()
    for command, options in (
        ("select", ("--target", "class", "--keep", 3)),
        ("select", ("--keep", 4)),
        ("rank", ("--rare-class", "ill")),
        ("classify", ()),
    ):
        model = tmp_path / f"{command}.skops"
        run(command, folder / "data", *options, "--save", model)
        read = []
        for number, rows in enumerate(("new.csv", "t.csv", "new", "data")):
            out = tmp_path / f"{command}{number}.csv"
            result = run("score", model, folder / rows, "--out", out)
            assert "valid feature names" not in result.stderr
            assert "150 rows scored" in result.stdout
            read.append(pl.read_csv(out))
        for other in read[1:]:
            assert other.columns == read[0].columns
            for name in other.columns:
                a, b = other[name].to_numpy(), read[0][name].to_numpy()
                assert (a == b).all() if a.dtype == object else np.allclose(a, b, rtol=1e-8, atol=1e-10)
        if command == "rank":
            assert read[0]["score"].to_numpy()[ill].mean() > read[0]["score"].to_numpy()[~ill].mean() + 0.2
        if command == "classify":
            assert np.mean((read[0]["predicted class"] == "ill").to_numpy() == ill) > 0.8
    run("score", tmp_path / "select.skops", folder / "new", "--out", tmp_path / "blocks")
    assert blocks.open(tmp_path / "blocks").shape == (150, 4)
    assert (
        "must end in" in run("score", tmp_path / "rank.skops", folder / "new", "--out", tmp_path / "b", code=2).stderr
    )


def test_classify_says_the_same_of_a_folder_and_prints_its_python(place):
    folder, _, _ = place
    stored, table = found("classify", folder / "data"), found("classify", folder / "t.csv", "--target", "class")
    assert stored["n_rows"] == table["n_rows"] == 150
    assert abs(stored["accuracy"] - table["accuracy"]) < 0.02
    namespace = {}
    exec(run("classify", folder / "data").stdout.partition("The same in Python")[2], namespace)
    assert np.mean(namespace["model"].predict(namespace["X"]) == namespace["y"]) > 0.8


def test_pages_of_folders(place, tmp_path):
    folder, _, _ = place
    for options in (("--target", "class", "--keep", 3), ("--keep", 4)):
        run("select", folder / "data", *options, "--report", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "150 rows" in page
        assert ("The curve was left out: the data are in blocks" in page) == ("--target" in options)
    run("rank", folder / "data", "--rare-class", "ill", "--report", tmp_path / "rank.html")
    assert blocks.open(folder / "data").fingerprint in (tmp_path / "rank.html").read_text(encoding="utf-8")


def test_a_selection_that_was_interrupted_goes_on(place, tmp_path, monkeypatch):
    folder, _, _ = place
    command = ("select", folder / "data", "--target", "class", "--keep", 3, "--resume", tmp_path / "passes", "--json")
    expected = json.loads(run(*command).stdout)
    assert not (tmp_path / "passes").exists()
    with monkeypatch.context() as patch:
        patch.setattr(rarefy._journal.Journal, "clear", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        run(*command, code=130)
    assert list((tmp_path / "passes").glob("*.npz"))
    assert json.loads(run(*command).stdout)["kept"] == expected["kept"]
    assert not (tmp_path / "passes").exists()


def test_what_cannot_be_done_with_a_folder_is_one_line(place, tmp_path):
    folder, _, _ = place
    run(
        "select", folder / "t.csv", "--keep", 3, "--drop", "class", "--sample", 90, "--certificate", tmp_path / "c.json"
    )
    run("select", folder / "data", "--keep", 3, "--save", tmp_path / "m.skops", "--certificate", tmp_path / "d.json")
    blocks.from_arrays(tmp_path / "bare", np.eye(5))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    for arguments, words in (
        (("select", folder / "data", "--drop", "x0"), "--drop cannot be used with a folder of blocks"),
        (("select", folder / "data", "--sample", 9, "--drop", "x0"), "--drop and --sample cannot be used"),
        (("certify", folder / "data", "--columns", "x0", "--impute", "median"), "rarefy convert --impute"),
        (("select", folder / "data", "--target", "x0"), "was written with the target 'class', not 'x0'"),
        (("select", tmp_path / "bare", "--target", "y"), "has no target; write it again with rarefy convert --target"),
        (("classify", tmp_path / "bare"), "has no target"),
        (("certify", folder / "data", "--columns", "nothing"), "nothing is not a column of"),
        (("verify", tmp_path / "c.json", folder / "data"), "is about 90 rows drawn from a table"),
        (("verify", tmp_path / "d.json", tmp_path / "bare"), "lacks 12 of 12 columns"),
        (("report", tmp_path / "m.skops", folder / "data"), "is a folder of blocks, of which rarefy select --report"),
        (("score", tmp_path / "m.skops", tmp_path / "bare", "--out", tmp_path / "o.csv"), "lacks 12 of 12 columns"),
        (("select", folder / "t.csv", "--drop", "class", "--resume", tmp_path / "p"), "--resume is for folders of"),
        (("select", folder / "data", "--out", tmp_path / "full"), "is a directory"),
    ):
        said = run(*arguments, code=2).stderr
        assert words in said, said
        assert [line[:6] for line in said.splitlines() if "…" not in line] == ["Error:"], said


def test_the_folder_remembers_what_made_its_numbers(place, tmp_path):
    _, frame, data = place
    np.testing.assert_array_equal(data.encoder.transform(frame.drop("class")), np.vstack(list(data.blocks())))
    assert blocks.from_arrays(tmp_path / "plain", np.eye(3)).encoder is None
    manifest = data.folder / "manifest.json"
    text = manifest.read_text()
    try:
        manifest.write_text(text.replace('"oak"', '"fir"'))
        with pytest.raises(rarefy.exceptions.BlockError, match="the encoder makes other columns"):
            blocks.open(data.folder)
    finally:
        manifest.write_text(text)


def test_standardized_blocks_are_what_scikit_learn_makes_of_the_array(tmp_path):
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 6)) * [1, 5, 1e-3, 1, 1, 1] + [0, 1e3, 0, 4, 0, 0]
    X[:, 5] = 7.0
    data = blocks.from_arrays(tmp_path / "x", X, block_rows=25)
    scaler = StandardScaler().fit(X)
    np.testing.assert_allclose(np.vstack(list(data.standardized().blocks())), scaler.transform(X), atol=1e-9)
    same = data.standardized(scaler.mean_, scaler.scale_)
    expected = (X - scaler.mean_) / scaler.scale_
    assert same.rows().fingerprint == rarefy.certify(expected, [0]).fingerprint
    np.testing.assert_array_equal(same.rows().subset(np.array([80, 2])).take(np.arange(2)), expected[[80, 2]])
    for wrong in ((np.zeros(6), None), (np.zeros(5), np.ones(5)), (np.zeros(6), np.zeros(6))):
        with pytest.raises(rarefy.exceptions.ParameterError, match="mean and scale"):
            data.standardized(*wrong)


def test_a_target_that_is_not_asked_for_is_mentioned(place):
    folder, _, _ = place
    for command in (("select", folder / "data", "--keep", 4), ("certify", folder / "data", "--columns", "x0,x1")):
        assert "Its target, class, is not used without --target class." in run(*command).stderr
        assert "Its target" not in run(*command, "--target", "class").stderr
    assert "Its target" not in run("select", folder / "new", "--keep", 4).stderr
