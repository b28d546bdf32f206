"""Tiny models of transformers' families for the checkers: made, opened, computed and compared."""

import io
import logging
import os
import re
import shutil
from contextlib import redirect_stderr
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "warning")

import numpy as np
import safetensors.torch
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from checker import TEXT, Headlight, Table, note

transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)

LOGIT_LIMIT = 1e-4
LOSS_LIMIT = 1e-5


def lively(config):
    """Random weights so large that texts and attention vary."""
    torch.manual_seed(config.hidden_size)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    return model.eval()


def save_with_tokenizer(directory: Path, model, tokenizer_directory: Path, **options) -> Path:
    model.save_pretrained(directory, **options)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer_directory / file, directory)
    return directory


def char_tokenizer(program: Headlight) -> tuple[Path, int]:
    """A folder with a tokenizer of characters, and the size of its vocabulary."""
    folder = program.train("tokenizer", "char", n_layer=1, n_head=1, n_embd=8, block_size=32)
    return folder, len(AutoTokenizer.from_pretrained(folder))


def save_small_llama(folder: Path, vocabulary: int) -> None:
    config = LlamaConfig(vocab_size=vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                         num_attention_heads=2, max_position_embeddings=64)
    LlamaForCausalLM(config).save_pretrained(folder)


def open_model(directory, **options):
    return AutoModelForCausalLM.from_pretrained(directory, **({"dtype": torch.float32} | options)).eval()


def load(directory: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(directory / "model.safetensors")


def exported(program: Headlight, model: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(program.export(model, "safetensors", model.with_suffix(".safetensors")))


def differing(before: dict, after: dict) -> int:
    """Number of tensors with other bits, or in one of both only."""
    return len(before.keys() ^ after.keys()) + sum(
        not torch.equal(before[name], after[name]) for name in before.keys() & after.keys())


def largest(a: dict, b: dict) -> float:
    """Largest difference of tensors."""
    return max(float((a[name] - b[name]).abs().max()) for name in a) if a.keys() == b.keys() else float("inf")


def logits_of(model, arrays: dict) -> torch.Tensor:
    """Logits [N, V] of the sequences of Headlight.evaluate(), one by one."""
    tokens, offsets = torch.from_numpy(arrays["tokens"]).long(), arrays["offsets"]
    with torch.no_grad():
        return torch.cat([model(tokens[None, begin:end]).logits[0] for begin, end in zip(offsets[:-1], offsets[1:])])


def add_logits(table: Table, label: str, model, numbers: dict, arrays: dict) -> None:
    """Compares logits, and the loss that follows from them."""
    logits, targets = logits_of(model, arrays), torch.from_numpy(arrays["targets"]).long()
    table.add(f"{label}: logits", (logits - torch.from_numpy(arrays["logits"])).abs().max(), LOGIT_LIMIT)
    loss = float(torch.nn.functional.cross_entropy(logits.double(), targets))
    table.add(f"{label}: loss of eval", abs(loss - numbers["loss"]), LOSS_LIMIT)


def stream_of(arrays: dict) -> list[int]:
    """Token ids of the whole text."""
    return [*arrays["tokens"].tolist(), int(arrays["targets"][-1])]


def open_in_transformers(directory: Path) -> tuple:
    """Returns the model in float32, the number of strange weights, and the warnings of transformers."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger("transformers").addHandler(handler)
    with redirect_stderr(said):
        model, details = AutoModelForCausalLM.from_pretrained(
            directory, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    logging.getLogger("transformers").removeHandler(handler)
    complaints = sum(len(details[key]) for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    # Files of longrope without `factor`, as Phi-3's own: the only ones that transformers 4 opens too.
    expected = ("Loading weights", "we recommend the use of this field over `original_max_position_embeddings`")
    lines = [line for line in said.getvalue().splitlines()
             if line.strip() and not any(part in line for part in expected)]
    return model.eval(), complaints, lines


def greedy_in_transformers(model, tokenizer, prompt: str, guess: str) -> tuple[str, int, bool]:
    """Returns 200 tokens, and whether two candidates were ever so close that rounding decides. Special
    tokens and ids without a token are left out, as Headlight does with --ignore_eos. A pass takes all tokens of
    the guess that are the best ones; where angles depend on the length of the text, it takes one."""
    silent = [*tokenizer.all_special_ids, *range(len(tokenizer), model.config.vocab_size)]
    silent += [tokenizer.get_vocab()[name] for name in ["<|unk|>"] if name in tokenizer.get_vocab()]
    ids = tokenizer(prompt).input_ids
    start, close, end = len(ids), False, min(len(ids) + 200, model.config.max_position_embeddings)
    of_length = re.search("dynamic|longrope", str(getattr(model.config, "rope_parameters", "")))
    guessed = ids + ([] if of_length else tokenizer(guess, add_special_tokens=False, verbose=False).input_ids)
    while len(ids) < end:
        known = guessed[:end - 1] if guessed[:len(ids)] == ids else ids
        with torch.no_grad():
            logits = model(torch.tensor([known])).logits[0, len(ids) - 1:]
        logits[:, silent] = -torch.inf
        values, best = logits.topk(2)
        for (first, second), token in zip(values.tolist(), best[:, 0].tolist()):
            close = close or first - second < 1e-4
            ids.append(token)
            if known[:len(ids)] != ids:
                break
    return tokenizer.decode(ids[start:]), len(ids) - start, close


def compare(table: Table, label: str, program: Headlight, directory: Path):
    """Compares ids, logits, loss, greedy text and attention of both programs for the same directory."""
    model, complaints, lines = open_in_transformers(directory)
    if label.endswith("headlight -> transformers"):
        for line in lines:
            note(f"note: transformers on {label}: {line}")
        table.add(f"{label}: missing or unexpected weights", complaints)
        table.add(f"{label}: lines of warning", len(lines))
    # AutoTokenizer uses Qwen's own tokenizer class for this model type and ignores tokenizer.json.
    of_type = PreTrainedTokenizerFast if model.config.model_type.startswith("qwen") else AutoTokenizer
    tokenizer = of_type.from_pretrained(directory)
    numbers, arrays = program.evaluate(directory)
    ids, stream = tokenizer(TEXT, verbose=False).input_ids, stream_of(arrays)
    table.add(f"{label}: token ids that differ",
              sum(a != b for a, b in zip(ids, stream)) if len(ids) == len(stream) else len(ids))
    add_logits(table, label, model, numbers, arrays)
    got = program.greedy(directory, "Mina has")
    expected, count, close = greedy_in_transformers(model, tokenizer, "Mina has", got)
    same = got.startswith(expected) if count < 200 else got == expected
    if not same and not close:
        note(f"{directory.name}: greedy text {got!r}, expected {expected!r}")
    table.add(f"{label}: greedy texts that differ", not (same or close))
    text = TEXT[:min(24, model.config.max_position_embeddings // 2)]
    out = program.folder / "attention"
    program.run("attention", directory, "--text", text, "--format", "npz", "--out", out)
    maps = np.load(out / "attention.npz")
    with torch.no_grad():
        seen = model(torch.tensor([tokenizer(text).input_ids]), output_attentions=True).attentions
    table.add(f"{label}: attention weights", max(np.abs(maps[f"blocks.{i}.attn.hook_pattern"] - weights.numpy()).max()
                                                 for i, weights in enumerate(seen)), 1e-5)
    return model


def compare_both_ways(table: Table, label: str, program: Headlight, directory: Path) -> tuple:
    """Compares a directory of transformers and what Headlight writes of it; returns both models and that directory."""
    model = compare(table, f"{label}: transformers -> headlight", program, directory)
    back = program.export(directory, "hf", directory.with_name(f"{directory.name}_back"))
    return model, compare(table, f"{label}: headlight -> transformers", program, back), back
