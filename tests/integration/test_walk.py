"""The walk of a stranger, word for word: every command of the README and the guide, then the same in pandas.

The commands are read from the pages themselves. The tables that they name are made here: what follows `select`,
`certify` and `verify` has genes and a class, what follows `rank` payments and a rare class.
"""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy
from rarefy.cli import demo
from rarefy.cli._app import COMMANDS, app
from rarefy.pages.demo import run_study
from rarefy.ranking import RankRC, RankRCCV
from rarefy.selection import BestSubsetSelector
from rarefy.tables import TableEncoder

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "guide" / "own_table.rst"]
LINE = re.compile(rf"^\s*(?:\$\s+)?(rarefy (?:{'|'.join(COMMANDS)})\b.*)$")


def commands(page):
    """Lines of code that call a command, in order; a backslash at the end goes on in the next line."""
    found, fenced = [], False
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        fenced ^= line.startswith("```")
        match = LINE.match(line)
        if match and (fenced or line != line.lstrip()):  # code is indented or between fences
            found.append(shlex.split(match[1], comments=True)[1:])
    return found


def option(words, name, otherwise=None):
    return words[words.index(name) + 1] if name in words else otherwise


def genes(target):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 240)).round(4)
    X[:, :4] += 2.0 * y[:, None]
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(240)])
    return frame if target is None else frame.assign(**{target: np.where(y == 1, "ill", "well")})


def payments(target):
    rng = np.random.default_rng(1)
    rare = np.arange(800) % 13 == 0
    X = rng.standard_normal((800, 4)).round(4) + 1.8 * rare[:, None]
    frame = pd.DataFrame(X, columns=["amount", "hour", "age", "distance"])
    return frame if target is None else frame.assign(**{target: rare.astype(int)})


def write(frame, name):
    kind = Path(name).suffix
    assert kind in (".csv", ".parquet"), f"{name}: teach this test to write it"
    if kind == ".csv":
        frame.to_csv(name, index=False)
    else:
        frame.to_parquet(name)


def provide(words, saved):
    """Write the files that a command reads and nobody has written yet."""
    name, first = words[0], words[1] if len(words) > 1 else ""
    target = option(words, "--target")
    if name in ("select", "certify", "rank", "classify") and not Path(first).exists():
        write((payments if name == "rank" else genes)(target), first)
    if name == "certify" and option(words, "--columns", "").endswith(".txt"):
        Path(option(words, "--columns")).write_text("gene 3\ngene 8\n", encoding="utf-8")
    if name == "score" and not Path(words[2]).exists():
        write((payments if saved.get(first) == "rank" else genes)(None).iloc[::-1], words[2])
    if "--save" in words:
        saved[option(words, "--save")] = name


def outputs(words):
    return [
        Path(words[i + 1]) for i, word in enumerate(words) if word in ("--out", "--report", "--save", "--certificate")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_works_word_for_word(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "run_study", lambda *args: run_study(60, shape=(30, 1500)))  # 200 x 20000 takes long
    called, saved = commands(page), {}
    assert {"select", "verify", "rank", "score"} <= {words[0] for words in called}
    for words in called:
        if words[0] == "reproduce":  # has tests of its own, and takes minutes
            continue
        provide(words, saved)
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}"
        assert all(path.stat().st_size for path in outputs(words))
        if words[0] == "verify":
            assert result.stdout.startswith("Verified.")
        if words[0] == "select":
            assert re.match(r"(Strong|Useful|Weak|None)\. ", result.stdout), "the verdict first"
            found = {}
            exec(result.stdout.partition("The same in Python")[2], found)
            names = found["encoder"].get_feature_names_out() if "encoder" in found else np.array(found["data"].columns)
            kept = names[found["selector"].get_support()]
            assert [name for name in kept if name in result.stdout]
        if words[0] == "score":
            scores, truth = pd.read_csv(option(words, "--out")), payments("y").iloc[::-1]["y"].to_numpy()
            highest = np.argsort(-scores["score"].to_numpy())[: truth.sum()]
            assert truth[highest].mean() > 0.6


def test_the_makefile_runs_the_demo():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^demo:.*\n\t.*rarefy demo$", text, re.MULTILINE)
    assert "make demo" in PAGES[0].read_text(encoding="utf-8")


def test_the_same_walk_in_pandas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    genes("class").to_csv("genes.csv", index=False)
    payments("is_fraud").to_csv("payments.csv", index=False)
    frame = pd.read_csv("genes.csv")
    X, y = frame.drop(columns="class"), frame["class"]
    selector = BestSubsetSelector(10, C=0.01).fit(X, y)
    rarefy.report(selector, X, y, path="report.html")
    assert "gene 3" in Path("report.html").read_text(encoding="utf-8")
    Path("c.json").write_text(json.dumps(selector.certificate_.to_dict()), encoding="utf-8")
    again = rarefy.SubsetCertificate.from_dict(json.loads(Path("c.json").read_text(encoding="utf-8")))
    assert again.verify(pd.read_csv("genes.csv").drop(columns="class"), y)
    assert list(selector.set_output(transform="pandas").transform(X).columns) == [
        name for name in X.columns if name in set(selector.get_feature_names_out())
    ]
    frame = pd.read_csv("payments.csv")
    X, y = frame.drop(columns="is_fraud"), frame["is_fraud"]
    search = RankRCCV(RankRC(random_state=0), alphas=[1e-3], cv=3)
    model = make_pipeline(TableEncoder(), StandardScaler(), search).fit(X, y)
    rarefy.report(model[-1], model[:-1].transform(X), y, path="fraud.html")
    assert Path("fraud.html").stat().st_size > 10_000
    scores = pd.Series(model.score_samples(X.iloc[:50]), name="score")
    assert np.corrcoef(scores, y[:50])[0, 1] > 0.4
