"""What the checkers share: the program, and the table of results."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = ("Mina has a red kite. \"Fly!\" said Mina.\nThe kite flies (softly).\n\n"
        "미나는 연을 봐요. Ünïcödé – ok\n\n") * 6


def row(what: str, cases: int, error: float, limit: float, passed: bool) -> str:
    """Returns a line of the table; tools/parity/table.py aligns them."""
    return f"{what} | {cases} | {error:.3g} | {limit:.2g} | {'passed' if passed else 'FAILED'}"


class Table:
    """Results by what was compared: cases, the largest error (or the number of wrong cases), its limit."""

    def __init__(self) -> None:
        self.rows: dict[str, list] = {}

    def add(self, what: str, error, limit: float = 0) -> None:
        """Adds a case with its error."""
        found = self.rows.setdefault(what, [0, 0.0, limit])
        found[0] += 1
        found[1] = max(found[1], float(error)) if error == error else float("inf")

    def count(self, what: str, wrong: int = 0, cases: int = 1, detail: str = "") -> None:
        """Adds cases and how many of them are wrong; prints the detail if one is."""
        found = self.rows.setdefault(what, [0, 0, 0])
        found[0] += cases
        found[1] += int(wrong)
        if wrong:
            note(f"FAILED {what}: {detail}" if detail else f"FAILED {what}")

    def good(self, what: str, is_good: bool, detail="") -> None:
        self.count(what, not is_good, detail=detail)

    def show(self) -> int:
        """Prints the rows; returns the number of failed ones."""
        for what, (cases, error, limit) in self.rows.items():
            print(row(what, cases, error, limit, error <= limit))
        return sum(error > limit for _, error, limit in self.rows.values())


def note(*words) -> None:
    print(*words, file=sys.stderr)


class Headlight:
    """The program, with a folder for its files."""

    def __init__(self, program: str, folder: Path):
        self.program, self.folder = program, folder
        self.text = folder / "text.txt"
        self.text.write_text(TEXT, encoding="utf-8")

    def start(self, *arguments, **options) -> subprocess.CompletedProcess:
        """Runs the program, whatever its exit code."""
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=600, **({"text": True} | options))

    def run(self, *arguments) -> str:
        done = self.start(*arguments, "--log_level", "warn")
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, done.args))}\nexit code {done.returncode}: {done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def evaluate(self, model, text: Path | None = None) -> tuple:
        """Returns the numbers of `eval` and the arrays from which they follow."""
        import numpy

        out = self.folder / "logits.npz"
        numbers = self.json("eval", model, "--data", text or self.text, "--logits", out)
        return numbers, dict(numpy.load(out))

    def greedy(self, model, prompt: str, count: int = 200) -> str:
        return self.json("generate", model, "--prompt", prompt, "--temperature", 0, "--max_new_tokens", count,
                         "--ignore_eos")["text"]

    def train(self, name: str, tokenizer: str, **options) -> Path:
        """Trains a small model for three steps."""
        out = self.folder / name
        arguments = [item for key, value in options.items() for item in (f"--{key}", value)]
        self.run("train", "--data", self.text, "--out_dir", out, "--tokenizer", tokenizer, "--max_iters", 3,
                 "--eval_interval", 3, "--batch_size", 2, "--learning_rate", 0.01, "--warmup_iters", 1,
                 "--lr_decay_iters", 3, *arguments)
        return (out / "latest").resolve()

    def export(self, source, kind: str, out: Path, *options) -> Path:
        self.run("export", source, "--to", kind, *options, "--out", out)
        return out

    def ids(self, tokenizer, texts: list[str], *options) -> list[list[int]]:
        """Token ids of each text."""
        lines = write_lines(self.folder / "texts.jsonl", texts)
        return self.json("tokenizer", "encode", tokenizer, lines, *options)["ids"]

    def learned(self, folder: Path, record: dict, *options) -> list[tuple[int, bool]] | None:
        """Pairs of id and whether it is learned of a record for training; None if the record is refused."""
        data = write_lines(folder / "record.jsonl", [record])
        done = self.start("tokenizer", "show", folder, "--template", data, *options, "--json")
        if done.returncode not in (0, 1, 2):
            raise SystemExit(f"headlight tokenizer show: exit code {done.returncode}: {done.stderr}")
        return [(token["id"], token["learned"]) for token in json.loads(done.stdout)["tokens"]] if done.stdout else None

    def decoded(self, tokenizer, ids: list[int]) -> str:
        (self.folder / "ids.txt").write_text(" ".join(map(str, ids)))
        done = self.start("tokenizer", "decode", tokenizer, "--file", self.folder / "ids.txt", "--skip_special", text=False)
        if done.returncode != 0:
            raise SystemExit(f"tokenizer decode {tokenizer}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", errors="replace")


def write_lines(path: Path, records: list) -> Path:
    """Writes JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def finish_gguf(writer) -> None:
    """Writes the file of a gguf.GGUFWriter."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
