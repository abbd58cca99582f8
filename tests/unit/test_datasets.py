"""Generators and loaders."""

import numpy as np
import pytest
import scipy.sparse as sp

from rarefy.datasets import _catalogue, load, load_libsvm, load_techtc, make_rare_gaussians, make_relevant, make_topics
from rarefy.datasets._provenance import fingerprint, recorded_files
from rarefy.exceptions import MissingDataError, ParameterError
from rarefy.papers.data import remember


def test_relevant_features_have_the_promised_means():
    X, y = make_relevant(4000, 60, 20, random_state=0)
    assert set(y) == {-1.0, 1.0}
    means = (y[:, None] * X).mean(axis=0)
    # Standard error 1/sqrt(4000) = 0.016.
    np.testing.assert_allclose(means[:20], -np.arange(1, 21), atol=0.08)
    np.testing.assert_allclose(means[20:], 0, atol=0.08)
    with pytest.raises(ParameterError, match="at most n_features; got n_relevant=7, n_features=5"):
        make_relevant(10, 5, 7)


def test_rare_gaussians_stand_where_they_should():
    X, y, (many, few) = make_rare_gaussians(
        40_000, overlap=0.9, rare=0.25, n_features=3, scale=0.05, return_centers=True, random_state=0
    )
    assert (X.shape, int(y.sum()), many.shape, few.shape) == ((40_000, 3), 10_000, (15, 3), (6, 3))
    np.testing.assert_allclose(many[0], 0.9 * few[1] + 0.1 * few[0])
    # Standard errors: centres have a spread of about 0.6, so 0.6/sqrt(10 000) = 0.006.
    np.testing.assert_allclose(X[y == 1].mean(axis=0), few.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), many.mean(axis=0), atol=0.03)
    nearest = np.linalg.norm(X[y == 1][:, None] - few, axis=2).min(axis=1)
    assert np.sqrt(np.mean(nearest**2) / 3) == pytest.approx(0.05, rel=0.05)
    again, labels = make_rare_gaussians(40_000, overlap=0.9, rare=0.25, n_features=3, scale=0.05, random_state=0)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels, y)
    with pytest.raises(ParameterError, match=r"samples of both classes; got rare=0\.001 of n_samples=100, that is 0"):
        make_rare_gaussians(100, rare=0.001)


@pytest.mark.parametrize(
    ("generate", "wrong"),
    [
        (make_rare_gaussians, {"overlap": 1.5}),
        (make_rare_gaussians, {"rare": 1.0}),
        (make_rare_gaussians, {"n_samples": 0}),
        (make_rare_gaussians, {"scale": -1.0}),
        (make_rare_gaussians, {"return_centers": "yes"}),
        (make_relevant, {"n_samples": 1}),
        (make_relevant, {"n_relevant": 0}),
        (make_relevant, {"n_features": 10.0}),
        (make_topics, {"n_samples": True}),
        (make_topics, {"n_features": 999}),
        (make_topics, {"lift": -1.0}),
        (make_topics, {"random_state": "seed"}),
        (load_libsvm, {"path": 3}),
        (load_techtc, {"folder": None}),
    ],
)
def test_arguments_of_generators_and_loaders_are_checked(generate, wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"'{name}' parameter of {generate.__name__} must be"):
        generate(**wrong)


def test_techtc_and_libsvm_formats(tmp_path):
    (tmp_path / "features.idx").write_text("# words\n0 yacht\n2 opera\n5 sea lion\n")
    (tmp_path / "vectors.dat").write_text("# vectors\n1 0:2 5:1\n-1 2:3\n")
    found = load_techtc(tmp_path)
    np.testing.assert_array_equal(found.data.toarray(), [[2, 0, 1], [0, 3, 0]])
    np.testing.assert_array_equal(found.target, [1, -1])
    assert list(found.feature_names) == ["yacht", "opera", "sea lion"]
    (tmp_path / "a.txt").write_text("1 1:0.5 3:2\n0 2:1\n")
    np.testing.assert_array_equal(load_libsvm(tmp_path / "a.txt").data.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    with pytest.raises(MissingDataError, match=r"b\.txt is missing"):
        load_libsvm(tmp_path / "b.txt")
    (tmp_path / "b.txt").write_text("no numbers")
    with pytest.raises(MissingDataError, match=r"b\.txt is damaged.*libsvm format"):
        load_libsvm(tmp_path / "b.txt")


def test_missing_and_wrong_data_are_explained(tmp_path):
    with pytest.raises(ParameterError, match=r"name of load must be one of movie_reviews, .* got 'poems'"):
        load("poems", tmp_path)
    with pytest.raises(MissingDataError, match="--data DIR"):
        load("movie_reviews", None)
    with pytest.raises(FileNotFoundError, match=r"_X\.npz is missing.* It holds Polarity"):
        load("movie_reviews", tmp_path)
    with pytest.raises(MissingDataError, match="TechTC-300"):
        load("techtc:1_2", tmp_path)
    (tmp_path / "text").mkdir()
    sp.save_npz(tmp_path / "text" / "movie_review_polarity_X.npz", sp.csr_array((3, 2)))
    np.savez(tmp_path / "text" / "movie_review_polarity_y.npz", y=np.array([0, 1, 1]))
    with pytest.raises(MissingDataError, match="another version"):
        load("movie_reviews", tmp_path)


def test_mnist_is_checked_in_both_parts(tmp_path, monkeypatch):
    parts = _catalogue.SPLIT_ARRAYS["mnist"]
    with pytest.raises(MissingDataError, match=r"mnist\.npz is missing.* It holds MNIST .*fetch_openml"):
        load("mnist", tmp_path)
    arrays = {"X_train": np.zeros((4, 784), np.uint8), "y_train": np.array([0, 1, 1, 2], np.uint8)}
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(MissingDataError, match=r"mnist \(train\) has \(60000, 784\).*another version"):
        load("mnist", tmp_path)
    monkeypatch.setitem(parts, "train", _catalogue.Source("mnist.npz", (4, 784), {1: 2}, "digits"))
    with pytest.raises(MissingDataError, match=r"has no X_test and no y_test\. It should hold MNIST"):
        load("mnist", tmp_path)
    arrays |= {"X_test": np.ones((2, 784), np.uint8), "y_test": np.array([5, 5], np.uint8)}
    np.savez(tmp_path / "mnist.npz", **arrays)
    monkeypatch.setitem(parts, "test", _catalogue.Source("mnist.npz", (2, 784), {5: 2}, "digits"))
    found = load("mnist", tmp_path)
    np.testing.assert_array_equal(found.test_data, arrays["X_test"])
    np.testing.assert_array_equal(found.target, [0, 1, 1, 2])
    assert found.data.dtype == np.uint8
    monkeypatch.setitem(parts, "test", _catalogue.Source("mnist.npz", (2, 784), {5: 1}, "digits"))
    with pytest.raises(MissingDataError, match=r"class counts \{5: 2\}"):
        load("mnist", tmp_path)


def test_a_checked_data_set_comes_with_its_words(tmp_path, monkeypatch):
    source = _catalogue.Source("text/small", (2, 3), {1: 1}, "nothing")
    monkeypatch.setitem(_catalogue.DOCUMENTS, "small", source)
    (tmp_path / "text").mkdir()
    sp.save_npz(tmp_path / "text" / "small_X.npz", sp.csr_array(np.eye(2, 3)))
    np.savez(tmp_path / "text" / "small_y.npz", y=np.array([0, 1]), vocab=np.array([b"a", b"bc", b"d"]))
    found = load("small", tmp_path)
    assert list(found.feature_names) == ["a", "bc", "d"]
    assert found.data.shape == (2, 3)


def test_sets_with_a_rare_class_and_with_levels_are_checked(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match=r"ecoli\.npz is missing\. It holds Ecoli of the UCI"):
        load("ecoli", tmp_path)
    (tmp_path / "rare").mkdir()
    np.savez(tmp_path / "rare" / "ecoli.npz", X=np.eye(3), y=np.array([0, 1, 0]))
    with pytest.raises(MissingDataError, match=r"ecoli has \(336, 7\) and \{1: 35\}"):
        load("ecoli", tmp_path)
    monkeypatch.setitem(_catalogue.ARRAYS, "ecoli", _catalogue.Source("rare/ecoli.npz", (3, 3), {1: 1}, "cells"))
    found = load("ecoli", tmp_path)
    np.testing.assert_array_equal(found.data, np.eye(3))
    np.testing.assert_array_equal(found.target, [0, 1, 0])
    np.savez(tmp_path / "rare" / "ecoli.npz", X=np.eye(3))
    with pytest.raises(MissingDataError, match=r"has no y\. It should hold cells"):
        load("ecoli", tmp_path)
    with pytest.raises(MissingDataError, match="kddcup99_10pct"):
        load("kddcup99_10pct", tmp_path)


def test_damaged_files_are_named_whatever_is_wrong_with_them(tmp_path, monkeypatch):
    monkeypatch.setitem(_catalogue.ARRAYS, "numbers", _catalogue.Source("numbers.npz", (2, 1), {}, "two numbers"))
    monkeypatch.setitem(_catalogue.DOCUMENTS, "words", _catalogue.Source("words", (2, 1), {}, "two documents"))
    path = tmp_path / "numbers.npz"
    np.savez(path, X=np.full((2, 1), 7.0), y=np.array([0, 1]))
    content = bytearray(path.read_bytes())
    at = content.index(np.full(2, 7.0).tobytes())
    content[at] ^= 255
    path.write_bytes(content)
    with pytest.raises(MissingDataError, match=r"numbers\.npz is damaged.*BadZipFile.*two numbers"):
        load("numbers", tmp_path)
    np.savez(path, X=np.array([[object()]] * 2), y=np.array([0, 1]))
    with pytest.raises(MissingDataError, match=r"numbers\.npz is damaged.*Object arrays.*two numbers"):
        load("numbers", tmp_path)
    np.savez(tmp_path / "words_X.npz", X=np.ones((2, 1)))
    with pytest.raises(MissingDataError, match=r"words_X\.npz is damaged.*two documents"):
        load("words", tmp_path)
    sp.save_npz(tmp_path / "words_X.npz", sp.csr_array(np.ones((2, 1))))
    np.savez(tmp_path / "words_y.npz", z=np.ones(2))
    with pytest.raises(MissingDataError, match=r"words_y\.npz is damaged.*KeyError.*arrays y and vocab"):
        load("words", tmp_path)
    with pytest.raises(MissingDataError, match=r"features\.idx is missing"):
        load_techtc(tmp_path)
    (tmp_path / "features.idx").write_text("")
    with pytest.raises(MissingDataError, match=r"is damaged.*ValueError.*features\.idx"):
        load_techtc(tmp_path)


def test_fingerprints_know_the_content_and_not_the_place(tmp_path):
    for folder, value in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / folder / "set").mkdir(parents=True)
        np.savez(tmp_path / folder / "x.npz", X=value)
        (tmp_path / folder / "set" / "x.txt").write_text(str(value))
    for name in ("x.npz", "set", "set/x.txt"):
        a, b, c = (fingerprint(tmp_path / folder / name) for folder in "abc")
        assert a == b != c


def test_files_are_recorded_where_they_are_used_also_when_they_were_read_before(tmp_path):
    folder = tmp_path / "techtc300" / "Exp_1_2"
    folder.mkdir(parents=True)
    (folder / "features.idx").write_text("0 word\n")
    (folder / "vectors.dat").write_text("1 0:1\n")

    @remember
    def documents(data):
        return load("techtc:1_2", data)

    for _ in range(2):  # the second time from memory
        with recorded_files() as files:
            documents(tmp_path)
        assert files == {"techtc300/Exp_1_2": fingerprint(folder)}
    with recorded_files() as files:
        pass
    assert files == {}
