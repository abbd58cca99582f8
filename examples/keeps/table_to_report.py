"""
From a data frame to a report
=============================

A table as people have it: numbers, a category, a target with names. `Table` says what is in it, `TableEncoder` turns
it into numbers, a selector keeps columns with a proof, and `rarefy.report` writes one page for whoever has to believe
it. The command ``rarefy select people.csv --target ill`` does the same from a file.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rarefy
from rarefy.inspection import CertificateDisplay
from rarefy.selection import BestSubsetSelector
from rarefy.tables import Table, TableEncoder

rng = np.random.default_rng(0)
n = 300
frame = pd.DataFrame({f"blood{j}": rng.normal(5, 1, n).round(2) for j in range(1, 31)})
frame["age"] = rng.integers(20, 90, n)
frame["age_months"] = 12 * frame["age"] + rng.integers(0, 12, n)
frame["region"] = rng.choice(["north", "south", "west"], n)
score = (frame["blood3"] - 5) - (frame["blood7"] - 5) + 0.03 * (frame["age"] - 55) + 1.2 * (frame["region"] == "south")
frame["ill"] = np.where(score + rng.normal(0, 0.5, n) > 0, "yes", "no")
print(frame.iloc[:4, [0, 1, 2, 30, 31, 32, 33]].to_string(index=False))

# %%

table, y = Table.from_frame(frame).split("ill")
encoder = TableEncoder()
X = encoder.fit_transform(table)
selector = BestSubsetSelector(4, C=None).fit(X, y)
print(selector.certificate_.sentence)
print("kept:", ", ".join(selector.get_feature_names_out(encoder.get_feature_names_out())))

# %%
# The report is one file that loads nothing: error against all columns, random ones and a filter, what nobody can
# beat, and for each column what is proved, how often it is chosen again, and its nearest twin among those left out.

page = rarefy.report(selector, pd.DataFrame(X, columns=encoder.get_feature_names_out()), y)
print(page)

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
shown = CertificateDisplay.from_estimator(selector, ax=ax)
plt.show()
