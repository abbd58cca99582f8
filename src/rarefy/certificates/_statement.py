"""A certificate in words: one sentence a fact, and the reason wherever nothing is claimed."""

from typing import TYPE_CHECKING

import numpy as np

from rarefy.certificates._verdict import percent

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate


def sentences(c: "Certificate") -> list[str]:
    """The statement of a certificate, line by line."""
    lines = [f"{c.verdict.capitalize()}: {c.sentence}", _how_many(c)]
    lines += _objective_claims(c)
    lines.append(_about_the_space(c))
    if c.ambiguous and c.rank < c.numerical_rank:
        lines.append("The cut passes through equal singular values: these dimensions are one choice among several.")
    low, high = c.eigenvalues
    surely = "proved, rounding included, to lie" if c.proved else "measured"
    spread = f"Eigenvalues of V'RR'V {surely} between {low:.4g} and {high:.4g}; distortion ||E|| = {c.distortion:.4g}."
    if c.distortion_bound is not None:
        chance = "" if c.failure_probability is None else f" with probability {1 - c.failure_probability:g}"
        of_what = "" if c.sketch is None else " (of the sketch)"
        spread += f" Known beforehand{of_what}: at most {c.distortion_bound:.4g}{chance}."
    lines.append(spread)
    if c.residual_ratio is not None:
        of_what = "What" if c.sketch is None else "What of the sketch"
        proved = "at most 1 is proved" + ("" if c.sketch is None else "; of the data themselves nothing is")
        lines.append(
            f"{of_what} lies outside that subspace is not amplified: its squared norm after selection is "
            f"{c.residual_ratio:.4g} of what it was ({proved})."
        )
    lines += _claims(c)
    if c.explained is not None:
        best = "" if c.explainable is None else f"; any {len(c.indices)} dimensions at most {c.explainable:.4g}"
        lines.append(f"The kept columns explain {c.explained:.4g} of the squared norm of the data{best}.")
        if c.method == "adaptive" and c.residual_factor is not None and c.rank == len(c.indices):
            lines[-1] += f" They leave {c.residual_factor:.4g} times the least; at most {c.rank + 1} is proved."
    return lines + [_measured(name, value) for name, value in c.measured.items()]


def _measured(name: str, value: float) -> str:
    if name == "mean_share":
        return (
            f"The mean of the rows carries {100 * value:.0f} % of the squared norm and hides what distinguishes them: "
            "centre the columns first, if the model has an intercept."
        )
    return f"Measured: {name.replace('_', ' ')} {value:.6g}."


def _how_many(c: "Certificate") -> str:
    kept = len(c.indices)
    line = f"{kept} of {c.n_features} features kept."
    if c.method == "all" and kept < c.n_requested:
        return f"{line} {c.n_requested} were asked for; these are all that are not zero."
    return line if kept >= c.n_requested else f"{line} {c.n_requested} were asked for."


def _objective_claims(c: "Certificate") -> list[str]:
    lines = []
    if c.objective is not None:
        o = c.objective
        about = f"{o.loss.replace('_', ' ')} loss, C = {o.C:.4g}"
        lines.append(
            f"Objective ({about}): with all columns at least {o.lower:.6g}, with the kept ones at most {o.upper:.6g}: "
            f"a share of {c.objective_ratio:.4g}, proved by a dual and a primal point."
            if c.objective_ratio is not None
            else f"No claim about the objective ({about}): the dual point proves nothing."
        )
        if np.any(c.weights > 1.0):
            lines[-1] += " Weights above 1 count as 1 there."
    if c.optimal is not None and c.optimality is not None and c.optimality_ceiling is not None:
        lines.append(
            f"These {len(c.indices)} columns are at least {percent(c.optimality)} and at most "
            f"{percent(c.optimality_ceiling, up=True)} as good as the best {len(c.indices)} there are: no choice is "
            f"below {c.optimal.lower:.6g}, and other columns reach {c.optimal.best_upper:.6g} (`optimal.best`)."
        )
    if c.all_rows_ratio is not None:
        lines.append(
            f"All rows: the rows beyond these do not matter to the model in the kept columns (a dual and a primal "
            f"point prove it), so that at least {c.all_rows_ratio:.4g} of its objective is kept for all of them."
        )
    return lines


def _about_the_space(c: "Certificate") -> str:
    about = "the data" if c.rows is None else f"the {len(c.rows)} support vectors (not about the other rows)"
    if c.sketch is not None:
        return (
            f"Estimated from a Gaussian sketch of {c.sketch.size} rows of {about}: "
            f"V spans the {c.rank} leading dimensions of the sketch."
        )
    if c.rank < c.numerical_rank:
        return (
            f"About {about}: V spans the {c.rank} leading{f' of {c.numerical_rank}' if c.complete else ''} dimensions, "
            f"{100 * c.energy_kept:.2f} % of the squared norm; {100 * (1 - c.energy_kept):.2f} % is left out."
        )
    whole = f"all {c.rank} dimensions" if c.rank > 1 else "the one dimension"
    zero = f" Singular values up to {c.resolution:.2g}, rounding beside the largest, count as zero."
    return f"About {about}: V spans {whole} of the row space." + (zero if c.resolution else "")


def _claims(c: "Certificate") -> list[str]:
    ridge = _regularised_claims(c)
    if c.sketch is not None:
        return [*ridge, "No claim about margin, radius or risk: a sketch is evidence, not proof."]
    if c.rank < c.numerical_rank:
        return [*ridge, "No claim about margin, radius or risk of all labels: they depend on the dimensions left out."]
    if c.unseen:
        return [
            *ridge,
            f"No claim about margin, radius or risk: {c.unseen} columns are not zero, but so short beside the longest "
            "that they are lost in its rounding. Bring the columns to comparable sizes.",
        ]
    return [*_margin_claims(c), *_radius_claims(c), *(ridge or [_risk_claim(c)])]


def _margin_claims(c: "Certificate") -> list[str]:
    if c.margin_floor is None:
        return [_no_margin(c)]
    lines = [
        f"Margin: a hard-margin linear SVM keeps at least {c.margin_floor:.4g} of its squared margin "
        "(distance of convex hulls)" + (f", if the margin is wider than {c.resolution:.2g}." if c.resolution else "."),
        f"Soft margin: of the objective of a linear SVM, with any labels and any C, at least "
        f"{c.soft_margin_ratio:.4g} is kept.",
    ]
    if c.margin_ratio is None:
        lines.append(
            f"The published margin bound (margin_ratio) says nothing: it needs ||E|| < 1/2, here {c.distortion:.4g}."
        )
    else:
        lines.append(f"Published margin bound (margin_ratio): at least {c.margin_ratio:.4g} of the squared margin.")
    return lines


def _no_margin(c: "Certificate") -> str:
    if not c.lost:
        return "No claim about the margin: what was measured is less than what would follow; rounding hides it."
    top, bottom = c.singular_values
    if len(c.indices) >= c.rank and bottom < 1e-8 * top:
        return (
            f"No claim about the margin: the data are so ill-conditioned ({top / bottom:.1g}) that a direction which "
            "is kept is not told from one that is lost. Bring columns to comparable sizes, or drop nearly equal rows."
        )
    return "No claim about the margin: a direction of the row space was lost, and a margin along it with it."


def _radius_claims(c: "Certificate") -> list[str]:
    lines = []
    if c.radius_margin_ratio is not None:
        lines.append(
            f"Squared radius over squared margin grows at most by the factor {c.radius_margin_ratio:.4g}, "
            "whatever common factor the columns are multiplied by."
        )
    if c.radius_ratio is not None:
        lines.append(f"Radius: the smallest enclosing ball's squared radius is at most {c.radius_ratio:.4g} of itself.")
    return lines


def _risk_claim(c: "Certificate") -> str:
    if c.risk_ratio is None:
        return "No claim about ridge risk without a penalty: a direction of the row space was lost."
    one = c.fixed_signal_risk_ratio()
    alone = "" if one is None else f"; for one fixed signal at most {one:.4g} times"
    return (
        f"Ridge risk, any penalty, worst case over signals and on average: at most {c.risk_ratio:.4g} times{alone} "
        "(less with a penalty: certify with alpha)."
    )


def _regularised_claims(c: "Certificate") -> list[str]:
    found = c.regularised
    if found is None:
        return []
    return [
        f"Ridge with penalty {found.alpha:.4g}: the risk at the samples is at most {found.risk_factor:.4g} times what "
        f"it was, whatever the signal (bias {found.bias_factor:.4g}, variance {found.variance_factor:.4g}). The "
        f"penalised kernel matrix keeps between {found.lo:.4g} and {found.hi:.4g} of itself; effective dimension "
        f"{found.effective_dimension:.4g} before, {found.effective_dimension_kept:.4g} after."
    ]
