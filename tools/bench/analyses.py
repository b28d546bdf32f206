"""Questions about a model, such as SmolLM2, in Headlight and in transformers with TransformerLens: whole processes, from
opening the model to the answer.

  loss       nats a token, in windows of 1,024
  heads      scores of every head: ours all of `headlight heads`; theirs previous token, first token, same
             token and duplicates on the text, induction on random tokens that repeat
  attention  the weights of every head on a sentence, as numbers in a file
  without    the loss of texts of random words that are read twice, without the five strongest induction heads

Both read 30 kB of --data; `loss of the whole text` reads all of it.
"""

import json
import random
import re

from measure import Row, Setting, command, run, run_json, words_of

BYTES = 30000
STRONGEST = ["18.6", "17.3", "17.4", "18.7", "17.5"]
SENTENCE = " Mina has a red kite and a blue boat. Mina has a red kite and a blue"
WORK = "{scratch}/analyses"
QUESTIONS = {
    "loss": f"eval {{model}} --data {WORK}/text.txt",
    "loss of the whole text": f"eval {{model}} --data {WORK}/whole.txt",
    "heads": f"heads {{model}} --data {WORK}/text.txt",
    "attention": f"attention {{model}} --text SENTENCE --format npz --out {WORK}/maps",
    "without": f"eval {{model}} --data {WORK}/repeated.jsonl --intervene WITHOUT",
}


def prepare(setting: Setting) -> None:
    """Writes the model for transformers, the texts, and their ids, one text a line."""
    work = setting.scratch / "analyses"
    if work.exists():
        return
    work.mkdir()
    run(setting, f"{{headlight}} export {{model}} --to hf --out {work}/hf")
    text = setting.data.read_bytes()
    (work / "text.txt").write_text(text[:BYTES].decode("utf-8", errors="ignore"), encoding="utf-8")
    (work / "whole.txt").write_bytes(text)
    (work / "sentence.txt").write_text(SENTENCE, encoding="utf-8")
    words, generator = sorted(set(re.findall("[a-z]{3,}", text.decode("utf-8")))), random.Random(1)
    drawn = [" " + " ".join(generator.sample(words, 60)) for _ in range(24)]
    (work / "repeated.jsonl").write_text("".join(json.dumps({"text": text + text}) + "\n" for text in drawn))
    for name in ("text.txt", "whole.txt", "sentence.txt", "repeated.jsonl"):
        ids = run(setting, f"{{headlight}} tokenizer encode {{model}} {work}/{name} --json")["ids"]
        ids = ids if isinstance(ids[0], list) else [ids]
        if name == "repeated.jsonl":  # headlight puts an end-of-text token before and after each document
            end = json.loads((work / "hf/config.json").read_text())["eos_token_id"]
            ids = [[end, *document, end] for document in ids]
        lines = [" ".join(map(str, document)) + "\n" for document in ids]
        (work / name).with_suffix(".ids").write_text("".join(lines))


def analysis_row(question: str, text: str) -> Row:
    def ours(setting: Setting) -> dict:
        prepare(setting)
        words = [{"SENTENCE": SENTENCE, "WITHOUT": "off " + ", ".join(STRONGEST)}.get(word, word)
                 for word in words_of(setting, f"{{headlight}} {text} --json --threads {{threads}}")]
        report = run_json(words, setting.threads)
        return {key: report[key] for key in ("seconds", "peak_rss_mib")} | {"answer": report.get("loss", "")}

    theirs = f"{{lens}} {{peers}}/lens.py {question.replace(' ', '_')} {WORK} {{threads}} {','.join(STRONGEST)}"

    def other(setting: Setting) -> dict:
        report = command(theirs)(setting)
        return {key: report[key] for key in ("seconds", "peak_rss_mib", "answer")}

    others = {"transformers, TransformerLens": other}
    return Row(f"analysis: {question}", [("", "s", "seconds")], ours, others, needs_model=True)


def analysis_rows() -> list[Row]:
    return [analysis_row(*row) for row in QUESTIONS.items()]
