"""Compares the token ids of exported GGUF files in llama.cpp (the wheel xllamacpp) with those of the tokenizer
that was exported. Where they differ for a text of a case, `headlight export` must have warned.

The tokenizers are those of tokenizer_kinds.py with flags of added tokens, NFC, Phi-3's rules for blanks and
names of files by which llama.cpp chooses a tokenizer. A file that passes through a folder must keep
add_space_prefix and unknown_token_id.
"""

import json
import tempfile
from pathlib import Path

import gguf
from tokenizers import Tokenizer

from check_gguf_tokenizer import write
from checker import finish_gguf, note
from llama_server import LlamaCpp
from models import save_small_llama
from texts import CORPUS
from tokenizer_kinds import KINDS

TEXTS = ["They're sure: it's 42!\n\n  The end", "e\u0301a \u1112\u1161\u11ab na\u00efve", "a<mask> b <mask>  c<|user|> \n x",
         "<|user|>\n Once <s> upon</s> \n a<|end|> time", "x<tool>y <tool> z"]


def added(root, content, special=True, **flags):
    """Adds a token behind the others, or changes its flags."""
    known = [token for token in root["added_tokens"] if token["content"] == content]
    vocab = root["model"]["vocab"]
    id = vocab.get(content, max([len(vocab) - 1, *(token["id"] for token in root["added_tokens"])]) + 1)
    token = known[0] if known else {"id": id, "content": content}
    token.update({"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special, **flags})
    if not known:
        root["added_tokens"].append(token)


def made(kind, *tokens):
    tokenizer = KINDS[kind](CORPUS.read_text(encoding="utf-8")[:20000])
    if kind == "Llama 2":  # with the merges of scores
        with tempfile.TemporaryDirectory() as name:
            tokenizer = write(Path(name) / "scores.gguf", tokenizer, None)
    root = json.loads(tokenizer.to_str())
    root["added_tokens"] = [dict(token, single_word=False, lstrip=False, rstrip=False, normalized=False)
                            for token in root["added_tokens"] if token["special"]]
    for content, special, flags in tokens:
        added(root, content, special, **flags)
    return root


def phi3():
    """Blanks disappear behind all special tokens but three."""
    return made("Llama 2", ("<|endoftext|>", True, {}), ("<|user|>", True, {"rstrip": True}),
                ("<|end|>", True, {"rstrip": True}), ("</s>", True, {"rstrip": True}))


CASES = {
    "toy": made("Llama 3"),
    "qwen": made("Qwen2"),
    "smol": made("SmolLM2"),
    "tool": made("Llama 3", ("<tool>", False, {})),
    "my-phi3-ft": made("Llama 3"),
    "PHI-3": made("Llama 2", ("<|user|>", True, {})),
    "modern-bert": made("Llama 3", ("<mask>", True, {})),
    "mask": made("Llama 3", ("<mask>", True, {"lstrip": True})),
    "strips": made("Llama 3", ("<|user|>", True, {"rstrip": True})),
    "word": made("Llama 3", ("<tool>", False, {"single_word": True})),
    "llama": made("Llama 2", ("<tool>", False, {})),
    "normalized": made("Llama 2", ("<tool>", False, {"normalized": True})),
    "blanks": phi3(),
}


def export(program, source, out):
    return program.json("export", source, "--to", "hf" if out.suffix == "" else "gguf", "--out", out)["warnings"]


def model_of(name, root, folder):
    ids = [*root["model"]["vocab"].values(), *(token["id"] for token in root["added_tokens"])]
    save_small_llama(folder, max(ids) + 1)
    (folder / "tokenizer.json").write_text(json.dumps(root))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')


def compare(program, name, root, scratch):
    folder = scratch / f"{name}-model"
    folder.mkdir()
    model_of(name, root, folder)
    path = scratch / f"{name}.gguf"
    warnings = [line for line in export(program, folder, path) if line.startswith("llama.cpp ")]
    expected = Tokenizer.from_str(json.dumps(root))
    llama = LlamaCpp(path)
    wrong = [text for text in TEXTS if llama.ids(text) != expected.encode(text, add_special_tokens=False).ids]
    note(f"{name}: {len(wrong)} texts differ; {warnings}")
    for text in wrong:
        note(f"  {text!r}: {llama.ids(text)}, {expected.encode(text, add_special_tokens=False).ids}")
    return bool(wrong and not warnings)


def lost_keys(program, path, scratch):
    """Returns the keys that a file loses which llama.cpp's converter has written, through a folder."""
    keys = {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.unknown_token_id": 0}
    given = scratch / "given.gguf"
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(given, "llama")
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key not in (*keys, "general.architecture", "tokenizer.huggingface.json"):
            kind = field.types[0]
            writer.add_key_value(key, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    writer.add_add_space_prefix(False)
    writer.add_unk_token_id(0)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data)
    finish_gguf(writer)
    folder, again = scratch / "folder", scratch / "again.gguf"
    export(program, given, folder)
    export(program, folder, again)
    fields = gguf.GGUFReader(again).fields
    return [key for key, value in keys.items() if key not in fields or fields[key].contents() != value]


def check(table, program, _):
    for case, root in CASES.items():
        table.good("llama.cpp: other ids without a warning", not compare(program, case, root, program.folder), case)
    lost = lost_keys(program, program.folder / "smol.gguf", program.folder)
    table.count("GGUF keys lost through a folder", len(lost), 2, " ".join(lost))
