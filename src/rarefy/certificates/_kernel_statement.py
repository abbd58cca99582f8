"""A kernel certificate in words: the verdict in one sentence, then one sentence a fact."""

from typing import TYPE_CHECKING

import numpy as np

from rarefy.certificates._verdict import percent

if TYPE_CHECKING:
    from rarefy.certificates._kernel import KernelCertificate


def kernel_shares(c: "KernelCertificate") -> list[tuple[float, str]]:
    """What is certified, with what it is a share of."""
    found = [] if c.objective_ratio is None else [(c.objective_ratio, "objective")]
    # Beside a radius that may have grown: no common factor of the kernel helps.
    if c.margin_floor is not None and c.radius_ratio is not None:
        found.append((c.margin_floor / max(1.0, c.radius_ratio), "margin"))
    return found


def kernel_headline(c: "KernelCertificate") -> str:
    """The verdict in one sentence."""
    found = kernel_shares(c)
    if not found:
        part = f" It holds {percent(c.explained)} of the trace of the whole one." if c.explained is not None else ""
        return (
            "The kept kernel loses a direction of the whole one, or one that is not told from lost: nothing is "
            f"certified for all labels at once.{part}{_advice(c)}"
        )
    share, what = max(found)
    if what == "objective" and c.objective is not None:
        model = "kernel ridge regression" if c.objective.loss == "squared" else "a classifier"
        return (
            f"With the kept kernel {model} reaches at least {percent(share)} of what the whole kernel allows, for "
            "these labels."
        )
    return (
        f"In the worst case the gap between two classes keeps {percent(np.sqrt(share))} of its width in the kernel's "
        "feature space, whatever the labels are."
    )


def kernel_sentences(c: "KernelCertificate") -> list[str]:
    """The statement of a certificate, line by line."""
    lines = [f"{c.verdict.capitalize()}: {c.sentence}", f"Two kernel matrices of {c.n_samples} samples."]
    if c.objective is not None:
        lines.append(_objective_claim(c))
    if c.explained is not None:
        lines.append(
            f"The kept kernel is at most the whole one in the order of quadratic forms. Its trace is {c.explained:.4g} "
            f"of the whole one's; the residual is {max(0.0, 1.0 - c.explained):.4g}."
        )
    if c.rank is None:
        lines.append("No claim about margin, radius or risk for all labels: the matrices were not decomposed.")
        return lines
    low, high = c.eigenvalues
    lines.append(
        f"On the {c.rank} dimensions of the whole kernel matrix the forms of the kept one are between {low:.4g} and "
        f"{'any multiple' if np.isinf(high) else f'{high:.4g}'} of the whole one's."
    )
    return [*lines, *_margin_claims(c), *_radius_claims(c), _risk_claim(c)]


def _advice(c: "KernelCertificate") -> str:
    if c.objective is not None:
        return ""
    return " With labels (certify with y and C) something may be."


def _objective_claim(c: "KernelCertificate") -> str:
    o = c.objective
    assert o is not None
    about = f"{o.loss.replace('_', ' ')} loss, C = {o.C:.4g}"
    if c.objective_ratio is None or c.objective_interval is None:
        return f"No claim about the objective ({about}): the dual point proves nothing."
    low, high = c.objective_interval
    end = f"at least {low:.4g}" if np.isinf(high) else f"between {low:.4g} and {high:.4g}"
    larger = f" The kept kernel has {c.trace_ratio:.4g} times the trace, and a larger kernel is cheaper to use."
    return (
        f"Objective ({about}): with the whole kernel at least {o.lower:.6g}, with the kept one at most {o.upper:.6g}. "
        f"The first optimum is {end} of the second, proved by dual and primal points."
    ) + (larger if c.trace_ratio > 1.0 + 1e-6 else "")


def _margin_claims(c: "KernelCertificate") -> list[str]:
    if c.margin_floor is None:
        return ["No claim about the margin: a direction was lost or is not told from lost, and a margin along it."]
    wide = f", if the margin is wider than {c.resolution:.2g}" if c.resolution else ""
    return [
        f"Margin: a hard-margin kernel SVM keeps at least {c.margin_floor:.4g} of its squared margin{wide}.",
        f"Soft margin: of the objective of a kernel SVM, with any labels and any C, at least "
        f"{c.soft_margin_ratio:.4g} is kept.",
    ]


def _radius_claims(c: "KernelCertificate") -> list[str]:
    if c.radius_ratio is None:
        return ["No claim about the radius: the kept kernel reaches where the whole one is zero within rounding."]
    lines = [f"Radius: the smallest enclosing ball's squared radius is at most {c.radius_ratio:.4g} of itself."]
    if c.radius_margin_ratio is not None:
        lines.append(f"Squared radius over squared margin grows at most by the factor {c.radius_margin_ratio:.4g}.")
    return lines


def _risk_claim(c: "KernelCertificate") -> str:
    found = c.regularised
    if found is not None:
        return (
            f"Kernel ridge with penalty {found.alpha:.4g}: the risk at the samples is at most {found.risk_factor:.4g} "
            f"times what it was, whatever the signal (bias {found.bias_factor:.4g}, variance "
            f"{found.variance_factor:.4g}); effective dimension {found.effective_dimension:.4g} before, "
            f"{found.effective_dimension_kept:.4g} after."
        )
    if c.risk_ratio is None:
        return "No claim about the risk of kernel ridge without a penalty (certify with alpha)."
    return (
        f"Kernel ridge risk, any penalty, worst case over signals and on average: at most {c.risk_ratio:.4g} times "
        "(less with a penalty: certify with alpha)."
    )
