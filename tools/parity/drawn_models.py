"""Tiny models of every family with drawn weights, which several checkers open."""

import logging
from collections.abc import Iterator
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from family_models import MODELS, MORE_MODELS

SIZES = {"vocab_size": 280, "max_position_embeddings": 16, "num_hidden_layers": 3, "intermediate_size": 40}


def sizes_of(heads: int = 4, key_heads: int | None = None) -> dict:
    return {**SIZES, "hidden_size": 8 * heads, "num_attention_heads": heads,
            "num_key_value_heads": key_heads or heads}


def save_tokenizer(config, folder: str) -> None:
    """Saves a tokenizer of bytes and pairs of them, which no comparison uses."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = list(zip(letters, letters[1:]))[:config.vocab_size - len(letters)]
    names = letters + [a + b for a, b in pairs]
    tokenizer = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, pairs))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    end = names[0]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=end, bos_token=end, eos_token=end,
                            pad_token=end).save_pretrained(folder)


def save_model(config, folder: str) -> None:
    """Saves a model with drawn weights: gains and biases that matter, attention far from even."""
    config._attn_implementation = "eager"
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config)
    config.architectures = [type(model).__name__]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
            else:
                parameter.copy_(1.2 / parameter.shape[-1] ** 0.5 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    save_tokenizer(config, folder)


def be_quiet() -> None:
    """Shows no warnings and bars of the packages, and computes on one thread."""
    logging.disable(logging.WARNING)
    disable_progress_bar()
    torch.set_num_threads(1)


def drawn_configs(families: list[str] | None) -> Iterator[tuple[str, Any]]:
    """Yields name and configuration of the models of family_models.py: of some families, or all."""
    for name, heads, configure in MORE_MODELS + MODELS:
        config = configure(sizes_of(**heads))
        if not families or config.model_type in families:
            yield name, config
