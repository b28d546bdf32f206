"""Questions about a model, such as SmolLM2, in Headlight and in transformers with TransformerLens: whole processes, from
opening the model to the answer.

  loss       nats a token, in windows of 1,024
  heads      scores of every head: ours all of `headlight heads`; theirs previous token, first token, same
             token and duplicates on the text, induction on random tokens that repeat
  attention  the weights of every head on a sentence, as numbers in a file
  without    the loss of texts of random words that are read twice, without the five strongest induction heads
  patch ...  the residual stream at every layer and position, or every head, of one text put into another: the cell
             that restores most; theirs a pass with a hook for each cell
  ablate     the loss on 3 kB without each head: the head that it needs most; theirs a pass with a hook for each head
  paths      of every sender to the logits, for the same two texts
  circuit    edges found and tested on four pairs of texts

Both read 30 kB of --data; `loss of the whole text` reads all of it. The last two are compared with earlier builds only.
"""

import json
import random
import re

from measure import Row, Setting, command, run, run_json, words_of

BYTES = 30000
STRONGEST = ["18.6", "17.3", "17.4", "18.7", "17.5"]
SENTENCE = " Mina has a red kite and a blue boat. Mina has a red kite and a blue"
WORK = "{scratch}/analyses"
TEXTS = {"CLEAN": " When Mary and John went to the store, John gave a drink to",
         "CORRUPT": " When Mary and John went to the store, Mary gave a drink to", "ANSWER": " Mary", "WRONG": " John"}
TASK = "--clean CLEAN --corrupt CORRUPT --answer ANSWER --wrong WRONG"
NAMES = ["Mary John", "Anna Tom", "Paul Kate", "James Emma"]  # of the pairs of `circuit`
QUESTIONS = {
    "loss": f"eval {{model}} --data {WORK}/text.txt",
    "loss of the whole text": f"eval {{model}} --data {WORK}/whole.txt",
    "heads": f"heads {{model}} --data {WORK}/text.txt",
    "attention": f"attention {{model}} --text SENTENCE --format npz --out {WORK}/maps",
    "without": f"eval {{model}} --data {WORK}/repeated.jsonl --intervene WITHOUT",
    "patch positions": f"patch {{model}} {TASK} --point resid_pre --by position",
    "patch heads": f"patch {{model}} {TASK} --point z --by head",
    "ablate": f"ablate {{model}} --data {WORK}/three.txt",
    "paths": f"paths {{model}} {TASK} --receiver logits",
    "circuit": f"circuit {{model}} --pairs {WORK}/pairs.jsonl",
}
ALONE = ["paths", "circuit"]  # without another program


def prepare(setting: Setting) -> None:
    """Writes the model for transformers, the texts, and their ids, one text a line."""
    work = setting.scratch / "analyses"
    if work.exists():
        return
    work.mkdir()
    run(setting, f"{{headlight}} export {{model}} --to hf --out {work}/hf --json")
    text = setting.data.read_bytes()
    (work / "text.txt").write_text(text[:BYTES].decode("utf-8", errors="ignore"), encoding="utf-8")
    (work / "whole.txt").write_bytes(text)
    (work / "sentence.txt").write_text(SENTENCE, encoding="utf-8")
    (work / "three.txt").write_text(text[:BYTES // 10].decode("utf-8", errors="ignore"), encoding="utf-8")
    (work / "pair.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS.values()))
    pairs = [{key.lower(): text.replace("Mary", a).replace("John", b) for key, text in TEXTS.items()}
             for a, b in map(str.split, NAMES)]
    (work / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    words, generator = sorted(set(re.findall("[a-z]{3,}", text.decode("utf-8")))), random.Random(1)
    drawn = [" " + " ".join(generator.sample(words, 60)) for _ in range(24)]
    (work / "repeated.jsonl").write_text("".join(json.dumps({"text": text + text}) + "\n" for text in drawn))
    for name in ("text.txt", "whole.txt", "three.txt", "sentence.txt", "pair.jsonl", "repeated.jsonl"):
        ids = run(setting, f"{{headlight}} tokenizer encode {{model}} {work}/{name} --json")["ids"]
        ids = ids if isinstance(ids[0], list) else [ids]
        if name == "repeated.jsonl":  # headlight puts an end-of-text token before and after each document
            end = json.loads((work / "hf/config.json").read_text())["eos_token_id"]
            ids = [[end, *document, end] for document in ids]
        lines = [" ".join(map(str, document)) + "\n" for document in ids]
        (work / name).with_suffix(".ids").write_text("".join(lines))


def answer_of(question: str, report: dict):
    """Returns what the other program answers, too."""
    if question.startswith("patch"):
        return max(cell["recovered"] for cell in report["cells"])
    if question == "ablate":
        return max(report["parts"], key=lambda part: part["rise"]["mean"])["part"]
    return report.get("loss", "")


def analysis_row(question: str, text: str) -> Row:
    def ours(setting: Setting) -> dict:
        prepare(setting)
        words = [(TEXTS | {"SENTENCE": SENTENCE, "WITHOUT": "off " + ", ".join(STRONGEST)}).get(word, word)
                 for word in words_of(setting, f"{{headlight}} {text} --json --threads {{threads}}")]
        report = run_json(words, setting.threads)
        return {key: report[key] for key in ("seconds", "peak_rss_mib")} | {"answer": answer_of(question, report)}

    theirs = f"{{lens}} {{peers}}/lens.py {question.replace(' ', '_')} {WORK} {{threads}} {','.join(STRONGEST)}"

    def other(setting: Setting) -> dict:
        report = command(theirs)(setting)
        return {key: report[key] for key in ("seconds", "peak_rss_mib", "answer")}

    others = {} if question in ALONE else {"transformers, TransformerLens": other}
    return Row(f"analysis: {question}", [("", "s", "seconds")], ours, others, needs_model=True)


def analysis_rows() -> list[Row]:
    return [analysis_row(*row) for row in QUESTIONS.items()]
