#!/usr/bin/env python3
"""Compares models that Headlight exported as GGUF with llama.cpp, which computes them.

usage: check_llama_cpp.py PATH_OF_HEADLIGHT [--file FILE.gguf ...]

The models of check_gguf_model.py, small and of random weights, as F32, F16, BF16 and Q8_0: llama.cpp
must make the same token ids of a text, the same logits up to rounding and, from F32, the same greedy
text over 100 tokens. What its rounding is: GELU is looked up in a table of float16, so that models
with it differ by a thousandth of what logits scatter; for F16, BF16 and Q8_0 it rounds what each
matrix is multiplied with to that type, too. SentencePiece's tokenizers, whose merges are written as
scores, must give the ids of Hugging Face `tokenizers`. --file does the same with files of others. Needs
llama-cpp-python beside what check_gguf_model.py needs. Exit code 1 when a comparison fails.
"""

import random
from pathlib import Path

import llama_cpp
import numpy as np
from transformers import LlamaConfig, LlamaForCausalLM

import checker
from check_gguf_model import TYPES, export, make_models
from check_gguf_tokenizer import write
from models import stream_of
from texts import CORPUS, every_code_point, random_strings
from tokenizer_kinds import KINDS

# Limits on the root mean square difference of logits, divided by their standard deviation.
LIMITS = {"f32": 1e-5, "f16": 3e-3, "bf16": 3e-2, "q8_0": 1e-1}
TABLE_LIMIT = 2e-3
NEW_TOKENS = 100
PROMPT = "Mina has"


def has_gelu(architecture):
    return architecture in ("gpt2", "gptneox", "gemma", "gemma2", "gemma3", "starcoder2")


def open_llama(path, tokens):
    return llama_cpp.Llama(str(path), n_ctx=tokens, n_batch=tokens, n_ubatch=tokens, n_threads=2, type_k=0, type_v=0,
                           flash_attn=False, logits_all=True, verbose=False)


def ids_of(llama, text):
    return llama.tokenize(text.encode(), add_bos=False, special=False)


def logits_of(llama, ids):
    llama.reset()
    llama.eval([int(id) for id in ids])
    return np.array(llama.scores[:len(ids)])


def greedy(llama, prompt, silent, count):
    """Returns `count` tokens, and whether two candidates were ever so close that rounding decides."""
    ids = ids_of(llama, prompt)
    llama.reset()
    llama.eval(ids)
    new, close = [], False
    for _ in range(count):
        logits = np.array(llama.scores[llama.n_tokens - 1])
        logits[silent] = -np.inf
        best = np.partition(logits, -2)[-2:]
        close = close or best[1] - best[0] < 1e-3 * logits[np.isfinite(logits)].std()
        new.append(int(logits.argmax()))
        llama.eval(new[-1:])
    return llama.detokenize(new).decode(errors="replace"), close


def silent_ids(llama):
    vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
    hidden = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN | llama_cpp.LLAMA_TOKEN_ATTR_UNUSED
    return [id for id in range(llama.n_vocab()) if llama_cpp.llama_vocab_get_attr(vocabulary, id) & hidden]


def compare(table, program, path, architecture, kind, limit):
    _, arrays = program.evaluate(path)
    begin, end = arrays["offsets"][:2]
    llama = open_llama(path, max(int(end - begin), NEW_TOKENS + 40))
    table.add("llama.cpp: token ids that differ", ids_of(llama, checker.TEXT) != stream_of(arrays))
    expected = arrays["logits"][begin:end]
    difference = logits_of(llama, arrays["tokens"][begin:end]) - expected
    error = np.sqrt(np.mean(difference ** 2)) / expected.std()
    table.add(f"llama.cpp: logits of {architecture}, {kind}, in standard deviations", error, limit)
    if kind == "f32":
        text, close = greedy(llama, PROMPT, silent_ids(llama), NEW_TOKENS)
        got = program.greedy(path, PROMPT, NEW_TOKENS)
        if got != text and not close:
            checker.note(f"{path.name}: llama.cpp {text!r}, headlight {got!r}")
        table.add("llama.cpp: greedy texts that differ", got != text and not close)
    llama.close()


def check_tokenizer(table, program, kind, seed):
    """A small Llama with a tokenizer whose merges are those of scores, exported."""
    corpus = CORPUS.read_text(encoding="utf-8")
    folder = program.folder / kind.replace(" ", "_")
    expected = write(program.folder / "scores.gguf", KINDS[kind](corpus), None, kind.startswith("Gemma"))
    config = LlamaConfig(vocab_size=expected.get_vocab_size(), hidden_size=32, intermediate_size=64,
                         num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64)
    LlamaForCausalLM(config).save_pretrained(folder)
    expected.save(str(folder / "tokenizer.json"))
    llama = llama_cpp.Llama(str(export(program, folder, "f32")), vocab_only=True, verbose=False)
    # llama.cpp ends texts at a zero byte and adds a blank to an empty text.
    texts = [text for text in random_strings(random.Random(seed), 1000) + every_code_point()[1:] + [corpus[:100000]] if text]
    wrong = [text for text in texts if llama.tokenize(text.encode(), add_bos=False, special=True)
             != expected.encode(text, add_special_tokens=False).ids]
    table.add(f"llama.cpp: texts with other ids, {kind}'s tokenizer", len(wrong))
    llama.close()


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


if __name__ == "__main__":
    checker.main(__doc__, check, {"--file": dict(nargs="*", type=Path, default=[])})
