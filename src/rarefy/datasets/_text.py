"""Text-like data with known answers."""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, NOT_NEGATIVE, Number

_SAILING = """
anchor boat bow buoy cabin captain cargo compass crew deck dinghy ferry harbour helm hull jetty keel knots lighthouse
marina mast mooring navy port regatta rigging rudder sail sailor ship shore skipper starboard stern submarine tide
tiller voyage wharf yacht
"""
_OPERA = """
alto aria audience ballet baritone baton cadenza cantata cello chamber choir chorus clef composer concert conductor
contralto duet encore finale harmony libretto maestro melody mezzo oboe octave orchestra overture piano premiere quartet
recital rehearsal score singer soprano stage symphony tenor
"""
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl qu r s sh st t tr v w z"
_VOWELS = "a e i o u ea ou"


@checked_arguments(
    {
        "n_samples": [COUNT],
        "n_features": [Number(Integral, 1000, 2**31, closed="both")],
        "lift": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }
)
def make_topics(
    n_samples: int = 200, n_features: int = 20_000, *, lift: float = 4.0, random_state: Any = None
) -> Bunch:
    """Generate word counts of documents about sailing and about opera.

    Word frequencies follow Zipf's law. Forty words of each topic, of middling frequency, are `lift` times as frequent
    in documents about their topic as in the others; all other words are invented and equally frequent in both.

    Parameters
    ----------
    n_samples : int, default=200
        Number of documents.
    n_features : int, default=20000
        Number of words, at least 1000.
    lift : float, default=4.0
        How many times as frequent a topic's words are in its own documents.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : Bunch
        `data` (CSR counts), `target` ("opera" or "sailing"), `feature_names`, and `relevant`, the mask of topic words.

    See Also
    --------
    make_relevant : Dense data with known relevant features.

    Examples
    --------
    >>> from rarefy.datasets import make_topics
    >>> topics = make_topics(50, 2000, random_state=0)
    >>> topics.data.shape, int(topics.relevant.sum())
    ((50, 2000), 80)
    """
    rng = check_random_state(random_state)
    sailing, opera = _SAILING.split(), _OPERA.split()
    ranks = rng.choice(np.arange(60, 900), size=len(sailing) + len(opera), replace=False)
    frequency = 1.0 / (np.arange(n_features) + 8.0)
    names = _invented_words(n_features, rng)
    names[ranks] = sailing + opera
    topic_of = np.zeros(n_features, dtype=int)
    topic_of[ranks[: len(sailing)]] = 1
    topic_of[ranks[len(sailing) :]] = 2

    target = rng.permutation(np.arange(n_samples) % 2)
    lengths = np.maximum(30, rng.lognormal(5.6, 0.5, n_samples)).astype(int)
    documents, tokens = [], []
    for topic in (0, 1):
        p = np.where(topic_of == 2 - topic, frequency * lift, frequency)
        members = np.flatnonzero(target == topic)
        documents.append(np.repeat(members, lengths[members]))
        tokens.append(rng.choice(n_features, size=lengths[members].sum(), p=p / p.sum()))
    # Many solvers behind scikit-learn take 32-bit indices only.
    where = (np.concatenate(documents).astype(np.int32), np.concatenate(tokens).astype(np.int32))
    counts = sp.coo_array((np.ones(lengths.sum()), where), shape=(n_samples, n_features))
    order = rng.permutation(n_features).astype(np.int32)  # the position of a word must not depend on its frequency
    return Bunch(
        data=counts.tocsr()[:, order],
        target=np.array(["opera", "sailing"])[target],
        feature_names=names[order],
        relevant=(topic_of > 0)[order],
    )


def _invented_words(count: int, rng: np.random.RandomState) -> NDArray[np.object_]:
    """Distinct pronounceable words that none of the topics uses."""
    words: set[str] = set()
    taken = set(_SAILING.split() + _OPERA.split())
    while len(words) < count:
        onsets = rng.choice(_ONSETS.split(), size=(count, 3))
        vowels = rng.choice(_VOWELS.split(), size=(count, 3))
        words.update("".join(o + v for o, v in zip(a, b, strict=True)) for a, b in zip(onsets, vowels, strict=True))
        words -= taken
    return rng.permutation(np.array(sorted(words), dtype=object))[:count]
