"""Certificates in files, with the preprocessing that leads from a table to the certified matrix."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarefy._files import json_text, write_atomically
from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.certificates._json_values import numbers, optional, plain
from rarefy.core.certificates.verify import Verification
from rarefy.exceptions import CertificateFileError, ParameterError
from rarefy.tables import Table, TableEncoder
from rarefy.workflows.selection import Preprocessing
from rarefy.workflows.stored import StoredTable

_FORMAT = "rarefy certificate 1"
_KINDS: dict[str, type[Certificate] | type[SubsetCertificate]] = {
    "certificate": Certificate,
    "subset_certificate": SubsetCertificate,
}


@dataclass(frozen=True)
class CertificateFile:
    """What a certificate file holds."""

    certificate: Certificate | SubsetCertificate
    preprocessing: Preprocessing
    target: str | None
    sample: int | None = None
    """Number of rows that were drawn from the table; None means all of them."""
    seed: int = 0
    """Of the draw."""


def write_certificate(made: CertificateFile, path: Path, version: str) -> None:
    """Write a certificate file, completely or not at all."""
    kind = next(name for name, cls in _KINDS.items() if isinstance(made.certificate, cls))
    values = {
        "format": _FORMAT,
        "rarefy": version,
        "target": made.target,
        "sample": made.sample,
        "seed": made.seed,
        "kind": kind,
        "preprocessing": {
            "encoder": made.preprocessing.encoder.to_dict(),
            "mean": plain(made.preprocessing.mean),
            "scale": plain(made.preprocessing.scale),
        },
        "certificate": made.certificate.to_dict(),
    }
    write_atomically(path, json_text(values))


def read_certificate(path: Path) -> CertificateFile:
    """Read a certificate file.

    Raises
    ------
    CertificateFileError
        If it cannot be read or is not one.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CertificateFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CertificateFileError(f"{path} is not JSON: {str(error)[:100]}.") from error
    if not isinstance(values, dict) or values.get("format") != _FORMAT or str(values.get("kind")) not in _KINDS:
        raise CertificateFileError(f"{path} is not a certificate file; write one with rarefy select --certificate.")
    try:
        steps = values["preprocessing"]
        mean, scale = (optional(numbers, steps[name], 1) for name in ("mean", "scale"))
        if (mean is None) != (scale is None) or (scale is not None and not np.all(scale > 0.0)):
            raise ValueError("mean and scale belong together, and scales are positive")
        preprocessing = Preprocessing(TableEncoder.from_dict(steps["encoder"]), mean, scale)
        n = len(preprocessing.names)
        if any(values is not None and len(values) != n for values in (mean, scale)):
            raise ValueError(f"mean and scale need {n} numbers, one a column")
        target = values["target"]
        if target is not None and not isinstance(target, str):
            raise ValueError("target must be a name or null")
        sample, seed = values.get("sample"), values.get("seed", 0)
        if not all(type(one) is int and 0 <= one < 2**32 for one in (seed, 2 if sample is None else sample)):
            raise ValueError("sample and seed must be whole numbers")
        certificate = _KINDS[values["kind"]].from_dict(values["certificate"])
    except (ParameterError, KeyError, TypeError, ValueError) as error:
        raise CertificateFileError(f"{path} is not a certificate file: {str(error)[:200]}.") from error
    return CertificateFile(certificate, preprocessing, target, sample, seed)


def verify_table(
    made: CertificateFile, table: Table | StoredTable, target: str | None = None
) -> tuple[Verification, Any]:
    """Check a certificate against a table; also the matrix that it is about."""
    target = target or made.target
    needs_target = isinstance(made.certificate, SubsetCertificate)
    if needs_target and target is None:
        raise ParameterError("this certificate is about a target: name its column with --target.")
    features: Any
    y: Any
    features, y = table.split(target) if target is not None else (table, None)
    X = made.preprocessing(features)
    judged = made.certificate.verify(X, y) if needs_target else made.certificate.verify(X, y=y)
    return judged, X
