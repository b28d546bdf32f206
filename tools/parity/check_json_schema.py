#!/usr/bin/env python3
"""Checks the grammars of JSON schemas on the JSON-Schema-Test-Suite.

usage: check_json_schema.py HEADLIGHT_SCHEMA_TEXTS SUITE [--draft DRAFT] [--texts N] [--all]

SUITE is the folder json/ of jsonschema's source package; tools/parity/json_schema.sh fetches it. Draws N texts from the
grammar of every schema of the draft. Each text must satisfy the validator of the package jsonschema with the formats of
the draft, and each value that the suite calls invalid must be refused. Ends with 1 otherwise. Prints how many
schemas are enforced, how many have only annotations (the validator accepts all values of the suite), and how many are
refused, by the reason; --all prints each refused schema.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import referencing
import referencing.exceptions
import referencing.jsonschema
from jsonschema.validators import validator_for

SPECIFICATIONS = {
    "draft2020-12": referencing.jsonschema.DRAFT202012,
    "draft2019-09": referencing.jsonschema.DRAFT201909,
    "draft7": referencing.jsonschema.DRAFT7,
    "draft6": referencing.jsonschema.DRAFT6,
    "draft4": referencing.jsonschema.DRAFT4,
}


def groups_of(suite, draft):
    folder = suite / "tests" / draft
    for path in sorted(folder.rglob("*.json")):
        for group in json.loads(path.read_text()):
            yield str(path.relative_to(folder)), group


def registry_of(suite, draft):
    """Returns the schemas that the suite expects at http://localhost:1234/."""
    registry = referencing.Registry()
    for path in sorted((suite / "remotes").rglob("*.json")):
        contents = json.loads(path.read_text())
        try:
            resource = referencing.Resource.from_contents(contents)
        except (TypeError, referencing.exceptions.CannotDetermineSpecification, referencing.jsonschema.UnknownDialect):
            resource = referencing.Resource(contents, SPECIFICATIONS[draft])
        uri = "http://localhost:1234/" + str(path.relative_to(suite / "remotes"))
        registry = registry.with_resource(uri, resource)
    return registry


def answers_of(program, questions):
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=3000)
    return [json.loads(line) for line in done.stdout.splitlines()]


def reason_of(message):
    message = re.sub(r"^json_schema: [^ ]*: ", "", message)
    return re.sub(r"'[^']*'|\d+", "…", message) if "keyword" not in message else message


def is_valid(validator, value):
    try:
        return validator.is_valid(value)
    except (RecursionError, referencing.exceptions.Unresolvable, re.error):
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("--draft", default="draft2020-12", choices=SPECIFICATIONS)
    parser.add_argument("--texts", type=int, default=30)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    groups = list(groups_of(options.suite, options.draft))
    default = getattr(jsonschema, options.draft.replace("draft", "Draft").replace("-", "") + "Validator")
    registry = registry_of(options.suite, options.draft)
    questions = [{"schema": group["schema"], "texts": options.texts,
                  "instances": [json.dumps(test["data"], ensure_ascii=False) for test in group["tests"]]}
                 for _, group in groups]
    counts = collections.Counter()
    reasons = collections.Counter()
    valid = accepted_valid = 0
    for (path, group), answer in zip(groups, answers_of(options.program, questions), strict=True):
        schema = group["schema"]
        name = f"{path}: {group['description']}"
        if "refused" in answer:
            counts["refused"] += 1
            reasons[reason_of(answer["refused"])] += 1
            if options.all:
                print(f"refused  {name}: {answer['refused']}\n         {json.dumps(schema)[:300]}")
            continue
        kind = validator_for(schema, default=default)
        validator = kind(schema, registry=registry, format_checker=kind.FORMAT_CHECKER)
        checks = any(is_valid(validator, test["data"]) is False for test in group["tests"])
        counts["enforced" if checks else "annotation"] += 1
        texts = [text for text in answer["texts"] if text]
        if not texts:
            print(f"NO TEXT  {name}")
            counts["without text"] += 1
        for text in sorted(set(texts)):
            if is_valid(validator, json.loads(text)) is False:
                counts["wrong text"] += 1
                print(f"WRONG    {name}: {text[:300]}\n         {json.dumps(schema)[:600]}")
        for test, accepted in zip(group["tests"], answer["accepted"], strict=True):
            valid += test["valid"]
            accepted_valid += test["valid"] and accepted
            if accepted and is_valid(validator, test["data"]) is False:
                counts["wrong value"] += 1
                print(f"ACCEPTS  {name}: {json.dumps(test['data'])[:300]}\n         {json.dumps(schema)[:600]}")
    for reason, count in reasons.most_common():
        print(f"{count:5} refused: {reason}")
    print(f"{options.draft}: {len(groups)} schemas:", ", ".join(f"{count} {kind}" for kind, count in counts.items()),
          f"; accepts {accepted_valid} of {valid} valid values")
    return any(counts[kind] for kind in ("wrong text", "wrong value", "without text"))


if __name__ == "__main__":
    sys.exit(main())
