"""The published schema: what certificates write validates, and every field is in it."""

import json
from dataclasses import fields
from importlib.resources import files

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from trials.forgeries import honest_certificates, honest_subsets

import rarefy
from rarefy.certificates import Certificate, KernelCertificate, RecallCertificate, SubsetCertificate
from rarefy.certificates._kernel_objective import KernelObjective
from rarefy.certificates._objective import Objective
from rarefy.certificates._optimality import Optimality
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.linalg.sketch import Sketch
from rarefy.ranking import RankRC, ScoreCertificate, certify_scores, certify_threshold

SCHEMA = json.loads(files("rarefy.certificates").joinpath("schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
CLASSES = {
    "certificate": Certificate,
    "kernel_certificate": KernelCertificate,
    "subset_certificate": SubsetCertificate,
    "recall_certificate": RecallCertificate,
    "score_certificate": ScoreCertificate,
    "objective": Objective,
    "kernel_objective": KernelObjective,
    "optimality": Optimality,
    "regularised": Regularised,
    "sketch": Sketch,
}


def written(certificate):
    return json.loads(json.dumps(certificate.to_dict(), allow_nan=False))


def kernel_certificates():
    X, y = np.random.default_rng(0).standard_normal((8, 12)), np.arange(8) % 2
    K, K_kept = X @ X.T, X[:, :9] @ X[:, :9].T
    yield rarefy.certify_kernels(K, K_kept)
    yield rarefy.certify_kernels(K, K_kept, y, C=1.0, loss="logistic")
    yield rarefy.certify_kernels(K, K_kept, y.astype(float), alpha=1.0)
    yield rarefy.certify_kernels(K, X[:, :3] @ X[:, :3].T)  # a direction is lost


def recall_certificates():
    scores, y = np.arange(100.0), np.arange(100) % 2
    yield certify_threshold(scores, y, recall=0.9)
    yield certify_threshold(scores, y, false_positive_rate=0.1, cross_fitted=True)
    yield certify_threshold(scores, y, recall=0.999)  # nothing can be promised


def score_certificates():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) < 10
    yield certify_scores(RankRC(1.0, random_state=0).fit(X, y), X, y)
    yield certify_scores(RankRC(1.0, basis=15, landmarks="kmeans", random_state=0).fit(X, y), X, y)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_is_required_and_every_property_is_written(name):
    definition = SCHEMA["$defs"][name]
    assert definition["required"] == [f.name for f in fields(CLASSES[name])]
    assert definition["additionalProperties"] is False


@pytest.mark.filterwarnings("ignore")
def test_what_certificates_write_validates():
    rng = np.random.default_rng(0)
    for certificate in (
        *(honest.certificate for honest in honest_certificates(rng, 10.0, 1.0)),
        *(honest.certificate for honest in honest_subsets(rng, 10.0, 0.03)),
        *kernel_certificates(),
        *recall_certificates(),
        *score_certificates(),
    ):
        values = written(certificate)
        VALIDATOR.validate(values)
        name = next(name for name, kind in CLASSES.items() if kind is type(certificate))
        assert set(values) == set(SCHEMA["$defs"][name]["properties"])


def test_values_of_another_kind_do_not_validate():
    X = np.random.default_rng(0).standard_normal((6, 20))
    values = written(rarefy.certify(X, range(12)))
    for change in ({"rank": "3"}, {"rank": True}, {"weights": ["1"]}, {"indices": [0.5]}, {"proved": 1}, {"more": 1}):
        with pytest.raises(ValidationError):
            VALIDATOR.validate(values | change)
    del values["rank"]
    with pytest.raises(ValidationError):
        VALIDATOR.validate(values)
