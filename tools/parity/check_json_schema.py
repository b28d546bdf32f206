"""Checks the grammars of JSON schemas on the JSON-Schema-Test-Suite.

The program is headlight_schema_texts. SUITE is the folder json/ of jsonschema's source package; peers.sh fetches it.
Draws N texts from the grammar of every schema of a draft. Each text must satisfy the validator of the package jsonschema
with the formats of the draft, and each value that the suite calls invalid must be refused. Prints how many schemas are
enforced, how many have only annotations (the validator accepts all values of the suite), and how many are refused, by
the reason; --all prints each refused schema.
"""

import collections
import json
import re
import subprocess
from pathlib import Path

import jsonschema
import referencing
import referencing.exceptions
import referencing.jsonschema
from jsonschema.validators import validator_for

from checker import Headlight, Table, note

DRAFTS = {"draft2020-12": "DRAFT202012", "draft2019-09": "DRAFT201909", "draft7": "DRAFT7", "draft6": "DRAFT6",
          "draft4": "DRAFT4"}


def groups_of(suite: Path, draft: str) -> list[tuple[str, dict]]:
    """Returns the schemas with their tests, by a name."""
    folder = suite / "tests" / draft
    return [(f"{draft}, {path.relative_to(folder)}: {group['description']}", group)
            for path in sorted(folder.rglob("*.json")) for group in json.loads(path.read_text())]


def registry_of(suite: Path, draft: str) -> referencing.Registry:
    """Returns the schemas that the suite expects at http://localhost:1234/."""
    registry = referencing.Registry()
    for path in sorted((suite / "remotes").rglob("*.json")):
        contents = json.loads(path.read_text())
        try:
            resource = referencing.Resource.from_contents(contents)
        except (TypeError, referencing.exceptions.CannotDetermineSpecification, referencing.jsonschema.UnknownDialect):
            resource = referencing.Resource(contents, getattr(referencing.jsonschema, DRAFTS[draft]))
        registry = registry.with_resource(f"http://localhost:1234/{path.relative_to(suite / 'remotes')}", resource)
    return registry


def answers_of(program: str, groups: list, texts: int) -> list[dict]:
    lines = "".join(json.dumps({"schema": group["schema"], "texts": texts, "instances": [
        json.dumps(test["data"], ensure_ascii=False) for test in group["tests"]]}) + "\n" for _, group in groups)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=3000)
    return [json.loads(line) for line in done.stdout.splitlines()]


def reason_of(message: str) -> str:
    message = re.sub(r"^json_schema: [^ ]*: ", "", message)
    return re.sub(r"'[^']*'|\d+", "…", message) if "keyword" not in message else message


def is_valid(validator, value) -> bool | None:
    try:
        return validator.is_valid(value)
    except (RecursionError, referencing.exceptions.Unresolvable, re.error):
        return None


def compare(table: Table, draft: str, name: str, group: dict, answer: dict, validator) -> None:
    schema, texts = json.dumps(group["schema"])[:600], {text for text in answer["texts"] if text}
    table.good(f"{draft}: schemas without a text", bool(texts), name)
    for text in sorted(texts):
        table.good(f"{draft}: drawn texts that are not valid", is_valid(validator, json.loads(text)) is not False,
                   f"{name}: {text[:300]}\n  {schema}")
    for test, accepted in zip(group["tests"], answer["accepted"], strict=True):
        table.good(f"{draft}: accepted values that are not valid",
                   not accepted or is_valid(validator, test["data"]) is not False,
                   f"{name}: {json.dumps(test['data'])[:300]}\n  {schema}")


def check_draft(table: Table, program: str, options, draft: str) -> None:
    default = getattr(jsonschema, draft.replace("draft", "Draft").replace("-", "") + "Validator")
    registry, groups = registry_of(options.suite, draft), groups_of(options.suite, draft)
    counts, reasons = collections.Counter(), collections.Counter()
    for (name, group), answer in zip(groups, answers_of(program, groups, options.texts), strict=True):
        if "refused" in answer:
            counts["refused"] += 1
            reasons[reason_of(answer["refused"])] += 1
            if options.all:
                note(f"refused  {name}: {answer['refused']}\n         {json.dumps(group['schema'])[:300]}")
            continue
        kind = validator_for(group["schema"], default=default)
        validator = kind(group["schema"], registry=registry, format_checker=kind.FORMAT_CHECKER)
        is_enforced = any(is_valid(validator, test["data"]) is False for test in group["tests"])
        counts["enforced" if is_enforced else "annotation"] += 1
        valid = [accepted for test, accepted in zip(group["tests"], answer["accepted"]) if test["valid"]]
        counts["valid values"] += len(valid)
        counts["accepted valid values"] += sum(valid)
        compare(table, draft, name, group, answer, validator)
    for reason, count in reasons.most_common():
        note(f"{count:5} refused: {reason}")
    note(f"{draft}: {len(groups)} schemas:", ", ".join(f"{count} {kind}" for kind, count in counts.items()))


def check(table: Table, program: Headlight, options) -> None:
    for draft in options.drafts:
        check_draft(table, program.program, options, draft)


OPTIONS = {"suite": dict(type=Path), "--drafts": dict(nargs="+", choices=list(DRAFTS), default=list(DRAFTS)),
           "--texts": dict(type=int, default=30), "--all": dict(action="store_true")}
