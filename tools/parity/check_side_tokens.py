"""Compares ids of `headlight tokenizer encode` with those of transformers' AutoTokenizer, for folders whose
tokenizer.json has drawn files beside it: tokens, flags and settings of make_side_tokens.py in new combinations.

Headlight must give the same ids, or end with an error that names the key. AutoTokenizer refuses some
combinations itself; they are drawn again.
"""

import json
import random

import transformers

from checker import note, write_lines
from make_side_tokens import BACKEND, END, TEXTS, added, case, decoder, template, token, vocab_with, write_folder

NAMES = ["<s>", "</s>", "<x>", "<y>", "<z>", "<pad>", "<mask>", "z", END, "key"]
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "image_token"]
CLASSES = [{}, BACKEND, BACKEND, {"tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_class": "LlamaTokenizerFast"},
           {"tokenizer_class": "TokenizersBackend"}, {"tokenizer_class": "GPTNeoXTokenizerFast"}]


def flags(draw):
    return {flag: True for flag in ("lstrip", "rstrip", "single_word", "normalized") if draw.random() < 0.2}


def named(draw, in_map=False):
    name = draw.choice(NAMES)
    if draw.random() < 0.6:
        return name
    whole = token(name, **flags(draw))
    return {key: value for key, value in whole.items() if not in_map or key != "__type"}


def settings(draw):
    config = dict(draw.choice(CLASSES))
    for role in draw.sample(ROLES, draw.randint(0, 4)):
        config[role] = named(draw)
    for key in ("extra_special_tokens", "additional_special_tokens"):
        if draw.random() < 0.25:
            config[key] = [named(draw) for _ in range(draw.randint(0, 3))]
    if draw.random() < 0.1:
        config["extra_special_tokens"] = {"video_token": draw.choice(NAMES), "audio_token": draw.choice(NAMES)}
    if draw.random() < 0.4:
        ids = draw.sample(range(280, 320), 3)
        config["added_tokens_decoder"] = decoder(
            (0, END, True, flags(draw)), *((id, draw.choice(NAMES), draw.random() < 0.5, flags(draw)) for id in ids))
    for flag in ("split_special_tokens", "add_prefix_space", "add_bos_token", "add_eos_token"):
        if draw.random() < 0.15:
            config[flag] = draw.random() < 0.6
    return config


def has_thrice(case):
    """True if a name is given three times. One of about 700 drawn folders with such a name still differs."""
    files = json.dumps(case["files"])
    return any(files.count(json.dumps(name)) > 2 for name in NAMES)


def drawn(draw):
    map = {role: named(draw, True) for role in draw.sample(ROLES, draw.randint(1, 3))} if draw.random() < 0.3 else None
    if map is not None and draw.random() < 0.3:
        map["additional_special_tokens"] = draw.sample(NAMES, 2)
    old = {name: 290 + i for i, name in enumerate(draw.sample(NAMES, 2))} if draw.random() < 0.3 else None
    base = draw.choice(["bytes", "bytes", "marks"])
    change = {}
    if base == "bytes" and draw.random() < 0.3:
        change.update(vocab_with(*draw.sample(NAMES[:7], 3)))
    if base == "bytes" and draw.random() < 0.3:
        change.update(template(END, "A", *([END] if draw.random() < 0.5 else [])))
    if base == "bytes" and draw.random() < 0.3:
        change["/added_tokens"] = [added(END, 0), added("<x>", 286, draw.random() < 0.5, **flags(draw))]
    model = draw.choice(["llama", "llama", "gpt2", "mistral", "gpt_neox"])
    config = settings(draw) if draw.random() < 0.9 else None
    return case("drawn", config, map, old, model, base, change)


def rebuilt(tokenizer, base):
    """True for a class that replaces the stages of tokenizer.json, which Headlight keeps."""
    own = type(tokenizer).__name__ not in ("TokenizersBackend", "PreTrainedTokenizerFast")
    return own and (base == "marks" or type(tokenizer).__name__ == "GPTNeoXTokenizer")


def check(table, program, options):
    transformers.logging.set_verbosity_error()
    draw = random.Random(options.seed)
    texts = write_lines(program.folder / "texts.jsonl", TEXTS)
    drawings = compared = wrong = refused = 0
    while compared < options.cases:
        one = drawn(draw)
        if has_thrice(one):
            continue
        drawings += 1
        folder = program.folder / str(drawings)
        folder.mkdir()
        write_folder(folder, one)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        except Exception:
            continue
        if rebuilt(tokenizer, one["base"]):
            continue
        expected = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
        done = program.start("tokenizer", "encode", folder, texts, "--json")
        got = json.loads(done.stdout)["ids"] if done.returncode == 0 else None
        compared += 1
        refused += got is None and done.returncode == 2
        if got != expected and (got is not None or done.returncode != 2):
            wrong += 1
            note(json.dumps(one["files"]), json.dumps(list(one["change"])), type(tokenizer).__name__, one["base"],
                 f"\n  expected {expected}\n  got      {got} {done.stderr}")
        elif got is None:
            note(f"refused: {done.stderr.strip()}")
    table.count(f"ids with tokens beside tokenizer.json, {refused} refused", wrong, compared)


OPTIONS = {"--cases": dict(type=int, default=60)}
