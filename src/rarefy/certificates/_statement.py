"""A certificate in words: one sentence a fact, and the reason wherever nothing is claimed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate


def sentences(c: "Certificate") -> list[str]:
    """The statement of a certificate, line by line."""
    kept = len(c.indices)
    lines = [f"{kept} of {c.n_features} features kept."]
    if c.method == "all" and kept < c.n_requested:
        lines[0] += f" {c.n_requested} were asked for; these are all that are not zero."
    elif kept < c.n_requested:
        lines[0] += f" {c.n_requested} were asked for."
    lines.append(_about_the_space(c))
    if c.ambiguous and c.rank < c.numerical_rank:
        lines.append("The cut passes through equal singular values: these dimensions are one choice among several.")
    low, high = c.eigenvalues
    spread = f"Eigenvalues of V'RR'V measured between {low:.4g} and {high:.4g}; distortion ||E|| = {c.distortion:.4g}."
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
    lines += [f"Measured: {name.replace('_', ' ')} {value:.6g}." for name, value in c.measured.items()]
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
            f"About {about}: V spans the {c.rank} leading of {c.numerical_rank} dimensions, "
            f"{100 * c.energy_kept:.2f} % of the squared norm; {100 * (1 - c.energy_kept):.2f} % is left out."
        )
    whole = f"all {c.rank} dimensions" if c.rank > 1 else "the one dimension"
    zero = f" Singular values up to {c.resolution:.2g}, rounding beside the largest, count as zero."
    return f"About {about}: V spans {whole} of the row space." + (zero if c.resolution else "")


def _claims(c: "Certificate") -> list[str]:
    if c.sketch is not None:
        return ["No claim about margin, radius or risk: a sketch is evidence, not proof."]
    if c.rank < c.numerical_rank:
        return ["No claim about margin, radius or risk: they depend on the dimensions left out."]
    if c.unseen:
        return [
            f"No claim about margin, radius or risk: {c.unseen} columns are not zero, but so short beside the longest "
            "that they are lost in its rounding. Bring the columns to comparable sizes."
        ]
    return [*_margin_claims(c), *_radius_claims(c), _risk_claim(c)]


def _margin_claims(c: "Certificate") -> list[str]:
    lines = []
    if c.margin_floor is None:
        lines.append("No claim about the margin: a direction of the row space was lost, and a margin along it with it.")
    else:
        lines.append(
            f"Margin: a hard-margin linear SVM keeps at least {c.margin_floor:.4g} of its squared margin "
            "(distance of convex hulls)."
        )
    if c.margin_ratio is None:
        lines.append(
            f"The published margin bound (margin_ratio) says nothing: it needs ||E|| < 1/2, here {c.distortion:.4g}."
        )
    else:
        lines.append(f"Published margin bound (margin_ratio): at least {c.margin_ratio:.4g} of the squared margin.")
    if c.distortion < 1.0:
        factor = c.distortion / (2.0 * (1.0 - c.distortion))
        lines.append(
            f"Soft margin, any C: the dual optimum grows by at most {factor:.4g} times the new squared norm ||w~||^2."
        )
    return lines


def _radius_claims(c: "Certificate") -> list[str]:
    lines = []
    if c.radius_margin_ratio is not None:
        lines.append(
            f"Squared radius over squared margin grows at most by the factor {c.radius_margin_ratio:.4g}, "
            "whatever common factor the columns are multiplied by."
        )
    if c.radius_ratio is not None:
        lines.append(
            f"Radius: the smallest enclosing ball's squared radius grows at most by the factor {c.radius_ratio:.4g}."
        )
    return lines


def _risk_claim(c: "Certificate") -> str:
    if c.risk_ratio is None:
        return f"No claim about ridge risk: it needs ||E|| < 1, here {c.distortion:.4g}."
    return (
        f"Ridge risk, worst case over signals and on average: at most {c.risk_ratio:.4g} times; "
        f"for one fixed signal at most {c.fixed_signal_risk_ratio():.4g} times "
        "(less with a penalty: fixed_signal_risk_ratio)."
    )
