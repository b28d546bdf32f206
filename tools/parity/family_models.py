"""Configurations of transformers' families with Llama's or GPT-2's layers, for frozen cases and for files.

Each one is made from sizes in Llama's keys: vocab_size, max_position_embeddings, hidden_size,
intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads.
"""

from transformers import (ArceeConfig, Ernie4_5Config, GemmaConfig, GraniteConfig, HeliumConfig, LlamaConfig,
                          OPTConfig, Phi3Config, PhiConfig, Qwen3Config, SmolLM3Config, StableLmConfig,
                          Starcoder2Config)

GROUPED = {"heads": 4, "key_heads": 2}
# The original context is short, so that kept, scaled and mixed frequencies occur.
YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 500.0, "original_max_position_embeddings": 64,
        "beta_fast": 8.0, "beta_slow": 1.0}


def head_width(sizes: dict) -> int:
    return sizes["hidden_size"] // sizes["num_attention_heads"]


def rotated(share: float, **more) -> dict:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": share,
                                **more}}


def opt(sizes: dict, **options) -> OPTConfig:
    names = {"intermediate_size": "ffn_dim"}
    values = {names.get(key, key): value for key, value in sizes.items() if key != "num_key_value_heads"}
    return OPTConfig(**{**values, "pad_token_id": None, "dropout": 0.0,
                        "word_embed_proj_dim": sizes["hidden_size"], **options})


# Name, changed sizes, configuration. Names with "quarter" or "half" need heads of a multiple of 8.
FAMILIES = [
    ("phi3", GROUPED, lambda s: Phi3Config(**s, pad_token_id=None)),
    ("phi3, half of each head, windows, tied", {}, lambda s: Phi3Config(
        **s, pad_token_id=None, sliding_window=4, tie_word_embeddings=True, **rotated(0.5))),
    ("stablelm, quarter of each head", GROUPED, lambda s: StableLmConfig(**s)),
    ("stablelm, half of each head, parallel, biases, tied", {}, lambda s: StableLmConfig(
        **s, use_parallel_residual=True, use_qkv_bias=True, tie_word_embeddings=True, **rotated(0.5))),
    ("starcoder2", GROUPED, lambda s: Starcoder2Config(**s, sliding_window=4)),
    ("starcoder2, no biases, untied, gelu", {}, lambda s: Starcoder2Config(
        **s, use_bias=False, tie_word_embeddings=False, hidden_act="gelu")),
    ("phi, half of each head", {}, lambda s: PhiConfig(**s)),
    ("phi, quarter of each head, norms of queries and keys", GROUPED, lambda s: PhiConfig(
        **s, qk_layernorm=True, **rotated(0.25))),
    ("gemma", GROUPED, lambda s: GemmaConfig(**s, head_dim=head_width(s) + 2, pad_token_id=None)),
    ("gemma, biases, untied, relu", {}, lambda s: GemmaConfig(
        **s, head_dim=head_width(s), attention_bias=True, hidden_act="relu", tie_word_embeddings=False,
        pad_token_id=None)),
    ("granite", GROUPED, lambda s: GraniteConfig(
        **s, embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.15,
        logits_scaling=8.0, tie_word_embeddings=True, rms_norm_eps=1e-5)),
    ("granite, biases", {}, lambda s: GraniteConfig(
        **s, attention_bias=True, mlp_bias=True, embedding_multiplier=3.0, logits_scaling=0.3,
        residual_multiplier=1.5)),
    ("smollm3", GROUPED, lambda s: SmolLM3Config(**s, no_rope_layer_interval=2, pad_token_id=None)),
    ("smollm3, biases, windows, untied", {}, lambda s: SmolLM3Config(
        **s, no_rope_layers=[0, 1, 1, 0][:s["num_hidden_layers"]], use_sliding_window=True, sliding_window=3,
        attention_bias=True, mlp_bias=True, tie_word_embeddings=False, pad_token_id=None)),
    ("arcee", GROUPED, lambda s: ArceeConfig(**s)),
    ("arcee, biases, yarn", {}, lambda s: ArceeConfig(
        **s, attention_bias=True, mlp_bias=True, rope_parameters=dict(YARN))),
    ("ernie4_5", GROUPED, lambda s: Ernie4_5Config(**s, head_dim=head_width(s), pad_token_id=None)),
    ("ernie4_5, biases, untied", {}, lambda s: Ernie4_5Config(
        **s, head_dim=head_width(s), use_bias=True, tie_word_embeddings=False, pad_token_id=None)),
    ("helium", GROUPED, lambda s: HeliumConfig(**s, head_dim=head_width(s), pad_token_id=None)),
    ("helium, biases", {}, lambda s: HeliumConfig(
        **s, head_dim=head_width(s), attention_bias=True, mlp_bias=True, pad_token_id=None)),
    ("opt", {}, opt),
    ("opt, untied, gelu", {}, lambda s: opt(s, tie_word_embeddings=False, activation_function="gelu")),
    ("llama, yarn", GROUPED, lambda s: LlamaConfig(**s, rope_parameters=dict(YARN))),
    ("qwen3, yarn with a factor of its own, not truncated", GROUPED, lambda s: Qwen3Config(
        **s, head_dim=head_width(s), rope_parameters={**YARN, "attention_factor": 1.3, "truncate": False})),
    ("llama, yarn with mscale", {}, lambda s: LlamaConfig(
        **s, rope_parameters={**YARN, "mscale": 0.7, "mscale_all_dim": 1.2, "beta_fast": 32.0})),
]
