"""Compares models that Headlight exported as GGUF with llama.cpp, which computes them.

The models of check_gguf_model.py, small and of random weights, as F32, F16, BF16 and Q8_0: llama.cpp must make the same
token ids of a text, the same log probabilities up to rounding and, from F32, the same 100 greedy tokens. What its
rounding is: GELU is looked up in a table of float16, so that models with it differ by a thousandth of what logits
scatter; for F16, BF16 and Q8_0 it rounds what each matrix is multiplied with to that type, too. SentencePiece's
tokenizers, whose merges are written as scores, must give the ids of Hugging Face `tokenizers`. --file does the same with
files of others. Needs xllamacpp (made with 2026.10.11549) beside what check_gguf_model.py needs.
"""

import random
from pathlib import Path

import gguf
import numpy as np
import torch

from check_gguf_model import TYPES, export, make_models
from check_gguf_tokenizer import write
from checker import TEXT, note
from llama_server import LlamaCpp
from models import save_small_llama, stream_of
from texts import CORPUS, every_code_point, random_strings
from tokenizer_kinds import KINDS

# Limits on the root mean square difference, divided by the standard deviation of the logits.
LIMITS = {"f32": 1e-5, "f16": 3e-3, "bf16": 3e-2, "q8_0": 1e-1}
TABLE_LIMIT = 2e-3
LENGTHS = (1, 2, 3, 5, 9, 17, 33, 65, 120, 200)  # of prompts
NEW_TOKENS = 100
PROMPT = "Mina has"
HIDDEN = (gguf.TokenType.CONTROL, gguf.TokenType.UNKNOWN, gguf.TokenType.UNUSED)


def has_gelu(architecture):
    return architecture in ("gpt2", "gptneox", "gemma", "gemma2", "gemma3", "starcoder2")


def check_greedy(table, program, path, llama, scatter):
    kinds = gguf.GGUFReader(path).fields["tokenizer.ggml.token_type"].contents()
    expected = llama.greedy(PROMPT, [id for id, kind in enumerate(kinds) if kind in HIDDEN], NEW_TOKENS)
    chosen = program.json("generate", path, "--prompt", PROMPT, "--temperature", 0, "--max_new_tokens", NEW_TOKENS,
                          "--ignore_eos", "--logprobs", 2)["logprobs"]
    got = [token["id"] for token in chosen]
    tops = [[one["logprob"] for one in token["top_logprobs"]] for token in chosen]
    close = any(first - second < 1e-3 * scatter for first, second in tops)  # rounding decides
    if got != expected and not close:
        note(f"{path.name}: llama.cpp {expected}, headlight {got}")
    table.add("llama.cpp: greedy texts that differ", got != expected and not close)


def compare(table, program, path, architecture, kind, limit):
    _, arrays = program.evaluate(path)
    begin, end = arrays["offsets"][:2]
    llama = LlamaCpp(path, context=256)
    table.add("llama.cpp: token ids that differ", llama.ids(TEXT) != stream_of(arrays))
    tokens, logits = arrays["tokens"][begin:end].tolist(), arrays["logits"][begin:end].astype(np.float64)
    lengths = [length for length in LENGTHS if length <= len(tokens)]
    found = np.array([llama.log_probabilities(tokens[:length], logits.shape[1]) for length in lengths])
    difference = found - torch.from_numpy(logits[[length - 1 for length in lengths]]).log_softmax(-1).numpy()
    error = np.sqrt(np.mean(difference ** 2)) / logits.std()
    table.add(f"llama.cpp: log probabilities of {architecture}, {kind}, in standard deviations of logits", error, limit)
    if kind == "f32":
        check_greedy(table, program, path, llama, logits.std())


def check_tokenizer(table, program, kind, seed):
    """A small Llama with a tokenizer whose merges are those of scores, exported."""
    corpus = CORPUS.read_text(encoding="utf-8")
    folder = program.folder / kind.replace(" ", "_")
    expected = write(program.folder / "scores.gguf", KINDS[kind](corpus), None, kind.startswith("Gemma"))
    save_small_llama(folder, expected.get_vocab_size())
    expected.save(str(folder / "tokenizer.json"))
    llama = LlamaCpp(export(program, folder, "f32"))
    # llama.cpp ends texts at a zero byte and adds a blank to an empty text.
    texts = [text for text in random_strings(random.Random(seed), 1000) + every_code_point()[1:] + [corpus[:100000]] if text]
    wrong = [text for text in texts if llama.ids(text) != expected.encode(text, add_special_tokens=False).ids]
    table.add(f"llama.cpp: texts with other ids, {kind}'s tokenizer", len(wrong))


def check(table, program, options):
    for what, directory in make_models(program).items():
        architecture = what.split(",")[0]
        for kind in TYPES:
            limit = max(LIMITS[kind], TABLE_LIMIT if has_gelu(architecture) else 0)
            compare(table, program, export(program, directory, kind), architecture, kind, limit)
    for kind in ("Llama 2", "Gemma 3"):
        check_tokenizer(table, program, kind, options.seed)
    for path in options.file:
        compare(table, program, path.resolve(), path.name, "as it is", 2 * LIMITS["q8_0"])


OPTIONS = {"--file": dict(nargs="*", type=Path, default=[])}
