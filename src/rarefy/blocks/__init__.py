"""Data larger than memory: folders of blocks of rows, which estimators take in the place of an array."""

from rarefy.backends.dask_data import DaskData
from rarefy.blocks._arrays import from_arrays
from rarefy.blocks._data import BlockColumns
from rarefy.blocks._folder import BlockFolder, open
from rarefy.blocks._iterator import BlockIterator, from_iterator
from rarefy.blocks._tables import from_csv, from_parquet
from rarefy.blocks._zarr import BlockZarr

__all__ = [
    "BlockColumns",
    "BlockFolder",
    "BlockIterator",
    "BlockZarr",
    "DaskData",
    "from_arrays",
    "from_csv",
    "from_iterator",
    "from_parquet",
    "open",
]
