"""Compares the tokens of conversations with transformers.

usage: check_chat_tokens.py --write       (tests/formats/chat_templates/tokens.jsonl)

Draws tokenizers of every kind of tokenizer_kinds.py and Unigram tokenizers, with special tokens that take white space
along, stand alone or are looked for in normalized text. For each of four templates, `headlight tokenizer show --template` must give the ids of
apply_chat_template(tokenize=True), and learn those after the prompt.
Names of special tokens in messages are left out: Headlight reads them as text.
Needs transformers (made with 5.24).
"""

import json
import random
import sys

import tokenizers
import transformers
from transformers import PreTrainedTokenizerFast

import tokenizer_kinds
from checker import ROOT, Headlight, Table
from make_chat_templates import FOLDER, write_lines

CORPUS = "Once upon a time there was a key. They're sure: it's 42!\n\n  The end, at last.\n" * 3
TEMPLATES = {
    "chatml": "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' + '\n' }}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "phi3": "{% for m in messages %}{{ '<|' + m.role + '|>' + '\n' + m.content + '<|end|>' + '\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|assistant|>' + '\n' }}{% endif %}",
    "brackets": "{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}"
                "{{ ' ' + m.content | trim + ' ' + '<|end|>' }}{% endif %}{% endfor %}",
    "words": "{% for m in messages %}{{ m.role ~ ':' ~ m.content ~ '<|im_end|>' }}{% endfor %}"
             "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}",
}
UNIGRAMS = {"Unigram": False, "Unigram, bytes": True}
transformers.logging.set_verbosity_error()
NAMES = ["<|im_start|>", "<|im_end|>", "<|user|>", "<|assistant|>", "<|end|>", "[INST]", "[/INST]"]
FLAGS = ["lstrip", "rstrip", "single_word", "normalized"]
TEXTS = ["Is the key here?", "  They're  there.\n", "\n\nAt last:\n    the end", "e\u0301\u1112\u1161\u11ab \u212b", "42 keys\t\n",
         "Été \ud55c\uae00 \U0001f917\u2581x", "a", "upon a time ", "Once", "x\u200by 1234"]


def unigram(byte_fallback: bool) -> dict:
    """A Unigram tokenizer.json with the steps and keys that Headlight writes for a tokenizer.model: the rules without
    a charsmap, a mark before the text and marks for blanks."""
    mark = tokenizer_kinds.MARK
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend(mark), tokenizers.normalizers.Replace(" ", mark)])
    special = ["<unk>", "<s>", "</s>"] + tokenizer_kinds.BYTES * byte_fallback
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>",
                                                 show_progress=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement=mark)
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    made = json.loads(tokenizer.to_str())
    made["pre_tokenizer"] = None
    made["model"]["byte_fallback"] = byte_fallback
    made["added_tokens"] = made["added_tokens"][:3]
    made["normalizer"]["sentencepiece"] = {"prefix": True, "single_blanks": False, "user_defined": [], "unused": []}
    made["decoder"] = json.loads(tokenizer_kinds.KINDS["Llama 2"](CORPUS).to_str())["decoder"]
    return made


def made_tokenizer(kind: str) -> dict:
    if kind in UNIGRAMS:
        return unigram(UNIGRAMS[kind])
    return json.loads(tokenizer_kinds.KINDS[kind](CORPUS).to_str())


def drawn_tokens(draw: random.Random) -> list[dict]:
    """Special tokens with flags, as entries of added_tokens."""
    tokens = []
    for name in NAMES:
        flags = {flag: draw.random() < 0.3 for flag in FLAGS}
        tokens.append({"content": name, **flags, "special": draw.random() < 0.85})
    return tokens


def with_tokens(tokenizer: dict, tokens: list[dict]) -> dict:
    """A tokenizer.json with more added tokens."""
    made = json.loads(json.dumps(tokenizer))
    vocab = made["model"]["vocab"]  # of Unigram: pieces with scores
    pieces = [entry if isinstance(entry, str) else entry[0] for entry in vocab]
    known = [token["content"] for token in made["added_tokens"]] + pieces
    count = len(set(known))
    for token in tokens:
        if token["content"] not in known:
            made["added_tokens"].append({"id": count, **token})
            count += 1
    return made


def chats(draw: random.Random) -> list[list[dict]]:
    result = []
    for turns in (1, 2, 3):
        roles = ["user", "assistant"] * turns
        result.append([{"role": role, "content": draw.choice(TEXTS)} for role in roles])
    return result


def expected(tokenizer: dict, template: str, chat: list[dict]) -> dict:
    """Ids and learned tokens as transformers has them. Learned is what follows the tokens of the prompt; where these
    are not the first of the conversation, because they join across the border, what follows the text of the prompt."""
    reader = PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(json.dumps(tokenizer)),
                                     chat_template=template)

    def chat_as(**options):
        whole = reader.apply_chat_template(chat, return_dict=False, **options)
        return whole, reader.apply_chat_template(chat[:-1], add_generation_prompt=True, return_dict=False, **options)

    whole, prompt = chat_as(tokenize=True)
    if whole[:len(prompt)] == prompt:
        learned = [i >= len(prompt) for i in range(len(whole))]
    else:
        text, begin = chat_as(tokenize=False)
        border = next((i for i, (a, b) in enumerate(zip(text, begin)) if a != b), len(begin))
        places = reader(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        learned = [max(end, start + 1) > border for start, end in places]
    return {"ids": whole, "learned": learned, "prompt": prompt}


def compare(table: Table, program: Headlight, kind: str, draw: random.Random) -> None:
    tokens = drawn_tokens(draw)
    for token in tokens if kind in UNIGRAMS else []:
        token["normalized"] = False  # Headlight's files of a tokenizer.model have no such token
    tokenizer = with_tokens(made_tokenizer(kind), tokens)
    folder = program.folder
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    for template_name, template in TEMPLATES.items():
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
        for chat in chats(draw):
            want = expected(tokenizer, template, chat)
            have = program.learned(folder, {"messages": chat}, "--learn", "last")
            table.good(f"chat tokens, {kind}", have == list(zip(want["ids"], want["learned"])),
                       "\n  ".join(map(str, [template_name, chat, tokenizer["added_tokens"], want, have])))


def write() -> None:
    """Writes conversations with the tokenizers of tests/tokenizers/data/pipeline_tokenizers.json."""
    draw = random.Random(1)
    entries = []
    for entry in json.loads((ROOT / "tests/tokenizers/data/pipeline_tokenizers.json").read_text()):
        for template in TEMPLATES.values():
            tokens = drawn_tokens(draw)
            made = with_tokens(entry["tokenizer"], tokens)
            chat = draw.choice(chats(draw))
            added = made["added_tokens"][len(entry["tokenizer"]["added_tokens"]):]
            entries.append({"kind": entry["kind"], "added": added, "template": template, "messages": chat,
                            **expected(made, template, chat)})
    write_lines(FOLDER / "tokens.jsonl", entries)


def check(table: Table, program: Headlight, options) -> None:
    tokenizer_kinds.VOCABULARY = 400
    for kind in [*tokenizer_kinds.KINDS, *UNIGRAMS]:
        compare(table, program, kind, random.Random(f"{options.seed} {kind}"))

if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    write()
