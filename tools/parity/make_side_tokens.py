#!/usr/bin/env python3
"""Writes tests/formats/side_tokens.json: folders whose tokenizer.json has other files beside it, and the
ids that transformers' AutoTokenizer gives some texts there.

  pip install transformers==5.24.0 tokenizers==0.23.3
  tools/parity/make_side_tokens.py
"""

import copy
import json
import pathlib
import tempfile

import tokenizer_kinds
from checker import ROOT
from transformers import AutoTokenizer

CORPUS = "Once upon a time there was a key. They're sure: it's 42!\n\n  The end, at last.\n" * 3
END = "<|endoftext|>"
BACKEND = {"tokenizer_class": "PreTrainedTokenizerFast"}
TEXTS = [
    "the key <s> time</s>.<x>  Once<y> \n a <|endoftext|> there <z>upon<z> z",
    "time<mask> key \u00e9<pad>x<|endoftext|>",
]


def byte_level():
    return json.loads(tokenizer_kinds.byte_bpe([CORPUS], 286, [END]).to_str())


def marks():
    tokenizer_kinds.VOCABULARY = 300
    root = json.loads(tokenizer_kinds.KINDS["Llama 2"](CORPUS).to_str())
    root["added_tokens"] = [dict(token, single_word=False, lstrip=False, rstrip=False, normalized=False)
                            for token in root["added_tokens"] if token["special"]]
    return root


def bert():
    tokenizer_kinds.VOCABULARY = 120
    return json.loads(tokenizer_kinds.KINDS["BERT"](CORPUS + "\nthe The \u00e9t\u00e9 ete Time").to_str())


BASES = {"bytes": byte_level(), "marks": marks(), "bert": bert()}


def added(content, id, special=True, **flags):
    token = {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": not special}
    return {"id": id, **token, "special": special, **flags}


def token(content, **flags):
    return {"__type": "AddedToken", "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, **flags}


def decoder(*tokens):
    """added_tokens_decoder of (id, content, special, flags)."""
    return {str(id): {k: v for k, v in added(content, 0, special, **flags).items() if k != "id"}
            for id, content, special, flags in tokens}


def vocab_with(*names):
    """Changes a base: names are in its vocabulary, but not among the added tokens."""
    vocab = BASES["bytes"]["model"]["vocab"]
    return {"/model/vocab": {**vocab, **{name: len(vocab) + i for i, name in enumerate(names)}}}


def template(*items):
    """TemplateProcessing of names and ids around the text A."""
    part = {"Sequence": {"id": "A", "type_id": 0}}
    single = [part if item == "A" else {"SpecialToken": {"id": item, "type_id": 0}} for item in items]
    pair = single + [{"Sequence": {"id": "B", "type_id": 1}}]
    vocab = BASES["bytes"]["model"]["vocab"]
    special = {item: {"id": item, "ids": [vocab[item]], "tokens": [item]} for item in items if item != "A"}
    return {"/post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}}


def without_bytes(count):
    """Changes a base: some bytes above 0xA0 have no token."""
    vocab = BASES["bytes"]["model"]["vocab"]
    kept = [name for name, id in sorted(vocab.items(), key=lambda item: item[1]) if not 95 <= id < 95 + count]
    return {"/model/vocab": {name: i for i, name in enumerate(kept)}}


def case(name, config=None, map=None, old=None, model="llama", base="bytes", change=None, files=None):
    beside = {"config.json": {"model_type": model}}
    for file, content in (("tokenizer_config.json", config), ("special_tokens_map.json", map), ("added_tokens.json", old)):
        if content is not None:
            beside[file] = content
    return {"name": name, "base": base, "change": change or {}, "files": beside, "apart": files or False}


def cases():
    yield case("nothing beside it")
    yield case("decoder with ids beyond", {**BACKEND, "added_tokens_decoder": decoder(
        (400, "<x>", True, {}), (300, "<s>", False, {"lstrip": True}))})
    yield case("decoder changes flags", {**BACKEND, "added_tokens_decoder": decoder(
        (0, END, True, {"lstrip": True, "rstrip": True}))})
    yield case("decoder unsets special", {**BACKEND, "added_tokens_decoder": decoder((0, END, False, {}))})
    yield case("decoder hides the map", {**BACKEND, "added_tokens_decoder": decoder((0, END, True, {}))},
               {"bos_token": "<s>"}, {"<x>": 300})
    yield case("single words", {**BACKEND, "added_tokens_decoder": decoder((300, "z", False, {"single_word": True}))})
    yield case("begin and end are new", {**BACKEND, "bos_token": "<s>", "eos_token": "</s>"})
    yield case("begin and end are only in the vocabulary", {**BACKEND, "bos_token": "<s>", "eos_token": "</s>"},
               change=vocab_with("<s>", "</s>"))
    yield case("mask strips", {**BACKEND, "mask_token": token("<mask>", lstrip=True, rstrip=True)})
    yield case("padding of tokenizer.json", BACKEND, change={"/padding": {
        "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "<pad>"}})
    yield case("truncation of tokenizer.json", BACKEND, change={"/truncation": {
        "max_length": 3, "direction": "Right", "strategy": "LongestFirst", "stride": 0}})
    yield case("extra tokens", {**BACKEND, "extra_special_tokens": ["<x>", "<s>"], "pad_token": "<pad>"})
    yield case("extra tokens by name", {**BACKEND, "extra_special_tokens": {"image_token": "<x>"}, "video_token": "<y>"})
    yield case("additional tokens", {**BACKEND, "additional_special_tokens": ["<y>", token("<z>", rstrip=True)]})
    yield case("additional tokens beside extra ones", {**BACKEND, "additional_special_tokens": ["<y>"],
                                                       "extra_special_tokens": ["<x>"]})
    yield case("map", BACKEND, {"bos_token": {"content": "<s>", "lstrip": True, "rstrip": False, "normalized": False,
                                              "single_word": False}, "additional_special_tokens": ["<z>"]})
    yield case("map overrides the settings", {**BACKEND, "bos_token": "<x>"}, {"bos_token": "<y>", "pad_token": "<pad>"})
    yield case("added_tokens.json", {**BACKEND, "bos_token": "<s>"}, old={"<x>": 400, "<s>": 399})
    yield case("names in the settings", {**BACKEND, "image_token": "<x>", "boi_token": token("<z>", rstrip=True)})
    yield case("split_special_tokens", {**BACKEND, "split_special_tokens": True, "bos_token": "<s>",
                                        "added_tokens_decoder": decoder((0, END, True, {}), (286, "<x>", False, {}))})
    yield case("add_bos_token beside tokenizer.json", {**BACKEND, "bos_token": END, "eos_token": END,
                                                       "add_bos_token": True, "add_eos_token": True})
    yield case("add_bos_token = false beside a template", {**BACKEND, "bos_token": END, "add_bos_token": False},
               change=template(END, "A"))
    yield case("blank first for no class", {**BACKEND, "add_prefix_space": True})
    yield case("blank first for GPT-2", {"add_prefix_space": True}, model="gpt2")
    yield case("no blank first for GPT-2", {"tokenizer_class": "GPT2TokenizerFast"}, change={
        "/pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}})
    yield case("GPT-2's end is only in the vocabulary", None, model="gpt2", change={"/added_tokens": []})
    yield case("GPT-NeoX drops the template", {"tokenizer_class": "GPTNeoXTokenizerFast"}, model="gpt_neox",
               change=template(END, "A"))
    yield case("Llama's class with bytes", {"tokenizer_class": "LlamaTokenizerFast", "add_prefix_space": True,
                                            "add_bos_token": True, "bos_token": "<s>"})
    yield case("Llama without a mark first", {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False,
                                              "legacy": False}, base="marks")
    yield case("tokens beside marks", {**BACKEND, "pad_token": "<pad>", "extra_special_tokens": ["<x>"]}, base="marks")
    yield case("vocab.json", {"bos_token": "<s>"}, old={"<x>": 286, "<z>": 287}, model="gpt2", files=True)
    yield case("vocab.json, add_bos_token", {"bos_token": "<s>", "add_bos_token": True, "add_prefix_space": True},
               model="gpt2", files=True)
    yield case("vocab.json, add_eos_token", {"eos_token": "</s>", "bos_token": "<s>", "add_bos_token": True,
                                             "add_eos_token": True}, model="gpt2", files=True)
    yield case("template of the text alone", BACKEND, change=template("A"))
    yield case("template around a text", BACKEND, change=template(END, "A", END))
    for kind in ("BertProcessing", "RobertaProcessing"):
        more = {"trim_offsets": True, "add_prefix_space": False} if kind.startswith("Roberta") else {}
        yield case(kind, BACKEND, change={"/post_processor": {"type": kind, "sep": [END, 0], "cls": [END, 0], **more}})
    yield case("bytes without tokens", BACKEND, change=without_bytes(60))
    yield case("bytes without tokens, unknown", BACKEND, change={**without_bytes(60), "/model/unk_token": END})
    yield case("bytes without tokens, unknown ones together", BACKEND,
               change={**without_bytes(60), "/model/unk_token": END, "/model/fuse_unk": True})
    yield case("BERT's case", {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": False,
                               "tokenize_chinese_chars": False}, model="bert", base="bert")
    yield case("gap in the vocabulary", {**BACKEND, "extra_special_tokens": ["<x>"]},
               change={"/model/vocab": {**BASES["bytes"]["model"]["vocab"], "<y>": 300}})


def changed(root, changes):
    root = copy.deepcopy(root)
    for place, value in changes.items():
        *parents, key = place[1:].split("/")
        owner = root
        for parent in parents:
            owner = owner[parent]
        owner[key] = value
    return root


def write_folder(folder, one):
    root = changed(BASES[one["base"]], one["change"])
    if one["apart"]:
        (folder / "vocab.json").write_text(json.dumps(root["model"]["vocab"]))
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in root["model"]["merges"]]
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in merges))
    else:
        (folder / "tokenizer.json").write_text(json.dumps(root))
    for file, content in one["files"].items():
        (folder / file).write_text(json.dumps(content))


def opened(one):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_folder(folder, one)
        return AutoTokenizer.from_pretrained(folder)


def main():
    entries = []
    for one in cases():
        tokenizer = opened(one)
        one["texts"] = [{"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]} for text in TEXTS]
        one["prompt"] = tokenizer("The end")["input_ids"]
        entries.append(json.dumps(one, ensure_ascii=False))
    bases = json.dumps(BASES, ensure_ascii=False)
    target = ROOT / "tests/formats/side_tokens.json"
    target.write_text('{"bases": ' + bases + ',\n"cases": [\n' + ",\n".join(entries) + "\n]}\n")


if __name__ == "__main__":
    main()
