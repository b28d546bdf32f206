"""Updates by torch.optim.Muon: of single matrices, and of a GPT-2 beside AdamW."""

from contextlib import nullcontext
from dataclasses import asdict, dataclass

import torch

from case_file import Case, CaseFile
from cases_training import LIMITS, SIZES, UPDATES, Plan, add_plans
from gpt2_model import Sizes
from muon import Rows, without_rounding

# Limit on the difference after 20 steps between PyTorch's iteration in bfloat16 and in float64, in
# learning rates. The largest in 300 draws was 0.3. Elements move by 2 to 20 learning rates.
ROUNDED_LIMIT = 0.6


@dataclass(frozen=True)
class Updates:
    """Attributes of Headlight's runner."""

    rows: int
    columns: int
    row_blocks: int = 1
    learning_rate: float = 0.02
    momentum: float = 0.95
    nesterov: bool = True
    weight_decay: float = 0.1
    adjust_lr_fn: str = "match_rms_adamw"


MATRICES = [
    ("square", Updates(12, 12)),
    ("wide", Updates(7, 19)),
    ("tall", Updates(19, 7, adjust_lr_fn="original")),
    ("query, key and value", Updates(27, 9, row_blocks=3, adjust_lr_fn="original")),
    ("a row, without Nesterov", Updates(1, 11, nesterov=False, momentum=0.8)),
]


@dataclass(frozen=True)
class MuonPlan(Plan):
    adjust_lr_fn: str = "match_rms_adamw"
    momentum: float = 0.95
    nesterov: bool = True


PLANS = [
    ("packed", MuonPlan("muon", "packed"), SIZES),
    ("padded, original rates", MuonPlan("muon", "padded", 2, learning_rate=0.01, min_lr=1e-3,
                                        adjust_lr_fn="original"), SIZES),
    ("untied, without Nesterov", MuonPlan("muon", "packed", nesterov=False, momentum=0.9),
     Sizes(2, 1, 12, 29, 10, False)),
]


def drawn(case: Case, plan: Updates) -> Updates:
    """Other sizes in live cases."""
    if not case.source.random_sizes:
        return plan
    rows = plan.row_blocks * (1 if plan.rows == 1 else case.integer(2, 24))
    return Updates(**(asdict(plan) | {"rows": rows, "columns": case.integer(1, 24)}))


def build_updates(case: Case, plan: Updates, rounded: bool) -> None:
    plan = drawn(case, plan)
    case.attributes |= asdict(plan)
    matrix = case.input("matrix", case.normal((plan.rows, plan.columns)), gradient=False)
    gradients = case.input("gradients", case.normal((UPDATES, plan.rows, plan.columns)), gradient=False)
    rows = Rows(matrix.clone(), plan.row_blocks, transposed=False)
    optimizer = torch.optim.Muon(rows.matrices, lr=plan.learning_rate, momentum=plan.momentum,
                                 nesterov=plan.nesterov, weight_decay=plan.weight_decay,
                                 adjust_lr_fn=plan.adjust_lr_fn)
    with nullcontext() if rounded else without_rounding():
        for gradient in gradients:
            rows.weight.grad = gradient
            rows.take_gradient()
            optimizer.step()
    rows.give_back()
    case.output("matrix", rows.weight, seed=False)
    buffers = [optimizer.state[matrix]["momentum_buffer"] for matrix in rows.matrices]
    case.output("momentum_buffer", torch.cat(buffers), seed=False)
    limit = LIMITS[case.dtype_name]
    case.scales["matrix"] = (ROUNDED_LIMIT * plan.learning_rate if rounded else limit), 1.0
    case.scales["momentum_buffer"] = limit, 1.0


def build(file: CaseFile) -> None:
    for what, plan in MATRICES:

        def updates(dtype_name: str, attempt: int, rounded: bool = False) -> Case:
            kind = "as PyTorch rounds it" if rounded else "without rounding"
            case = Case("muon", f"{what}, {kind}", dtype_name, f"Muon {kind}, {dtype_name}",
                        file.source, reason="20 updates; PyTorch iterates in bfloat16", attempt=attempt)
            build_updates(case, plan, rounded)
            return case

        file.add_conditioned(updates, tuple(LIMITS))
        file.add(updates("float32", 0, rounded=True))
    add_plans(file, "training a GPT-2 with Muon", PLANS)
