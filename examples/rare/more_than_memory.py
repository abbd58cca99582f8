"""
====================================
A rare class in more than memory has
====================================

Payments come day by day, and all of them together would not fit into memory. They are written once, as a folder of
blocks (:class:`~rarefy.blocks.BlockFolder`), which estimators take in the place of an array. How large a block is,
whether they are a Zarr array (:class:`~rarefy.blocks.BlockZarr`), whether a function gives the blocks
(:class:`~rarefy.blocks.BlockIterator`), and whether the workers of a cluster hold them
(:class:`~rarefy.blocks.DaskData`) changes nothing of the ranking.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import rarefy
from rarefy import blocks
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector


def days():
    """Twenty days of payments; one in fifty is a fraud."""
    for day in range(20):
        rng = np.random.default_rng(day)
        fraud = rng.random(300) < 0.02
        X = rng.standard_normal((300, 12)) * np.linspace(2.0, 0.5, 12)
        X[:, :3] += 3.5 * fraud[:, None] * rng.choice([-1.0, 1.0], (300, 1))
        yield X, fraud


# %%
# Nothing is read before it is needed, and never more at a time than `memory_budget` allows: kernel values that do not
# fit are computed again for every product.
place = TemporaryDirectory()
folder = blocks.from_arrays(Path(place.name) / "payments", days(), block_rows=1000)
print(folder.n_blocks, "blocks")
with rarefy.config_context(memory_budget="1MB"):
    model = RankRC(random_state=0).fit(folder, folder.target)
print(model.storage_)

# %%
# The same from a function, which is called again for every pass, and on the workers of a cluster. `LocalCluster` is one
# in this process; the address of a scheduler makes it a real one.
given = blocks.from_iterator(days)
from_function = RankRC(random_state=0).fit(given, given.target)
cluster = LocalCluster(n_workers=2, processes=False, dashboard_address=":0")
with cluster, Client(cluster):
    held = folder.on_workers()
    on_cluster = RankRC(random_state=0).fit(held, held.target)
    print(on_cluster.storage_)

# %%
# Rankings agree up to the rounding of kernel values, which are in single precision where they are computed again.
# Columns that a selector keeps are blocks again (:class:`~rarefy.blocks.BlockColumns`); here it leaves out the two
# shortest, which say nothing about fraud.
kept = BSSSelector(10, rank=8).fit(folder).transform(folder)
fewer = RankRC(random_state=0).fit(kept, kept.target)
scores = {
    "from disk": model.score_samples(folder),
    "from a function": from_function.score_samples(folder),
    "on a cluster": on_cluster.score_samples(folder),
    "ten columns": fewer.score_samples(kept),
}
for name, found in scores.items():
    print(f"{name}: correlation {np.corrcoef(found, scores['from disk'])[0, 1]:.6f}")

fig, ax = plt.subplots(figsize=(6, 4))
rare, looked = folder.target, np.arange(1, 601)
for (name, found), style in zip(scores.items(), ("-", "--", ":", "-"), strict=True):
    caught = np.cumsum(rare[np.argsort(-found)])[:600] / rare.sum()
    ax.plot(looked, caught, style, label=name, linewidth=1 if name == "ten columns" else 2)
ax.set(xlabel="payments looked at, of 6000", ylabel="share of the frauds found", ylim=(0, 1))
ax.legend()
place.cleanup()
