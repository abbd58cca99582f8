"""
Which wavelengths of a spectrum?
================================

60 generated spectra of mixtures of five substances, at 400 wavelengths. Neighbouring wavelengths say nearly the same,
so a few of them hold nearly everything. Without labels, three selectors choose them: pivoted QR takes the wavelength
that those before explain least, leverage scores prefer wavelengths that few others can replace, and a random choice
is what both have to beat.
"""

import matplotlib.pyplot as plt
import numpy as np

import rarefy
from rarefy.selection import LeverageScoreSelector, RandomSelector, RRQRSelector

rng = np.random.default_rng(0)
wavelengths = np.linspace(400, 800, 400)
peaks = np.exp(-0.5 * ((wavelengths - rng.uniform(430, 770, (5, 1))) / rng.uniform(8, 40, (5, 1))) ** 2)
X = rng.dirichlet(np.ones(5), 60) @ peaks + 0.01 * rng.standard_normal((60, 400))
X -= X.mean(axis=0)

# %%
# How much of the squared norm of all 400 wavelengths the kept ones explain, in percent. ``sampling="adaptive"``
# brings the leverage scores up to date after every choice and is not random; it comes with a bound on what is left.

SIZES = (2, 3, 4, 6, 8)
chosen = {
    "pivoted QR": lambda r: RRQRSelector(r),
    "leverage, adaptive": lambda r: LeverageScoreSelector(r, rank=r, sampling="adaptive"),
    "random": lambda r: RandomSelector(r, random_state=0),
}
explained = {name: [] for name in chosen}
print("wavelengths kept    " + "".join(f"{r:7d}" for r in SIZES))
for name, make in chosen.items():
    for r in SIZES:
        certificate = rarefy.certify(X, make(r).fit(X).get_support())
        explained[name].append(100 * certificate.explained)
    print(f"{name:20s}" + "".join(f"{share:6.1f}%" for share in explained[name]))

# %%

selector = LeverageScoreSelector(4, rank=4, sampling="adaptive").fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.plot(wavelengths, X[:12].T, color="#3d6fa3", linewidth=0.7, alpha=0.7)
for number in RRQRSelector(4).fit(X).get_support(indices=True):
    left.axvline(wavelengths[number], color="#c8553d", linestyle="--")
for number in selector.get_support(indices=True):
    left.axvline(wavelengths[number], color="#3a7d44")
left.set(xlabel="wavelength (nm)", title="four by QR (dashed), four by leverage")
for name, shares in explained.items():
    right.plot(SIZES, shares, "o-", label=name)
right.set(xlabel="wavelengths kept", ylabel="explained (%)", xticks=SIZES)
right.legend(frameon=False)
plt.show()
