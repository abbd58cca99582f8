"""What is known of changes to core that no test notices, and where nothing is changed at all."""

_ROUNDING = "how large rounding may be: twice as much, or half, is as true"
_TIE = "differs where two numbers are exactly equal, and then as well"
_SPEED = "speed only"
REASONS = {
    ("certificates/pencil.py", "1e+60 to 2e+60", "size = "): "scaling by a power of two changes nothing but rounding",
    ("certificates/pencil.py", "0 to 1", "p = rounding("): _ROUNDING,
    ("certificates/pencil.py", "Mult to Div in q[-1] * (1.0 + p)", "hi = "): _ROUNDING,
    ("certificates/regularised.py", "LtE to Lt in _falling_variance", "return found.bias_bound"): _TIE,
    ("certificates/proof.py", "0.0 to 1.0", "power = "): "scales a row of zeros",
    ("certificates/witness.py", "2.0 to 3.0", "slope = "): _ROUNDING,
    ("certificates/regularised.py", "2.0 to 3.0", "lost, added, rank"): _ROUNDING,
    ("certificates/verify.py", "without ncv=ell", "lam = np.sort"): _SPEED,
    (
        "losses/hinge.py",
        "always True in HingeSums",
        "return HingeSums",
    ): "of two equal sums the quicker one: speed only",
    ("losses/hinge.py", "LtE to Lt in len(a)", "return HingeSums"): "of two equal sums the quicker one: speed only",
    ("losses/hinge.py", "always False in w if k == 0", "np.cumsum"): "powers of zero are one: speed only",
    ("losses/lists.py", "max to min", "self._rounding"): _ROUNDING,
    ("losses/margins.py", "40.0 to 41.0", "low, high = low - 40.0"): "a root is looked for in a wider interval",
    ("losses/roots.py", "Lt to LtE in low < newton < high", "x, before"): _TIE,
    ("sparsify/adaptive.py", "max to min", "Q = Q"): _ROUNDING,
    ("sparsify/candidates.py", "Gt to GtE in low > 0.0", "rows = "): _TIE,
    ("sparsify/candidates.py", "GtE to Gt in best.slack >= 0.0", "better ="): _TIE,
    (
        "sparsify/pivoted_qr.py",
        "min to max",
        "if past_rank",
    ): "looks once more where nothing is left to add: speed only",
    ("sparsify/reweight.py", "2 to 3", "best, done, step = tried"): _SPEED,
    ("solvers/box_lp.py", "Gt to GtE in slopes > 0.0", "reach ="): "differs where a slope is 0 and its bound infinite",
    ("solvers/box_lp.py", "1.0 to 2.0", "margin = "): "where iterations begin: speed only",
    ("solvers/box_lp.py", "None for p.has_lower", "x = np.where"): "where iterations begin: speed only",
    ("solvers/interior_point.py", "Mult to Div in p.A.shape[0]", "worth = "): _SPEED,
    ("losses/logistic.py", "1.0 to 2.0", "terms = "): "in place of a divisor whose quotient nobody reads",
    ("solvers/interior_point.py", "min to max", "if min(self.lengths(centring))"): _SPEED,
    (
        "solvers/interior_point.py",
        "1.0 to 2.0",
        "return np.where(p.has_lower",
    ): "in place of a distance that nobody reads",
}
"""Why mutants survive that did, by file, change and how the line begins; they count as survivors all the same."""

SEARCHES = {
    ("solvers/near_lp.py", None): "a shorter way: what it finds counts only by the gap of the whole program (`box_lp`)",
    ("solvers/central_path.py", None): "the same: where the shorter way begins",
    ("sparsify/most_even.py", "affordable"): "estimates a time",
    ("sparsify/bss.py", "_epoch_length"): "estimates a time: results are the same for every length",
    ("solvers/interior_point.py", "_lengthened"): "whether longer steps are looked for: any step inside is one",
    ("solvers/box_lp.py", "_tiresome"): "how long to wait for progress",
}
"""Files and functions that decide how long something takes and not what is found, where nothing is changed."""
