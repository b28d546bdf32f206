#!/usr/bin/env python3
"""Writes the expected renderings of tests/formats/chat_templates, as transformers makes them.

usage: make_chat_templates.py [--show TEMPLATE CASE] [FOLDER]

FOLDER has TEMPLATE.jinja files and conversations.json. The script writes TEMPLATE.json for each of
them: by case null for a refusal, the text for the cases of SHOWN, and "FNV-HASH SIZE" for others.
--show prints one text instead.
"""

import argparse
import datetime
import json
import pathlib

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

SHOWN = ("system and user", "tool answer and final answer")


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 15, 30, 45)


def digest(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x} {len(text.encode())}"


def render(template, case):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")),
        bos_token="<bos>", eos_token="<eos>")
    try:
        return tokenizer.apply_chat_template(
            case["messages"], tools=case.get("tools"), chat_template=template,
            add_generation_prompt=case.get("add_generation_prompt", True), tokenize=False,
            **case.get("variables", {}))
    except Exception as error:  # any exception of the template is a refusal
        print(f"    {type(error).__name__}: {error}"[:150])
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="tests/formats/chat_templates")
    parser.add_argument("--show", nargs=2)
    parser.add_argument("--full", action="store_true", help="write the texts of all cases")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder)
    chat_template_utils.datetime = FixedTime
    cases = json.loads((folder / "conversations.json").read_text())
    for case in cases:  # the tools of several cases are written once
        if isinstance(case.get("tools"), str):
            case["tools"] = next(c for c in cases if c["name"] == case["tools"])["tools"]
    if options.show:
        case = next(c for c in cases if c["name"] == options.show[1])
        print(render((folder / f"{options.show[0]}.jinja").read_text(), case), end="")
        return
    for file in sorted(folder.glob("*.jinja")):
        print(file.stem)
        expected = {}
        for case in cases:
            text = render(file.read_bytes().decode(), case)
            is_shown = options.full or case["name"] in SHOWN
            expected[case["name"]] = text if text is None or is_shown else digest(text)
        file.with_suffix(".json").write_text(
            json.dumps(expected, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    main()
