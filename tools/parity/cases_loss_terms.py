"""Terms of the loss in training: label smoothing, and the z-loss of PaLM."""

import itertools
from functools import partial

import torch
import torch.nn.functional as F

from case_file import CaseFile
from cases_layers import both_losses, targets_of

IGNORED = -1
ROWS = [("rows", "n5 v7", 1.0), ("large logits", "n5 v7", 60.0), ("one class", "n3 1", 1.0),
        ("many classes", "n3 v120", 1.0)]
IGNORING = [("none", 0.0), ("some", 0.0), ("some", 2.0)]  # targets, cap
TERMS = [(0.1, 0.0), (0.0, 1e-2), (0.3, 1e-3), (1.0, 0.0)]


def loss(logits: torch.Tensor, targets: torch.Tensor, smoothing: float, z_loss: float, cap: float) -> torch.Tensor:
    if cap > 0:
        logits = cap * torch.tanh(logits / cap)
    kept = targets != IGNORED
    total = F.cross_entropy(logits, targets, ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum")
    total = total + z_loss * torch.logsumexp(logits[kept], dim=1).square().sum()
    return total / max(int(kept.sum()), 1)


def build(file: CaseFile) -> None:
    file.rung = "label smoothing, z-loss"
    for (what, shape, scale), (ignored, cap), (smoothing, z_loss) in itertools.product(ROWS, IGNORING, TERMS):
        name = f"{what}, ignoring {ignored}, cap {cap}, label smoothing {smoothing}, z-loss {z_loss}"
        both_losses(file, name, partial(loss, smoothing=smoothing, z_loss=z_loss, cap=cap), shape, scale, "contiguous",
                    targets_of(shape, ignored, IGNORED), frozen=what == "rows" or cap > 0, attributes={
                        "ignore_index": IGNORED, "cap": cap, "label_smoothing": smoothing, "z_loss": z_loss})
