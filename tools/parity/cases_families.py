"""Whole models of transformers' families beyond GPT-2: logits, loss, attention weights, gradients."""

import json

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM
from transformers import (BertConfig, Gemma3TextConfig, GPT2Config, GPTNeoConfig, GPTNeoXConfig, LlamaConfig,
                          MistralConfig, Qwen2Config, Qwen3Config)

from case_file import Case, CaseFile
from family_models import FAMILIES
from gpt2_model import IGNORED, padded_tokens, shifted_labels, stir

LIMITS = {"logits": 1e-4, "loss": 1e-5, "attention": 1e-5, "gradient": 1e-5}
REASON = "a whole model has limits for each of its results"
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8, "rope_theta": 500.0}
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
GROUPED = {"heads": 6, "key_heads": 2}


class Sizes:
    """Odd ones; live cases draw their own."""

    def __init__(self, case: Case, heads: int = 3, key_heads: int | None = None):
        drawn = case.source.random_sizes
        self.layers = case.integer(1, 4) if drawn else 2
        self.heads = heads
        self.key_heads = key_heads or heads
        self.head_width = 2 * case.integer(2, 12) if drawn else 4
        self.inner = case.integer(8, 70) if drawn else 13
        self.vocabulary = case.integer(2, 300) if drawn else 17
        self.block = case.integer(3, 40) if drawn else 11
        self.lengths = [self.block] + [case.integer(2, self.block) for _ in range(2)]

    def llama(self, **options) -> dict:
        return dict(vocab_size=self.vocabulary, max_position_embeddings=self.block,
                    hidden_size=self.heads * self.head_width, intermediate_size=self.inner,
                    num_hidden_layers=self.layers, num_attention_heads=self.heads,
                    num_key_value_heads=self.key_heads) | options

    def neox(self, **options) -> dict:
        # A quarter of a head's width must be an even number.
        self.head_width = 8 * -(-self.head_width // 8)
        values = self.llama(**options)
        del values["num_key_value_heads"]
        return values

    def neo(self, **options) -> dict:
        return dict(vocab_size=self.vocabulary, max_position_embeddings=self.block,
                    hidden_size=self.heads * self.head_width, intermediate_size=self.inner,
                    num_layers=self.layers, num_heads=self.heads,
                    attention_types=[[(["global", "local"] * self.layers)[:self.layers], 1]],
                    resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0) | options

    def bert(self, **options) -> dict:
        values = self.llama(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=None, **options)
        del values["num_key_value_heads"]
        return values

    def gpt2(self, **options) -> dict:
        return dict(vocab_size=self.vocabulary, n_positions=self.block, n_inner=self.inner,
                    n_embd=self.heads * self.head_width, n_layer=self.layers, n_head=self.heads,
                    attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0) | options


# Name, changed sizes, configuration.
MODELS = [
    ("gpt2, any inner width", {}, lambda s: GPT2Config(**s.gpt2())),
    ("gpt2, silu", {}, lambda s: GPT2Config(**s.gpt2(activation_function="silu"))),
    ("gpt_neo", {}, lambda s: GPTNeoConfig(**s.neo(window_size=5))),
    ("gpt_neox", {}, lambda s: GPTNeoXConfig(**s.neox())),
    ("gpt_neox, whole heads, no biases in attention", {}, lambda s: GPTNeoXConfig(**s.neox(
        attention_bias=False, hidden_act="relu",
        rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 1.0}))),
    ("gpt_neox, one after the other, tied", {}, lambda s: GPTNeoXConfig(**s.neox(
        use_parallel_residual=False, tie_word_embeddings=True))),
    ("llama", {}, lambda s: LlamaConfig(**s.llama())),
    ("llama, grouped heads, tied", GROUPED, lambda s: LlamaConfig(**s.llama(
        tie_word_embeddings=True, rms_norm_eps=1e-5))),
    ("llama, one key head, biases", {"heads": 4, "key_heads": 1}, lambda s: LlamaConfig(**s.llama(
        attention_bias=True, mlp_bias=True))),
    ("llama, biases of attention", {}, lambda s: LlamaConfig(**s.llama(attention_bias=True))),
    ("llama, llama3 scaling, gelu", GROUPED, lambda s: LlamaConfig(**s.llama(
        rope_parameters=dict(LLAMA3), hidden_act="gelu"))),
    ("llama, linear scaling", {}, lambda s: LlamaConfig(**s.llama(rope_parameters=dict(LINEAR)))),
    ("llama, wide heads", {"heads": 2}, lambda s: LlamaConfig(**s.llama(
        head_dim=2 * s.head_width))),
    ("mistral", GROUPED, lambda s: MistralConfig(**s.llama(sliding_window=4))),
    ("mistral, no window", GROUPED, lambda s: MistralConfig(**s.llama(sliding_window=None))),
    ("qwen2", GROUPED, lambda s: Qwen2Config(**s.llama())),
    ("qwen2, windows, tied", {}, lambda s: Qwen2Config(**s.llama(
        use_sliding_window=True, sliding_window=3, max_window_layers=1, tie_word_embeddings=True))),
    ("qwen3", GROUPED, lambda s: Qwen3Config(**s.llama(head_dim=s.head_width + 2))),
    ("qwen3, biases, windows", {}, lambda s: Qwen3Config(**s.llama(
        head_dim=s.head_width, attention_bias=True, use_sliding_window=True, sliding_window=5,
        max_window_layers=1))),
    ("qwen3, linear scaling, tied", GROUPED, lambda s: Qwen3Config(**s.llama(
        head_dim=s.head_width, rope_parameters=dict(LINEAR), tie_word_embeddings=True))),
    ("gemma3", GROUPED, lambda s: Gemma3TextConfig(**s.llama(
        head_dim=s.head_width + 2, query_pre_attn_scalar=11, sliding_window=4, pad_token_id=None,
        layer_types=(["sliding_attention", "full_attention"] * s.layers)[:s.layers]))),
    ("llama, nine heads on three keys", {"heads": 9, "key_heads": 3}, lambda s: LlamaConfig(**s.llama())),
    ("gemma3, windows alone, untied", {}, lambda s: Gemma3TextConfig(**s.llama(
        head_dim=s.head_width, query_pre_attn_scalar=s.head_width, sliding_window=3, pad_token_id=None,
        tie_word_embeddings=False))),
]

# Bidirectional models, which have no steps and no points of a final norm.
MASKED_MODELS = [
    ("bert", {}, lambda s: BertConfig(**s.bert())),
    ("bert, untied, relu, one segment", {"heads": 4}, lambda s: BertConfig(**s.bert(
        tie_word_embeddings=False, hidden_act="relu", type_vocab_size=1, layer_norm_eps=1e-5))),
]


def start_values(case: Case, name: str, parameter: torch.Tensor, plus_one: bool) -> torch.Tensor:
    """Much larger than a model's first weights: attention far from even, biases that matter.
    With plus_one gains are factors less 1."""
    shape = tuple(parameter.shape)
    if len(shape) == 1:
        is_factor = name.endswith("weight") and not plus_one
        return case.normal(shape, 0.3) + (1.0 if is_factor else 0.0)
    return case.normal(shape, 1.2 / shape[-1]**0.5)


def make_model(case: Case, config) -> torch.nn.Module:
    config._attn_implementation = "eager"
    config.use_cache = False
    family = AutoModelForMaskedLM if config.model_type == "bert" else AutoModelForCausalLM
    model = family.from_config(config).to(case.dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(start_values(case, name, parameter, config.model_type in ("gemma", "gemma3_text")))
    return model


def name_in_files(config, name: str) -> str:
    """transformers renames this one when it saves."""
    renamed = config.model_type == "gpt_neox" and name == "lm_head.weight"
    return "embed_out.weight" if renamed else name


def name_of_scale(config, name: str) -> str:
    """The parameter whose largest gradient is the scale. Without rotations, the bias of keys shifts all
    scores of a query equally: its gradient is 0."""
    key, query = (("k_proj.bias", "q_proj.bias") if config.model_type in ("opt", "smollm3")
                  else ("self.key.bias", "self.query.bias"))
    return name.replace(key, query)


def start_case(case: Case, sizes: Sizes, config, stirred: bool) -> tuple:
    """The model, its tokens [B, T] and the mask [B, T] of their pads; all of them become inputs."""
    model = make_model(case, config)
    for name, parameter in model.named_parameters():
        case.input(name_in_files(config, name), parameter.detach(), gradient=False)
    case.attributes["config"] = json.dumps(json.loads(config.to_json_string(use_diff=False)))
    tokens, pads = padded_tokens(case, sizes.lengths, sizes.vocabulary)
    case.input("tokens", tokens)
    case.input("lengths", torch.tensor(sizes.lengths, dtype=torch.int32))
    if stirred:
        stir(model, case.generator, 2)
    return model, tokens, pads


def build_model(case: Case, sizes: Sizes, config, stirred: bool) -> None:
    model, tokens, pads = start_case(case, sizes, config, stirred)
    # Sequences run one by one. In a padded batch, a window may hide everything from a pad, and
    # eager attention then gives NaN in float64.
    results = [model(tokens[b:b + 1, :length], output_attentions=True) for b, length in enumerate(sizes.lengths)]
    logits = torch.cat([result.logits[0] for result in results])
    case.output("logits", logits, seed=False)
    for layer in range(sizes.layers):
        weights = [F.pad(result.attentions[layer][0], (0, sizes.block - length) * 2)
                   for result, length in zip(results, sizes.lengths)]
        case.output(f"attention.{layer}", torch.stack(weights), seed=False)
    loss = F.cross_entropy(logits, shifted_labels(tokens, pads)[~pads], ignore_index=IGNORED)
    case.output("loss", loss, seed=False)
    loss.backward()
    for name in case.outputs:
        case.scales[name] = LIMITS[name.split(".")[0]], 1.0
    gradients = {name_in_files(config, name): parameter.grad
                 for name, parameter in model.named_parameters() if parameter.grad is not None}
    for name, gradient in gradients.items():
        case.gradient(name, gradient)
        scale = gradients[name_of_scale(config, name)]
        case.scales[name] = LIMITS["gradient"], float(scale.abs().max())


def build(file: CaseFile) -> None:
    for what, heads, configure in MODELS + MASKED_MODELS:

        def build_case(case: Case, stirred: bool) -> None:
            sizes = Sizes(case, **heads)
            build_model(case, sizes, configure(sizes), stirred)

        file.model("family", what, "models of other families", REASON, build_case)


def build_more(file: CaseFile) -> None:
    """The families in family_models.py."""
    for what, heads, configure in FAMILIES:

        def build_case(case: Case, stirred: bool) -> None:
            sizes = Sizes(case, **heads)
            if "quarter" in what or "half" in what:
                sizes.head_width = 8 * -(-sizes.head_width // 8)
            if what.startswith("gemma2"):  # caps and four norms a layer: more layers are ill-conditioned
                sizes.layers = min(sizes.layers, 2)
            build_model(case, sizes, configure(sizes.llama()), stirred)

        file.model("family", what, "models of more families", REASON, build_case)
