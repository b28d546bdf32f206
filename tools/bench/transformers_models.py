"""GPT-2 models of transformers with random weights."""

import torch
from shapes import Shape
from transformers import GPT2Config, GPT2LMHeadModel


def random_model(shape: Shape, positions: int, attention: str = "sdpa") -> GPT2LMHeadModel:
    """transformers' GPT-2 always has biases; nothing else differs from the shape."""
    torch.manual_seed(1337)
    config = GPT2Config(
        vocab_size=shape.vocab_size,
        n_positions=positions,
        n_embd=shape.n_embd,
        n_layer=shape.n_layer,
        n_head=shape.n_head,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation=attention,
    )
    return GPT2LMHeadModel(config).eval()
