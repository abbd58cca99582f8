"""Ranking a rare class."""

from rarefy.datasets import make_rare_gaussians
from rarefy.ranking import RankRC


class Ranking:
    params = (["rare", "all"], [400, 1200])
    param_names = ("basis", "n_samples")

    def setup(self, basis, n_samples):
        self.X, self.y = make_rare_gaussians(n_samples, random_state=0)
        self.model = RankRC(alpha=0.01, basis=basis, random_state=0).fit(self.X, self.y)

    def time_fit(self, basis, n_samples):
        self.model.fit(self.X, self.y)

    def time_score_samples(self, basis, n_samples):
        self.model.score_samples(self.X)
