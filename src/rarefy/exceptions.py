"""Errors and warnings of rarefy.

Every error is also one of Python's own, so `except ValueError` keeps working::

    Exception
    └── RarefyError
        ├── ParameterError (ValueError)         a constructor or function argument is out of range
        ├── DegenerateDataError (ValueError)    the data leave nothing to select from
        ├── TableError (ValueError)             a file or frame cannot be read or encoded as a table
        ├── MissingDataError (FileNotFoundError) a data set is not there, or another version of it
        ├── MissingExtraError (ImportError)     an optional dependency is not installed
        ├── BlockError (ValueError)             blocks on disk are missing, damaged or changed
        ├── ClusterError (RuntimeError)         the workers or the scheduler of a cluster are lost
        ├── MemoryBudgetError (MemoryError)     a step needs more memory than `memory_budget` allows
        ├── ModelFileError (ValueError)         a file holds no model of ours
        └── CertificateFileError (ValueError)   a file holds no certificate
    UserWarning
    └── RarefyWarning
        ├── TruncatedRankWarning                fewer dimensions are preserved than the data have
        ├── DegenerateKernelWarning             a kernel matrix is numerically constant or the identity
        └── FewerFeaturesWarning                fewer features are kept than were asked for
"""

__all__ = [
    "BlockError",
    "CertificateFileError",
    "ClusterError",
    "DegenerateDataError",
    "DegenerateKernelWarning",
    "FewerFeaturesWarning",
    "MemoryBudgetError",
    "MissingDataError",
    "MissingExtraError",
    "ModelFileError",
    "ParameterError",
    "RarefyError",
    "RarefyWarning",
    "TableError",
    "TruncatedRankWarning",
]


class RarefyError(Exception):
    """Base of all errors raised by rarefy itself."""


class ParameterError(RarefyError, ValueError):
    """An argument is out of its range."""


class DegenerateDataError(RarefyError, ValueError):
    """The data leave nothing to select from."""


class TableError(RarefyError, ValueError):
    """A file or a data frame cannot be read or encoded as a table."""


class MissingDataError(RarefyError, FileNotFoundError):
    """A data set is not there, or another version of it."""


class MissingExtraError(RarefyError, ImportError):
    """An optional dependency is not installed."""


class BlockError(RarefyError, ValueError):
    """Blocks on disk, or what gives blocks, are missing, damaged or changed."""


class ClusterError(RarefyError, RuntimeError):
    """The workers or the scheduler of a cluster are lost."""


class MemoryBudgetError(RarefyError, MemoryError):
    """A step needs more memory than the setting `memory_budget` allows, or than the system gives."""


class ModelFileError(RarefyError, ValueError):
    """A file holds no model of ours."""


class CertificateFileError(RarefyError, ValueError):
    """A file holds no certificate."""


class RarefyWarning(UserWarning):
    """Base of all warnings issued by rarefy itself."""


class TruncatedRankWarning(RarefyWarning):
    """Fewer dimensions are preserved than the data have."""


class DegenerateKernelWarning(RarefyWarning):
    """A kernel matrix is numerically constant or the identity: it says nothing about which samples are alike."""


class FewerFeaturesWarning(RarefyWarning):
    """Fewer features are kept than were asked for."""
