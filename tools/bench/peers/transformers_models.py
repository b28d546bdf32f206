"""GPT-2 and Llama models of transformers with random weights."""

import torch
from shapes import Shape
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM


def llama(shape: Shape, positions: int, attention: str = "sdpa") -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=shape.vocab_size,
        max_position_embeddings=positions,
        hidden_size=shape.n_embd,
        intermediate_size=shape.n_inner,
        num_hidden_layers=shape.n_layer,
        num_attention_heads=shape.n_head,
        num_key_value_heads=shape.n_kv_head,
        tie_word_embeddings=True,
        attn_implementation=attention,
    )
    return LlamaForCausalLM(config)


def random_model(shape: Shape, positions: int, attention: str = "sdpa") -> torch.nn.Module:
    """Returns a model of this shape; transformers' GPT-2 always has biases."""
    torch.manual_seed(1337)
    if shape.norm_type == "rms":
        return llama(shape, positions, attention).eval()
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
