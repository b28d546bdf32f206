#!/usr/bin/env python3
"""Writes the adapters of tests/formats/adapter/data with PEFT, and the logits that PEFT computes with them.

usage: make_adapters.py [FOLDER]

Made with peft 0.21.2 and transformers 5.24.0. FOLDER/BASE is a model; FOLDER/BASE-CASE is an adapter of it.
FOLDER/logits.json has, by adapter, the logits of the last of IDS. An adapter that PEFT changes the base for
has logits as well, though Headlight refuses it.
"""

import json
import pathlib
import shutil
import sys
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

IDS = [[1, 5, 3, 10, 7, 10, 11]]
LINEAR = ["q_proj", "v_proj", "o_proj", "down_proj"]
TOKENS = [10, 11]


def llama(**options):
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=12, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=32, **options))


def gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=16, n_embd=8, n_layer=1, n_head=2))


BASES = {
    "llama": lambda: llama(tie_word_embeddings=False, attention_bias=True),
    "tied": lambda: llama(tie_word_embeddings=True),
    "gpt2": gpt2,
}

# Base, name, settings of LoraConfig.
CASES = [
    ("llama", "plain", dict(target_modules=LINEAR)),
    ("llama", "bf16", dict(target_modules=LINEAR)),
    ("llama", "ranks", dict(target_modules=LINEAR, use_rslora=True, rank_pattern={"q_proj": 3, "layers.1.mlp.down_proj": 1})),
    # Both patterns match q_proj of layer 0: PEFT takes the first.
    ("llama", "alphas", dict(target_modules=LINEAR, alpha_pattern={
        r"layers\.0\.self_attn\..*": 3, "q_proj": 9, "self_attn.[ov]_proj": 1, "a_pattern_of_nothing": 7})),
    ("llama", "alphas_by_end", dict(target_modules=LINEAR, alpha_pattern={
        "self_attn.q_proj": 9, "layers.1.self_attn.q_proj": 1, r"^model\.layers\.0\.mlp\.down_proj": 7, "proj": 5})),
    ("llama", "dora", dict(target_modules=LINEAR, use_dora=True)),
    ("llama", "embeddings", dict(target_modules=["embed_tokens", "lm_head", "q_proj"])),
    ("llama", "saved_modules", dict(target_modules=["q_proj"], modules_to_save=["lm_head", "input_layernorm"])),
    ("llama", "biases", dict(target_modules=["q_proj"], bias="all")),
    ("llama", "lora_biases", dict(target_modules=["k_proj"], bias="lora_only")),
    ("llama", "tokens", dict(target_modules=["q_proj"], trainable_token_indices={"embed_tokens": TOKENS, "lm_head": TOKENS})),
    ("llama", "tokens_and_head", dict(target_modules=["q_proj"], trainable_token_indices={"embed_tokens": TOKENS},
                                      modules_to_save=["lm_head"])),
    ("llama", "mica", dict(target_modules=["q_proj"], init_lora_weights="mica")),
    ("llama", "pissa", dict(target_modules=["q_proj"], init_lora_weights="pissa")),
    ("llama", "olora", dict(target_modules=["q_proj"], init_lora_weights="olora")),
    ("tied", "embedding", dict(target_modules=["embed_tokens", "q_proj"])),
    ("tied", "tied_embedding", dict(target_modules=["embed_tokens", "q_proj"], ensure_weight_tying=True)),
    ("tied", "head", dict(target_modules=["lm_head", "q_proj"])),
    ("tied", "saved_embedding", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens"])),
    ("tied", "tied_saved_embedding", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens"], ensure_weight_tying=True)),
    ("tied", "tokens", dict(target_modules=["q_proj"], trainable_token_indices=TOKENS)),
    ("tied", "tokens_by_name", dict(target_modules=["q_proj"], trainable_token_indices={"embed_tokens": TOKENS})),
    ("tied", "more_tokens", dict(target_modules=["q_proj"])),
    ("gpt2", "plain", dict(target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)),
    ("gpt2", "dora", dict(target_modules=["c_attn"], fan_in_fan_out=True, use_dora=True)),
    # PEFT ties only embeddings named embed_tokens: the head stays.
    ("gpt2", "tied_wte", dict(target_modules=["c_attn"], fan_in_fan_out=True, modules_to_save=["wte"],
                              ensure_weight_tying=True)),
]


def randomize(model):
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            noise = torch.randn_like(parameter) * 0.3
            if "magnitude" in name:
                noise = noise.abs()
            parameter.data.add_(noise)  # in place, because tied adapters share elements


def main():
    warnings.simplefilter("ignore")
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/formats/adapter/data").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    logits = {}
    for number, (name, make) in enumerate(BASES.items()):
        torch.manual_seed(number)
        model = make()
        for parameter in model.parameters():
            parameter.data = parameter.data + torch.randn_like(parameter) * 0.3
        model.save_pretrained(folder / name)
        (folder / name / "generation_config.json").unlink(missing_ok=True)
    for number, (base, name, options) in enumerate(CASES):
        torch.manual_seed(100 + number)
        path = folder / f"{base}-{name}"
        model = AutoModelForCausalLM.from_pretrained(folder / base)
        if name == "more_tokens":
            model.resize_token_embeddings(14, mean_resizing=False)
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=5, **options))
        randomize(model)
        if name == "bf16":
            model = model.to(torch.bfloat16)
        model.save_pretrained(path)
        (path / "README.md").unlink()
        again = AutoModelForCausalLM.from_pretrained(folder / base)
        if name == "more_tokens":
            again.resize_token_embeddings(14, mean_resizing=False)
        again = PeftModel.from_pretrained(again, path).eval()
        with torch.no_grad():
            logits[path.name] = [round(float(value), 5) for value in again(torch.tensor(IDS)).logits[0, -1]]
        config = json.loads((path / "adapter_config.json").read_text())
        config["base_model_name_or_path"] = f"../{base}"
        config["target_modules"] = sorted(config["target_modules"])  # a set in PEFT, whose order changes with each run
        (path / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "logits.json").write_text(json.dumps({"ids": IDS[0], **logits}, indent=0) + "\n")


main()
