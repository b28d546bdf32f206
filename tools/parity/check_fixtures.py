"""Makes the fixtures of other programs again, with the scripts beside them, and compares the files.

A difference means that a program, at the version of its script, writes other files than the tests read. Scripts whose
package is not installed, or not among those named, are left out.
"""

import filecmp
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

from checker import ROOT, Headlight, Table

# What is made, the package that makes it, its script with options, its folder or file.
FIXTURES = [
    ("autoencoders of SAELens", "sae_lens", ["tests/interpret/make_saes.py"], "tests/interpret/saes"),
    ("models of SentencePiece", "sentencepiece", ["tests/formats/sentencepiece/make_models.py"],
     "tests/formats/sentencepiece"),
    ("adapters of PEFT", "peft", ["tools/parity/make_adapters.py"], "tests/formats/adapter/data"),
    ("blocks of GGUF", "gguf", ["tools/parity/check_gguf.py", "--fixture"], "tests/formats/gguf/blocks.gguf"),
    ("prompts of chat templates", "transformers", ["tools/parity/make_chat_templates.py"],
     "tests/formats/chat_templates"),
]


def same(stored: Path, made: Path) -> bool:
    """Logits are rounded to five digits, so that the last one depends on the CPU."""
    if not made.is_file() or stored.name != "logits.json":
        return made.is_file() and filecmp.cmp(stored, made, shallow=False)
    old, new = (json.loads(path.read_text()) for path in (stored, made))
    return old.keys() == new.keys() and all(abs(a - b) < 1.5e-5 for name, values in old.items()
                                            for a, b in zip(values, new[name], strict=True))


def differing(stored: Path, made: Path) -> list[str]:
    files = [stored] if stored.is_file() else [path for path in sorted(stored.rglob("*")) if path.is_file()]
    pairs = [(path, made / path.relative_to(stored) if stored.is_dir() else made) for path in files]
    return [str(path) for path, again in pairs if not same(path, again)]


def check(table: Table, program: Headlight, options) -> None:
    for what, package, script, place in FIXTURES:
        if importlib.util.find_spec(package) is None or (options.packages and package not in options.packages):
            continue
        folder = program.folder / package
        made = folder / place  # scripts name their files in some of them
        made.parent.mkdir(parents=True)
        if (ROOT / place).is_dir():
            shutil.copytree(ROOT / place, made)
        done = subprocess.run([sys.executable, ROOT / script[0], *script[1:], place], cwd=folder, capture_output=True,
                              text=True)
        wrong = differing(ROOT / place, made) + [done.stderr[-1000:]] * (done.returncode != 0)
        table.count(f"fixtures made again: {what}", len(wrong), detail="\n".join(wrong))


OPTIONS = {"packages": dict(nargs="*")}
