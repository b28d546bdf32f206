"""Updates of a GPT-2 by PyTorch's optimizers: every loss, every norm, the weights at the end."""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile
from gpt2_model import (IGNORED, Sizes, headlight_layout, headlight_name, make_model,
                        padded_tokens, shifted_labels, stir)
from muon import MuonWithAdamW

UPDATES = 20
# Absolute for losses and weights; for norms relative to the largest.
LIMITS = {"float32": 1e-5, "float64": 1e-12}
SIZES = Sizes(2, 3, 12, 29, 10)
SEQUENCES = 4


@dataclass(frozen=True)
class Plan:
    """Attributes of Headlight's runner; the names are those of its configuration."""

    optimizer: str
    batching: str
    gradient_accumulation_steps: int = 1
    learning_rate: float = 3e-3
    min_lr: float = 3e-4
    warmup_iters: int = 4
    lr_decay_iters: int = 16
    weight_decay: float = 0.1
    grad_clip: float = 1.0
    momentum: float = 0.9
    nesterov: bool = False


PLANS = [
    ("packed", Plan("adamw", "packed"), SIZES),
    ("padded, two batches an update", Plan("adamw", "padded", 2), SIZES),
    ("untied, without clipping", Plan("adamw", "packed", grad_clip=0.0),
     Sizes(2, 1, 12, 29, 10, False)),
    ("momentum, packed", Plan("sgd", "packed", learning_rate=0.02, min_lr=0.002), SIZES),
    ("nesterov, padded", Plan("sgd", "padded", 2, learning_rate=0.02, min_lr=0.002, nesterov=True),
     SIZES),
    ("plain, without clipping",
     Plan("sgd", "packed", learning_rate=0.02, min_lr=0.02, weight_decay=0.0, grad_clip=0.0,
          momentum=0.0), SIZES),
]


def learning_rate(plan: Plan, step: int) -> float:
    """Returns the learning rate as nanoGPT's get_lr."""
    if step < plan.warmup_iters:
        return plan.learning_rate * (step + 1) / (plan.warmup_iters + 1)
    if step > plan.lr_decay_iters:
        return plan.min_lr
    ratio = (step - plan.warmup_iters) / (plan.lr_decay_iters - plan.warmup_iters)
    share = 0.5 * (1.0 + math.cos(math.pi * ratio))
    return plan.min_lr + share * (plan.learning_rate - plan.min_lr)


def make_optimizer(model: torch.nn.Module, plan: Plan) -> torch.optim.Optimizer | MuonWithAdamW:
    if plan.optimizer == "muon":
        return MuonWithAdamW(model, plan.learning_rate, plan.weight_decay, momentum=plan.momentum,
                             nesterov=plan.nesterov, adjust_lr_fn=plan.adjust_lr_fn)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}]
    if plan.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=plan.learning_rate, betas=(0.9, 0.95), eps=1e-8)
    return torch.optim.SGD(groups, lr=plan.learning_rate, momentum=plan.momentum, nesterov=plan.nesterov)


def draw_batches(case: Case, plan: Plan, sizes: Sizes) -> list[tuple[torch.Tensor, ...]]:
    """Tokens [B, T] and pads [B, T]. Packed: one token more than the block, the last target."""
    batches = []
    for _ in range(UPDATES * plan.gradient_accumulation_steps):
        lengths = [sizes.block_size + 1] * SEQUENCES
        if plan.batching == "padded":
            lengths = [sizes.block_size, *(case.integer(1, sizes.block_size) for _ in range(SEQUENCES - 1))]
        batches.append(padded_tokens(case, lengths, sizes.vocab_size))
    return batches


def sum_of_losses(model: torch.nn.Module, plan: Plan, tokens: torch.Tensor,
                  pads: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Over the targets of a batch, with their number."""
    if plan.batching == "packed":
        labels = tokens[:, 1:]
        logits = model(tokens[:, :-1]).logits
    else:
        labels = shifted_labels(tokens, pads)
        logits = model(tokens, attention_mask=(~pads).long()).logits
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
    return loss, int((labels != IGNORED).sum())


def train(model: torch.nn.Module, plan: Plan, batches: list) -> tuple[list, list]:
    optimizer = make_optimizer(model, plan)
    pieces = plan.gradient_accumulation_steps
    losses, norms = [], []
    for step in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(plan, step)
        sums = [sum_of_losses(model, plan, *batch) for batch in batches[step * pieces:(step + 1) * pieces]]
        loss = sum(part for part, _ in sums) / sum(count for _, count in sums)
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), plan.grad_clip or math.inf))
        optimizer.step()
        losses.append(loss.detach())
    return losses, norms


def build_training(case: Case, plan: Plan, sizes: Sizes, stirred: bool) -> None:
    if case.source.random_sizes:
        # A padded block of 2 predicts only from first tokens: queries have no gradient, and AdamW
        # would amplify rounding noise into steps.
        head = case.integer(-(-8 // sizes.n_head), 12)
        sizes = Sizes(case.integer(1, 2), sizes.n_head, sizes.n_head * head, case.integer(3, 200),
                      case.integer(3, 20), sizes.tie_weights)
    model = make_model(case, sizes)
    case.attributes |= asdict(plan)
    for name, parameter in model.named_parameters():
        case.input(headlight_name(name), headlight_layout(name, parameter), gradient=False)
    batches = draw_batches(case, plan, sizes)
    case.input("tokens", torch.stack([tokens for tokens, _ in batches]))
    case.input("padding_mask", torch.stack([pads for _, pads in batches]))
    if stirred:
        # AdamW divides by a gradient's own size, which amplifies rounding noise.
        stir(model, case.generator, 4)
    losses, norms = train(model, plan, batches)
    case.output("losses", torch.stack(losses), seed=False)
    case.output("norms", torch.stack(norms), seed=False)
    # A key's bias shifts all scores of a query equally, so its gradient is 0. AdamW amplifies the
    # rounding noise: PyTorch's float32 result differs by 4e-3 from its float64 result.
    skip = plan.optimizer != "sgd"
    case.attributes["skip_key_bias"] = skip
    for name, parameter in model.named_parameters():
        values = headlight_layout(name, parameter).clone()
        if skip and name.endswith("c_attn.bias"):
            values[sizes.n_embd:2 * sizes.n_embd] = 0
        case.output("final." + headlight_name(name), values, seed=False)
    for name, values in case.outputs.items():
        case.scales[name] = LIMITS[case.dtype_name], 1.0
    case.scales["norms"] = LIMITS[case.dtype_name], float(case.outputs["norms"].max())


def add_plans(file: CaseFile, rung: str, plans: list[tuple]) -> None:
    for what, plan, sizes in plans:
        file.model("gpt2_training", f"{plan.optimizer}, {what}", rung, "20 updates amplify what differs",
                   lambda case, stirred: build_training(case, plan, sizes, stirred), tuple(LIMITS))


def build(file: CaseFile) -> None:
    add_plans(file, "training a GPT-2", PLANS)
