#!/usr/bin/env python3
"""Makes the fixtures of other programs again, with the scripts beside them, and compares the files.

usage: check_fixtures.py PATH_OF_HEADLIGHT [PACKAGE...]

A difference means that a program, at the version of its script, writes other files than the tests read. Scripts whose
package is not installed, or not among those named, are left out. Exit code 1 when a file differs.
"""

import filecmp
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import checker
from table import row

ROOT = Path(__file__).resolve().parents[2]
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


def differing(stored: Path, made: Path) -> list[str]:
    files = [stored] if stored.is_file() else [path for path in sorted(stored.rglob("*")) if path.is_file()]
    pairs = [(path, made / path.relative_to(stored) if stored.is_dir() else made) for path in files]
    return [str(path) for path, again in pairs if not again.is_file() or not filecmp.cmp(path, again, shallow=False)]


def main() -> int:
    parser = checker.parser(__doc__)
    parser.add_argument("packages", nargs="*")
    wanted = parser.parse_args().packages
    failed = False
    for what, package, script, place in FIXTURES:
        if importlib.util.find_spec(package) is None or (wanted and package not in wanted):
            continue
        with tempfile.TemporaryDirectory() as name:
            made = Path(name) / place  # scripts name their files in some of them
            made.parent.mkdir(parents=True)
            if (ROOT / place).is_dir():
                shutil.copytree(ROOT / place, made)
            done = subprocess.run([sys.executable, ROOT / script[0], *script[1:], place], cwd=name, capture_output=True,
                                  text=True)
            wrong = differing(ROOT / place, made)
        if done.returncode != 0:
            wrong.append(done.stderr[-1000:])
        for one in wrong:
            print(f"{what}: {one}", file=sys.stderr)
        print(row(f"fixtures made again: {what}", 1, len(wrong), 0, not wrong), flush=True)
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
