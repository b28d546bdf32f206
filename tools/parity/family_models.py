"""Configurations of transformers' families, for frozen and live cases and for files.

Each one is made from sizes in Llama's keys: vocab_size, max_position_embeddings, hidden_size,
intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads.
"""

from transformers import (ArceeConfig, BertConfig, Ernie4_5Config, Exaone4Config, Gemma2Config, Gemma3TextConfig,
                          GemmaConfig, GPT2Config, GPTNeoConfig, GPTNeoXConfig, GraniteConfig, HeliumConfig, LlamaConfig,
                          MistralConfig, NanoChatConfig, Olmo2Config, Olmo3Config, OlmoConfig, OPTConfig, Phi3Config,
                          PhiConfig, Qwen2Config, Qwen3Config, SmolLM3Config, StableLmConfig, Starcoder2Config,
                          VaultGemmaConfig)

GROUPED = {"heads": 4, "key_heads": 2}
SIX_HEADS = {"heads": 6, "key_heads": 2}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8, "rope_theta": 500.0}
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
# The original context is short, so that kept, scaled and mixed frequencies occur.
YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 500.0, "original_max_position_embeddings": 64,
        "beta_fast": 8.0, "beta_slow": 1.0}


def head_width(sizes: dict) -> int:
    return sizes["hidden_size"] // sizes["num_attention_heads"]


def rotated(share: float, **more) -> dict:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": share, **more}}


def long_rope(sizes: dict, share: float, original: int, **more) -> Phi3Config:
    """Phi-3 whose factors change after `original` tokens."""
    pairs = int(head_width(sizes) * share) // 2
    return Phi3Config(**sizes, pad_token_id=None, original_max_position_embeddings=original, rope_parameters={
        "rope_type": "longrope", "rope_theta": 100.0, "partial_rotary_factor": share,
        "factor": max(1.0, sizes["max_position_embeddings"] / original),
        "short_factor": [1 + 0.05 * pair for pair in range(pairs)],
        "long_factor": [1.5 + 0.5 * pair for pair in range(pairs)], **more})


def windows(sizes: dict, window: str = "sliding_attention") -> list[str]:
    """Windows in every layer but the second."""
    return ["full_attention" if layer == 1 else window for layer in range(sizes["num_hidden_layers"])]


def renamed(sizes: dict, names: dict, **more) -> dict:
    """The sizes with a family's own names for some; models without grouped heads have no number of key heads."""
    return {names.get(key, key): value for key, value in sizes.items() if key != "num_key_value_heads"} | more


def gpt2(sizes: dict, **options) -> GPT2Config:
    names = {"max_position_embeddings": "n_positions", "hidden_size": "n_embd", "intermediate_size": "n_inner",
             "num_hidden_layers": "n_layer", "num_attention_heads": "n_head"}
    return GPT2Config(**renamed(sizes, names, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, **options))


def neo(sizes: dict, **options) -> GPTNeoConfig:
    layers = sizes["num_hidden_layers"]
    names = {"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads"}
    return GPTNeoConfig(**renamed(sizes, names, attention_types=[[(["global", "local"] * layers)[:layers], 1]],
                                  resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0, **options))


def neox(sizes: dict, **options) -> GPTNeoXConfig:
    return GPTNeoXConfig(**renamed(sizes, {}), **options)


def bert(sizes: dict, **options) -> BertConfig:
    return BertConfig(**renamed(sizes, {}), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=None,
                      **options)


def opt(sizes: dict, **options) -> OPTConfig:
    return OPTConfig(**renamed(sizes, {"intermediate_size": "ffn_dim"}), pad_token_id=None, dropout=0.0,
                     word_embed_proj_dim=sizes["hidden_size"], **options)


def gemma3(sizes: dict, **options) -> Gemma3TextConfig:
    return Gemma3TextConfig(**sizes, pad_token_id=None, **options)


# Name, changed sizes, configuration. Heads of names with "quarter", "half" or "neox" are a multiple of 8 wide.
MODELS = [
    ("gpt2, any inner width", {}, gpt2),
    ("gpt2, silu", {}, lambda s: gpt2(s, activation_function="silu")),
    ("gpt_neo", {}, lambda s: neo(s, window_size=5)),
    ("gpt_neox", {}, neox),
    ("gpt_neox, whole heads, no biases in attention", {}, lambda s: neox(
        s, attention_bias=False, hidden_act="relu", **rotated(1.0))),
    ("gpt_neox, one after the other, tied", {}, lambda s: neox(s, use_parallel_residual=False, tie_word_embeddings=True)),
    ("llama", {}, lambda s: LlamaConfig(**s)),
    ("llama, grouped heads, tied", SIX_HEADS, lambda s: LlamaConfig(**s, tie_word_embeddings=True, rms_norm_eps=1e-5)),
    ("llama, one key head, biases", {"heads": 4, "key_heads": 1}, lambda s: LlamaConfig(
        **s, attention_bias=True, mlp_bias=True)),
    ("llama, biases of attention", {}, lambda s: LlamaConfig(**s, attention_bias=True)),
    ("llama, llama3 scaling, gelu", SIX_HEADS, lambda s: LlamaConfig(
        **s, rope_parameters=dict(LLAMA3), hidden_act="gelu")),
    ("llama, linear scaling", {}, lambda s: LlamaConfig(**s, rope_parameters=dict(LINEAR))),
    ("llama, wide heads", {"heads": 2}, lambda s: LlamaConfig(**s, head_dim=2 * head_width(s))),
    ("mistral", SIX_HEADS, lambda s: MistralConfig(**s, sliding_window=4)),
    ("mistral, no window", SIX_HEADS, lambda s: MistralConfig(**s, sliding_window=None)),
    ("qwen2", SIX_HEADS, lambda s: Qwen2Config(**s)),
    ("qwen2, windows, tied", {}, lambda s: Qwen2Config(
        **s, use_sliding_window=True, sliding_window=3, max_window_layers=1, tie_word_embeddings=True)),
    ("qwen3", SIX_HEADS, lambda s: Qwen3Config(**s, head_dim=head_width(s) + 2)),
    ("qwen3, biases, windows", {}, lambda s: Qwen3Config(
        **s, head_dim=head_width(s), attention_bias=True, use_sliding_window=True, sliding_window=5,
        max_window_layers=1)),
    ("qwen3, linear scaling, tied", SIX_HEADS, lambda s: Qwen3Config(
        **s, head_dim=head_width(s), rope_parameters=dict(LINEAR), tie_word_embeddings=True)),
    ("gemma3", SIX_HEADS, lambda s: gemma3(
        s, head_dim=head_width(s) + 2, query_pre_attn_scalar=11, sliding_window=4,
        layer_types=(["sliding_attention", "full_attention"] * s["num_hidden_layers"])[:s["num_hidden_layers"]])),
    ("llama, nine heads on three keys", {"heads": 9, "key_heads": 3}, lambda s: LlamaConfig(**s)),
    ("gemma3, windows alone, untied", {}, lambda s: gemma3(
        s, head_dim=head_width(s), query_pre_attn_scalar=head_width(s), sliding_window=3, tie_word_embeddings=False)),
]
# Bidirectional models, which have no steps and no points of a final norm.
MASKED_MODELS = [
    ("bert", {}, bert),
    ("bert, untied, relu, one segment", {"heads": 4}, lambda s: bert(
        s, tie_word_embeddings=False, hidden_act="relu", type_vocab_size=1, layer_norm_eps=1e-5)),
]
MORE_MODELS = [
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
        **s, attention_bias=True, mlp_bias=True, embedding_multiplier=3.0, attention_multiplier=0.4,
        logits_scaling=0.7, residual_multiplier=1.2)),
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
    ("olmo", GROUPED, lambda s: OlmoConfig(**s, pad_token_id=None)),
    ("olmo, limited queries, biases", {}, lambda s: OlmoConfig(
        **s, pad_token_id=None, clip_qkv=0.3, attention_bias=True, tie_word_embeddings=True)),
    ("olmo2", GROUPED, lambda s: Olmo2Config(**s, pad_token_id=None)),
    ("olmo2, biases, yarn, tied", {}, lambda s: Olmo2Config(
        **s, pad_token_id=None, attention_bias=True, tie_word_embeddings=True, rope_parameters=dict(YARN))),
    ("olmo3, windows", GROUPED, lambda s: Olmo3Config(
        **s, pad_token_id=None, sliding_window=3, layer_types=windows(s))),
    ("olmo3, yarn without windows", {}, lambda s: Olmo3Config(
        **s, pad_token_id=None, sliding_window=4, layer_types=windows(s), rope_parameters={
            "full_attention": dict(YARN), "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})),
    ("exaone4, windows", GROUPED, lambda s: Exaone4Config(
        **s, pad_token_id=None, sliding_window=3, layer_types=windows(s))),
    ("exaone4, no windows, tied", {}, lambda s: Exaone4Config(
        **s, pad_token_id=None, sliding_window=None, layer_types=windows(s, "full_attention"),
        tie_word_embeddings=True)),
    ("gemma2", {}, lambda s: Gemma2Config(
        **s, head_dim=head_width(s) + 2, pad_token_id=None, sliding_window=3, query_pre_attn_scalar=40,
        attn_logit_softcapping=0.8, final_logit_softcapping=2.5)),
    ("gemma2, one cap, biases, untied", {}, lambda s: Gemma2Config(
        **s, head_dim=head_width(s), pad_token_id=None, layer_types=windows(s), attention_bias=True,
        attn_logit_softcapping=None, final_logit_softcapping=1.5, tie_word_embeddings=False)),
    ("nanochat", GROUPED, lambda s: NanoChatConfig(**s, pad_token_id=None)),
    ("nanochat, biases, low cap, tied", {}, lambda s: NanoChatConfig(
        **s, pad_token_id=None, attention_bias=True, final_logit_softcapping=1.1, tie_word_embeddings=True)),
    # The files of check_families.py have texts with up to 180 tokens and longer ones.
    ("phi3, longrope", GROUPED, lambda s: long_rope(s, 1.0, 180)),
    ("phi3, longrope of half of each head in long texts", {}, lambda s: long_rope(
        s, 0.5, 1, attention_factor=1.2)),
    ("llama, dynamic", GROUPED, lambda s: LlamaConfig(**s, rope_parameters={
        "rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0})),
    ("llama, yarn with mscale", {}, lambda s: LlamaConfig(
        **s, rope_parameters={**YARN, "mscale": 0.7, "mscale_all_dim": 1.2, "beta_fast": 32.0})),
    ("vaultgemma", GROUPED, lambda s: VaultGemmaConfig(
        **s, head_dim=head_width(s) + 2, pad_token_id=None, sliding_window=3, query_pre_attn_scalar=40,
        attn_logit_softcapping=0.8, final_logit_softcapping=2.5)),
]
