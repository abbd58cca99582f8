"""rarefy keeps few features and certifies what they preserve.

Sub-packages and public names are loaded when they are first used, so that `import rarefy` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarefy.config import config_context, get_config, set_config

if TYPE_CHECKING:
    from rarefy import (
        blocks,
        certificates,
        config,
        datasets,
        exceptions,
        inspection,
        kernel,
        metrics,
        ranking,
        selection,
    )
    from rarefy.certificates import (
        Certificate,
        KernelCertificate,
        RidgeCurve,
        SubsetCertificate,
        certified_signs,
        certify,
        certify_kernels,
        hard_margin2,
        minimum_enclosing_ball,
        prediction_difference_bound,
        ridge_curve,
        ridge_risk,
    )
    from rarefy.pages.own import Report, report
    from rarefy.selection import BestSubsetCurve, StabilityReport, best_subset_curve, selection_stability

__version__ = "0.1.0"

_SUBPACKAGES = (
    "blocks",
    "certificates",
    "config",
    "datasets",
    "exceptions",
    "inspection",
    "kernel",
    "metrics",
    "ranking",
    "selection",
    "tables",
)
_HOME = {
    "BestSubsetCurve": "selection",
    "Certificate": "certificates",
    "KernelCertificate": "certificates",
    "Report": "pages.own",
    "RidgeCurve": "certificates",
    "StabilityReport": "selection",
    "SubsetCertificate": "certificates",
    "best_subset_curve": "selection",
    "certified_signs": "certificates",
    "certify": "certificates",
    "certify_kernels": "certificates",
    "hard_margin2": "certificates",
    "minimum_enclosing_ball": "certificates",
    "prediction_difference_bound": "certificates",
    "report": "pages.own",
    "ridge_curve": "certificates",
    "ridge_risk": "certificates",
    "selection_stability": "selection",
}

__all__ = [
    "BestSubsetCurve",
    "Certificate",
    "KernelCertificate",
    "Report",
    "RidgeCurve",
    "StabilityReport",
    "SubsetCertificate",
    "best_subset_curve",
    "blocks",
    "certificates",
    "certified_signs",
    "certify",
    "certify_kernels",
    "config",
    "config_context",
    "datasets",
    "exceptions",
    "get_config",
    "hard_margin2",
    "inspection",
    "kernel",
    "metrics",
    "minimum_enclosing_ball",
    "prediction_difference_bound",
    "ranking",
    "report",
    "ridge_curve",
    "ridge_risk",
    "selection",
    "selection_stability",
    "set_config",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"rarefy.{name}")
    if name in _HOME:
        return getattr(import_module(f"rarefy.{_HOME[name]}"), name)
    raise AttributeError(f"module 'rarefy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
