"""transformers' GPT-2 with weights large enough to affect results, and its tensors in Headlight's layout."""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from case_file import Case

# Weights that transformers stores as [inputs, outputs].
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
IGNORED = -100  # label of a position without a loss


@dataclass(frozen=True)
class Sizes:
    """Attributes of Headlight's runner."""

    n_layer: int
    n_head: int
    n_embd: int
    vocab_size: int
    block_size: int
    tie_weights: bool = True
    activation: str = "gelu_new"


def make_model(case: Case, sizes: Sizes) -> GPT2LMHeadModel:
    config = GPT2Config(n_layer=sizes.n_layer, n_head=sizes.n_head, n_embd=sizes.n_embd,
                        vocab_size=sizes.vocab_size, n_positions=sizes.block_size,
                        tie_word_embeddings=sizes.tie_weights, activation_function=sizes.activation,
                        attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, bos_token_id=0, eos_token_id=0,
                        use_cache=False, attn_implementation="eager")
    model = GPT2LMHeadModel(config).to(case.dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(start_values(case, name, parameter))
    case.attributes |= asdict(sizes)
    return model


def start_values(case: Case, name: str, parameter: torch.Tensor) -> torch.Tensor:
    """Much larger than a model's first weights: attention far from even, biases that matter."""
    shape = tuple(parameter.shape)
    if ".ln_" in name:
        return case.normal(shape, 0.3) + (1.0 if name.endswith("weight") else 0.0)
    if name.endswith("bias"):
        return case.normal(shape, 0.3)
    inputs = shape[0] if name.endswith(TRANSPOSED) else shape[1]
    return case.normal(shape, (1.0 if "c_attn" in name else 1.5) / inputs**0.5)


def headlight_name(name: str) -> str:
    return name.removeprefix("transformer.")


def headlight_layout(name: str, values: torch.Tensor) -> torch.Tensor:
    values = values.detach()
    return (values.T if name.endswith(TRANSPOSED) else values).contiguous()


def padded_tokens(case: Case, lengths: list[int], vocab_size: int) -> tuple[torch.Tensor, ...]:
    """Tokens [B, T], with ids of no meaning in the pads, and the mask [B, T] of the pads."""
    width = max(lengths)
    tokens = case.integers((len(lengths), width), vocab_size)
    return tokens, torch.arange(width)[None, :] >= torch.tensor(lengths)[:, None]


def shifted_labels(tokens: torch.Tensor, pads: torch.Tensor) -> torch.Tensor:
    """Returns, for logits [B, T, V], the next token of every position that has one."""
    labels = torch.where(pads, IGNORED, tokens)
    return F.pad(labels[:, 1:], (0, 1), value=IGNORED)


def stir(model: torch.nn.Module, generator: torch.Generator, last_places: float) -> None:
    """Moves every weight up or down by units of its last place: the change of the results is what
    rounding may do."""
    with torch.no_grad():
        for parameter in model.parameters():
            signs = torch.randint(0, 2, parameter.shape, generator=generator) * 2 - 1
            parameter *= 1 + last_places * torch.finfo(parameter.dtype).eps * signs.to(parameter.dtype)
