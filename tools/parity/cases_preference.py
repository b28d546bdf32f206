"""Losses of preference tuning (DPO), and the gradients of the token losses that they sum."""

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile, In
from cases_layers import operands, targets_of

IGNORED = -1
LENGTHS = [("two pairs", [2, 1, 3, 4]), ("one pair", [5, 2]), ("an empty answer", [0, 3, 2, 2])]
SETTINGS = [(0.1, 0, 1.0), (1.0, 0, 1.0), (0.1, 7, 1.0), (2.0, 0, 60.0)]  # beta, normalizer, scale of the losses


def sums_of(losses: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """Log-probabilities of the pairs, [P, 2]."""
    return -torch.stack([part.sum() for part in losses.split(lengths)]).view(-1, 2)


def pairs_of(case: Case, lengths: list[int], scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Token losses [N] and the reference [P, 2]."""
    losses = case.input("x", case.normal((sum(lengths),), scale).abs())
    reference = case.input("reference", -case.normal((len(lengths) // 2, 2), scale).abs(), gradient=False)
    case.attributes["offsets"] = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    return losses, reference


def build(file: CaseFile) -> None:
    file.rung = "preference_loss"
    for what, lengths in LENGTHS:
        for beta, normalizer, scale in SETTINGS:

            def loss(case: Case) -> None:
                losses, reference = pairs_of(case, lengths, scale)
                margins = (sums_of(losses, lengths) - reference) @ torch.tensor([1, -1], dtype=losses.dtype)
                case.output("y", -F.logsigmoid(beta * margins).sum() / (normalizer or len(margins)))

            # The op has no other type.
            file.add(file.computed("preference_loss", f"{what}, beta {beta}, normalizer {normalizer}, scale {scale}",
                                   loss, "float64", {"attributes": {"beta": beta, "normalizer": normalizer}}))

        def sums(case: Case) -> None:
            case.output("y", sums_of(pairs_of(case, lengths, 1.0)[0], lengths), seed=False)

        file.both("pair_log_probabilities", what, sums)

    file.op("preference_margins", "pairs",
            lambda x, reference: x[:, 0] - x[:, 1] - (reference[:, 0] - reference[:, 1]),
            {name: In("n3 2", gradient=False) for name in ("x", "reference")})
    for what, shape, cap in (("rows", "n5 v7", 0.0), ("rows", "n5 v7", 2.0), ("one class", "n3 1", 0.0)):
        for ignored in ("none", "some", "all"):

            def rows(x, weight, targets) -> torch.Tensor:
                logits = F.linear(x, weight)
                logits = cap * torch.tanh(logits / cap) if cap > 0 else logits
                return F.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="none").double()

            file.op("linear_cross_entropy_rows", f"gradients, {what}, ignoring {ignored}, cap {cap}", rows,
                    operands(shape, 1.0) | {"targets": targets_of(shape, ignored, IGNORED)},
                    attributes={"ignore_index": IGNORED, "cap": cap, "float64": True})
