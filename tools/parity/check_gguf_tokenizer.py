"""Compares the tokenizers that Headlight makes of GGUF metadata with those the models came with.

Small tokenizers of several models (tokenizer_kinds.py) are written as llama.cpp writes them, by the
Python package gguf, and `headlight tokenizer encode` must give the ids of `tokenizers` for random
strings with added tokens and for every code point. SentencePiece's merges are made of scores by
transformers. --gguf compares a model's own file with what transformers makes of it; transformers
does not cut numbers into digits for "smollm" and its kin, as those models and llama.cpp do, so that
step is put back.
"""

import json
import pathlib
import random

import gguf
from tokenizers import Tokenizer, pre_tokenizers
from transformers import AutoTokenizer
from transformers.tokenization_utils_base import generate_merges

from checker import finish_gguf
from texts import CORPUS, compare_with_tokenizers, every_code_point, random_strings, share_of, with_added_tokens
from tokenizer_kinds import BYTES, KINDS, MARK

# tokenizer.ggml.pre of each kind; None: SentencePiece.
PRE = {"Llama 3": "llama-bpe", "Qwen2": "qwen2", "SmolLM2": "smollm", "Mistral Nemo": "tekken", "Llama 2": None,
       "Gemma 3": None}
DIGITS = ("smollm", "starcoder", "refact")


def merge_texts(model):
    return [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]


def scores_of(model, tokens):
    """As Llama's: minus the rank of the merge that makes a token, single characters last."""
    rank = {merge.replace(" ", ""): -float(i) for i, merge in reversed(list(enumerate(merge_texts(model))))}
    return [rank.get(token, -1e6 - i) for i, token in enumerate(tokens)]


def plain(root, pre):
    """Removes what GGUF cannot express: added tokens ignore their neighbours, bytes without tokens are lost."""
    for token in root["added_tokens"]:
        token.update(single_word=False, lstrip=False, rstrip=False, normalized=False)
    if pre:
        root["model"]["unk_token"] = None
    root["model"]["ignore_merges"] = pre in ("llama-bpe", "tekken")


def token_types(root, tokens):
    added = {token["content"]: token["special"] for token in root["added_tokens"]}
    unknown = root["model"].get("unk_token")
    kinds = gguf.TokenType
    return [
        kinds.UNKNOWN if token == unknown
        else (kinds.CONTROL if added[token] else kinds.USER_DEFINED) if token in added
        else kinds.BYTE if token in BYTES and root["model"].get("byte_fallback")
        else kinds.NORMAL
        for token in tokens
    ]


def is_run(token):
    return len(token) > 1 and not token.strip(MARK)


def merge_runs_first(root):
    """Runs of marks are made of shorter ones, before anything else merges, and are no added tokens."""
    runs = sorted((t["content"] for t in root["added_tokens"] if is_run(t["content"])), key=len)
    root["model"]["vocab"].update({token["content"]: token["id"] for token in root["added_tokens"]})
    root["added_tokens"] = [token for token in root["added_tokens"] if token["content"] not in runs]
    halves = [MARK] + runs
    pairs = [(run[:i], run[i:]) for run in runs for i in range(len(run) - 1, 0, -1)]
    first = [pair for pair in pairs if pair[0] in halves and pair[1] in halves]
    root["model"]["merges"] = first + [merge for merge in root["model"]["merges"] if tuple(merge) not in first]


def write(path, tokenizer, pre, gemma=False):
    """Writes the GGUF file; returns the tokenizer whose ids are expected."""
    root = json.loads(tokenizer.to_str())
    plain(root, pre)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(vocabulary, key=vocabulary.get)
    types = token_types(root, tokens)
    writer = gguf.GGUFWriter(path, "gemma3" if gemma else "llama")
    writer.add_tokenizer_model("llama" if pre is None else "gpt2")
    writer.add_tokenizer_pre(pre or "default")
    user_defined = [kind == gguf.TokenType.USER_DEFINED for kind in types]
    writer.add_token_list([" " * len(t) if u and is_run(t) else t for t, u in zip(tokens, user_defined)])
    writer.add_token_types(types)
    if pre is None:
        scores = scores_of(root["model"], tokens)
        writer.add_token_scores(scores)
        pieces = {t: s for t, s, kind in zip(tokens, scores, types) if kind == gguf.TokenType.NORMAL}
        root["model"]["merges"] = generate_merges({t: vocabulary[t] for t in pieces}, pieces)
        if gemma:
            writer.add_add_space_prefix(False)
            merge_runs_first(root)
    else:
        writer.add_token_merges(merge_texts(root["model"]))
    special = [token["id"] for token in root["added_tokens"] if token["special"]]
    writer.add_bos_token_id(special[0])
    writer.add_eos_token_id(special[-1])
    finish_gguf(writer)
    return Tokenizer.from_str(json.dumps(root))


def opened(path):
    """Returns the tokenizer that transformers makes of a file, with the step for digits that it leaves out."""
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).backend_tokenizer
    pre = gguf.GGUFReader(path).fields.get("tokenizer.ggml.pre")
    if pre is not None and pre.contents() in DIGITS:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), tokenizer.pre_tokenizer])
    return tokenizer


def check(table, program, options):
    draw = random.Random(options.seed)
    corpus = CORPUS.read_text(encoding="utf-8")
    strings = random_strings(draw, options.strings)
    pairs = {str(path): (path, opened(path)) for path in options.gguf}
    for kind, pre in () if options.gguf else PRE.items():
        path = program.folder / f"{kind}.gguf"
        pairs[kind] = path, write(path, KINDS[kind](corpus), pre, kind.startswith("Gemma"))
    for kind, (path, tokenizer) in pairs.items():
        texts = with_added_tokens(draw, strings, tokenizer) + share_of(draw, every_code_point(), options.share)
        compare_with_tokenizers(table, f"GGUF, {kind}", program, path, tokenizer, texts)


OPTIONS = {"--gguf": dict(type=pathlib.Path, nargs="*", default=[], help="files of models"),
           "--strings": dict(type=int, default=2000),
           "--share": dict(type=float, default=1.0, help="of all code points, drawn anew")}
