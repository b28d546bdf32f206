"""torch.optim.Muon with its Newton-Schulz iteration in the parameters' own type, as Headlight has it,
and together with AdamW for a whole GPT-2."""

from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch.optim import _muon


def newton_schulz(matrix: torch.Tensor, coefficients: tuple[float, float, float], steps: int,
                  eps: float) -> torch.Tensor:
    """PyTorch's, which rounds to bfloat16, without the rounding."""
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


@contextmanager
def without_rounding():
    """Within, torch.optim.Muon iterates in the type of its parameters."""
    with patch.object(_muon, "_zeropower_via_newtonschulz", newton_schulz):
        yield


class Rows:
    """Matrices [outputs, inputs] of Muon's own for a weight that holds them otherwise: transposed,
    several in one."""

    def __init__(self, weight: torch.Tensor, blocks: int, transposed: bool) -> None:
        self.weight, self.blocks, self.transposed = weight, blocks, transposed
        self.matrices = [part.clone().requires_grad_() for part in self.parts(weight.detach())]

    def parts(self, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (values.T if self.transposed else values).chunk(self.blocks)

    def take_gradient(self) -> None:
        for matrix, part in zip(self.matrices, self.parts(self.weight.grad)):
            matrix.grad = part.clone()

    def give_back(self) -> None:
        with torch.no_grad():
            for matrix, part in zip(self.matrices, self.parts(self.weight)):
                part.copy_(matrix)


class MuonWithAdamW:
    """Muon for the matrices of the layers of transformers' GPT-2, AdamW for the rest."""

    def __init__(self, model: torch.nn.Module, lr: float, weight_decay: float, **options) -> None:
        named = list(model.named_parameters())
        hidden = [(n, p) for n, p in named if ".h." in n and p.dim() == 2]
        others = [p for n, p in named if not (".h." in n and p.dim() == 2)]
        self.rows = [Rows(p, 3 if "c_attn" in n else 1, transposed=True) for n, p in hidden]
        self.muon = torch.optim.Muon([m for rows in self.rows for m in rows.matrices], lr=lr,
                                     weight_decay=weight_decay, **options)
        groups = [{"params": [p for p in others if p.dim() >= 2], "weight_decay": weight_decay},
                  {"params": [p for p in others if p.dim() < 2], "weight_decay": 0.0}]
        self.adamw = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8)
        self.weights = [p for _, p in named]

    @property
    def param_groups(self) -> list[dict]:
        return self.muon.param_groups + self.adamw.param_groups

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    def step(self) -> None:
        for rows in self.rows:
            rows.take_gradient()
        with without_rounding():
            self.muon.step()
        for rows in self.rows:
            rows.give_back()
        self.adamw.step()
