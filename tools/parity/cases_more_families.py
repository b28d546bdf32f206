"""Whole models of the families in family_models.py: logits, loss, attention weights, gradients."""

from functools import partial

from case_file import Case, CaseFile
from cases_families import REASON, Sizes, build_model
from family_models import FAMILIES


def build(file: CaseFile) -> None:
    for what, heads, configure in FAMILIES:

        def make(dtype_name: str, attempt: int, stirred: bool = False) -> Case:
            case = Case("family", what, dtype_name, f"models of more families, {dtype_name}", file.source,
                        reason=REASON, attempt=attempt)
            sizes = Sizes(case, **heads)
            if "quarter" in what or "half" in what:
                sizes.head_width = 8 * -(-sizes.head_width // 8)
            if what.startswith("gemma2"):  # caps and four norms a layer: more layers are ill-conditioned
                sizes.layers = min(sizes.layers, 2)
            build_model(case, sizes, configure(sizes.llama()), stirred)
            return case

        file.add_conditioned(make, ("float32",), partial(make, stirred=True))
