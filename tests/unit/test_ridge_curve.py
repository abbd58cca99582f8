import numpy as np
import pytest

import rarefy
from rarefy.exceptions import ParameterError


def data():
    return np.random.default_rng(0).standard_normal((20, 60)) * np.logspace(0, -2, 60)


def test_every_point_is_what_certify_says_at_that_penalty():
    X, kept = data(), np.arange(30)
    curve = rarefy.ridge_curve(X, kept, alphas=[10.0, 0.1])
    assert curve.alphas.tolist() == [0.1, 10.0]
    for alpha, point in zip(curve.alphas, curve.points, strict=True):
        assert point.risk_factor == pytest.approx(rarefy.certify(X, kept, alpha=alpha).risk_ratio)
    frame = curve.to_frame()
    assert frame["risk_factor"].tolist() == [point.risk_factor for point in curve.points]


def test_from_which_penalty_on_little_is_lost():
    X = data()
    curve = rarefy.ridge_curve(X, np.arange(40))
    assert len(curve.alphas) == 33
    enough = curve.alpha_for(1.1)
    for factor in (1.0, 3.0, 100.0):
        assert rarefy.certify(X, np.arange(40), alpha=factor * enough).risk_ratio <= 1.1 * (1 + 1e-9)
    assert curve.alpha_for(2.0) <= enough
    with pytest.raises(ParameterError, match="above 1"):
        curve.alpha_for(1.0)


@pytest.mark.parametrize("alphas", [[0.0], [], [-1.0], [np.nan], [[1.0]]])
def test_penalties_are_positive(alphas):
    with pytest.raises(ParameterError, match="alphas of ridge_curve"):
        rarefy.ridge_curve(data(), [0, 1], alphas=alphas)


def test_pictures():
    curve = rarefy.ridge_curve(data(), np.arange(50))
    ax = curve.plot()
    assert ax.get_xlabel() == "penalty alpha"
    assert curve.plot(ax) is ax
    y = np.arange(20) % 2
    for kept in (np.arange(50), np.arange(3)):
        ax = rarefy.certify(data(), kept, y=y, C=1.0).plot()
        assert f"{len(kept)} of 60 columns" in ax.get_xlabel()
    assert "nothing" in rarefy.certify(data(), [0], sketch_size=5, random_state=0).plot().texts[-1].get_text()
