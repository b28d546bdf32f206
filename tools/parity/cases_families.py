"""Whole models of transformers' families beyond GPT-2: logits, loss, attention weights, gradients."""

import json

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from case_file import Case, CaseFile
from family_models import MASKED_MODELS, MODELS, MORE_MODELS
from gpt2_model import IGNORED, padded_tokens, shifted_labels, stir

LIMITS = {"logits": 1e-4, "loss": 1e-5, "attention": 1e-5, "gradient": 1e-5}
REASON = "a whole model has limits for each of its results"


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

    def of(self, what: str) -> dict:
        """Returns the sizes of a row of family_models.py."""
        if "quarter" in what or "half" in what or "neox" in what:  # a rotated part of a head has an even number
            self.head_width = 8 * -(-self.head_width // 8)
        if what.startswith("gemma2"):  # caps and four norms a layer: more layers are ill-conditioned
            self.layers = min(self.layers, 2)
        return dict(vocab_size=self.vocabulary, max_position_embeddings=self.block,
                    hidden_size=self.heads * self.head_width, intermediate_size=self.inner,
                    num_hidden_layers=self.layers, num_attention_heads=self.heads,
                    num_key_value_heads=self.key_heads)


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


def add_models(file: CaseFile, rung: str, rows: list[tuple]) -> None:
    for what, heads, configure in rows:

        def build_case(case: Case, stirred: bool) -> None:
            sizes = Sizes(case, **heads)
            build_model(case, sizes, configure(sizes.of(what)), stirred)

        file.model("family", what, rung, REASON, build_case)


def build(file: CaseFile) -> None:
    add_models(file, "models of other families", MODELS + MASKED_MODELS)


def build_more(file: CaseFile) -> None:
    add_models(file, "models of more families", MORE_MODELS)
