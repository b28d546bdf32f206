"""Whole GPT-2 models of the transformers library: logits, loss, attention weights, gradients."""

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile
from gpt2_model import (IGNORED, Sizes, headlight_layout, headlight_name, make_model, padded_tokens, shifted_labels)

# Name, sizes, lengths of the sequences, types.
BOTH = ("float64", "float32")
MODELS = [
    ("5 heads, width 20, padded", Sizes(2, 5, 20, 11, 8), [7, 1, 4, 8], BOTH),
    ("1 head, vocabulary 1000, full blocks", Sizes(1, 1, 20, 1000, 13), [13, 13], ("float32",)),
    ("3 heads, width 96, padded", Sizes(1, 3, 96, 11, 33), [33, 7, 1, 18], ("float32",)),
    ("untied, exact gelu", Sizes(3, 3, 12, 31, 9, False, "gelu"), [9, 2, 6], BOTH),
    ("relu, one sequence", Sizes(2, 2, 10, 17, 7, True, "relu"), [7], BOTH),
    ("single tokens", Sizes(2, 5, 20, 11, 4), [1, 1, 1], BOTH),
]
# Absolute limits; for gradients relative to the largest entry.
LIMITS = {
    "float32": {"logits": 1e-4, "loss": 1e-5, "attention": 1e-6, "gradient": 1e-5},
    "float64": {"logits": 1e-12, "loss": 1e-13, "attention": 1e-14, "gradient": 1e-12},
}
REASON = "a whole model has limits for each of its results"


def drawn(case: Case, sizes: Sizes, lengths: list[int]) -> tuple[Sizes, list[int]]:
    """Live cases: other sizes of the same kind."""
    if not case.source.random_sizes:
        return sizes, lengths
    block = case.integer(2, 40)
    longest = 1 if max(lengths) == 1 else block
    # With very narrow heads, norms of few numbers have gradients that are only rounding noise.
    head = case.integer(-(-8 // sizes.n_head), 16)
    sizes = Sizes(case.integer(1, 3), sizes.n_head, sizes.n_head * head, case.integer(2, 1200),
                  block, sizes.tie_weights, sizes.activation)
    return sizes, [longest] + [case.integer(1, longest) for _ in lengths[1:]]


def loss_of(case: Case, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    # Like the model's own loss, which always computes in float32.
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def add_gradients(case: Case, model: torch.nn.Module) -> None:
    limit = LIMITS[case.dtype_name]["gradient"]
    for name, parameter in model.named_parameters():
        target = headlight_name(name)
        case.gradient(target, headlight_layout(name, parameter.grad))
        case.scales[target] = limit, float(parameter.grad.abs().max())


def build_model(case: Case, sizes: Sizes, lengths: list[int]) -> None:
    sizes, lengths = drawn(case, sizes, lengths)
    model = make_model(case, sizes)
    for name, parameter in model.named_parameters():
        case.input(headlight_name(name), headlight_layout(name, parameter), gradient=False)
    tokens, pads = padded_tokens(case, lengths, sizes.vocab_size)
    case.input("tokens", tokens)
    case.input("padding_mask", pads)
    result = model(tokens, attention_mask=(~pads).long(), output_attentions=True)
    case.output("logits", result.logits[~pads], seed=False)
    for layer, weights in enumerate(result.attentions):
        # Attention weights of pads are meaningless.
        case.output(f"attention.{layer}", weights.masked_fill(pads[:, None, :, None], 0), seed=False)
    labels = shifted_labels(tokens, pads)
    if (labels != IGNORED).any():
        loss = loss_of(case, result.logits, labels)
        case.output("loss", loss, seed=False)
        loss.backward()
        add_gradients(case, model)
    for name in case.outputs:
        case.scales[name] = LIMITS[case.dtype_name][name.split(".")[0]], 1.0


def build(file: CaseFile) -> None:
    for what, sizes, lengths, types in MODELS:
        file.model("gpt2", what, "whole GPT-2 models", REASON, lambda case, _: build_model(case, sizes, lengths), types,
                   stirs=False)
