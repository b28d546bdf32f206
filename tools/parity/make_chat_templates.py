#!/usr/bin/env python3
"""Writes the expected renderings of tests/formats/chat_templates, as transformers makes them.

usage: make_chat_templates.py [--show TEMPLATE CONVERSATION] [--full] [FOLDER]

FOLDER has conversations.jsonl, and a DIALECT.jsonl for templates of one kind. Of the latter, the script keeps the
lines with a template and writes the prompts after them: by conversation null for a refusal, the text for those of
SHOWN, and "FNV-HASH SIZE" for others. --show prints one text instead; --full writes the texts of all. A new template
needs a line {"template": NAME, "package": ..., "licence": ..., "file": ..., "source": TEXT}.
"""

import argparse
import datetime
import json
import pathlib

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/formats/chat_templates"
OTHERS = ("conversations", "tokens")
SHOWN = ("system and user", "tool answer and final answer")


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def dialects(folder=FOLDER):
    """Returns the templates of each file: lines with the name, where it comes from, and the source."""
    return {path: [line for line in lines_of(path) if "source" in line]
            for path in sorted(folder.glob("*.jsonl")) if path.stem not in OTHERS}


def template(name):
    """Returns the source of a template."""
    return next(line["source"] for lines in dialects().values() for line in lines if line["template"] == name)


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 15, 30, 45)


def digest(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x} {len(text.encode())}"


def render(source, case):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")),
                                        bos_token="<bos>", eos_token="<eos>")
    try:
        return tokenizer.apply_chat_template(
            case["messages"], tools=case.get("tools"), chat_template=source,
            add_generation_prompt=case.get("add_generation_prompt", True), tokenize=False,
            **case.get("variables", {}))
    except Exception as error:  # any exception of the template is a refusal
        print(f"    {type(error).__name__}: {error}"[:150])
        return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", nargs="?", default=FOLDER, type=pathlib.Path)
    parser.add_argument("--show", nargs=2)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    chat_template_utils.datetime = FixedTime
    cases = {case["name"]: case for case in lines_of(options.folder / "conversations.jsonl")}
    for case in cases.values():  # the tools of several cases are written once
        if isinstance(case.get("tools"), str):
            case["tools"] = cases[case["tools"]]["tools"]
    if options.show:
        print(render(template(options.show[0]), cases[options.show[1]]), end="")
        return
    for path, templates in dialects(options.folder).items():
        lines = []
        for one in templates:
            print(one["template"])
            lines.append(one)
            for name, case in cases.items():
                text = render(one["source"], case)
                is_shown = text is None or options.full or name in SHOWN
                lines.append({"template": one["template"], "conversation": name,
                              "prompt": text if is_shown else digest(text)})
        write_lines(path, lines)


if __name__ == "__main__":
    main()
