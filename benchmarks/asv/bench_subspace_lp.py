"""A kernel classifier trained by linear programming in a subspace."""

from sklearn.datasets import make_classification

from rarefy.kernel import SubspaceLPSVC


class SubspaceLP:
    params = ([2, 5], [20, 60])
    param_names = ("n_classes", "n_components")

    def setup(self, n_classes, n_components):
        self.X, self.y = make_classification(
            1500, 20, n_informative=10, n_classes=n_classes, class_sep=1.5, random_state=0
        )
        self.model = SubspaceLPSVC(
            n_components=n_components, n_landmarks=150, gamma="mean_distance", random_state=0
        ).fit(self.X, self.y)

    def time_fit(self, n_classes, n_components):
        self.model.fit(self.X, self.y)

    def time_predict(self, n_classes, n_components):
        self.model.predict(self.X)
