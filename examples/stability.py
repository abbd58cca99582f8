"""Would the same words be chosen from slightly different documents?

Selectors choose words on thirty resamples of 80 documents with 2000 words. The stability index is 1 when all
resamples give the same words and 0 on average when words are drawn at random, however many are drawn. Observed:
pivoted QR (0.82) and spectral sparsification (0.74) keep most of their words, information gain (0.63) fewer though it
names topic words, leverage scores (0.13) draw new ones each time, and random words come out at 0, as they must.
"""

import rarefy
from rarefy.datasets import make_topics
from rarefy.selection import (
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    RandomSelector,
    RRQRSelector,
)


def main():
    topics = make_topics(80, 2000, random_state=0)
    selectors = {
        "BSS, 60 % of the norm": BSSSelector(100, rank=0.6),
        "leverage scores": LeverageScoreSelector(100),
        "pivoted QR": RRQRSelector(60),
        "information gain": InformationGainSelector(100),
        "random": RandomSelector(100),
    }
    print(f"{'selector':24s} stability  95 % interval    most often chosen")
    for name, selector in selectors.items():
        report = rarefy.selection_stability(selector, topics.data, topics.target, n_splits=30, random_state=0)
        low, high = report.confidence_interval
        words = ", ".join(str(topics.feature_names[i]) for i, _ in report.top(3))
        print(f"{name:24s} {report.stability:9.3f}  {low:6.3f} to {high:5.3f}   {words}")


if __name__ == "__main__":
    main()
