#!/usr/bin/env bash
# lm-eval 0.4.13 (package lm-eval[api]) scores an answer with completions by the log-probabilities of an echoed prompt
# (echo, logprobs, max_tokens 1) and takes the last entry off, as that of the one generated token. A model that ends the
# text at once generates no text, and a server that lists only tokens of the text has no entry for it. Then the last
# token of the answer is taken off instead, without a warning: an answer of one token gets log-likelihood 0, the best
# score of all, and counts as the model's own choice. Which answer of a multiple choice wins then depends on whether
# the model would end the text after it.
#
# Seen, for an answer whose only token has log-probability -5 and is not the most likely:
#   "the end token has an entry: -5.0 False", "no entry for the end token: 0.0 True".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'lm-eval[api]==0.4.13'
cat >"$work/ask.py" <<'PYTHON'
import http.server
import json
import threading

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI

CASES = ("the end token has an entry", "no entry for the end token")


# Each character is a token, whose id is its code. The model prefers "x" everywhere and ends the text after the prompt.
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # /tokenizer_info
        self.answer({"bos_token": None, "eos_token": "\0"})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self.answer({"tokens": [ord(character) for character in asked["prompt"]]})
            return
        (ids,) = asked["prompt"]
        tokens = [chr(id) for id in ids]
        scores = [None] + [-5.0 for _ in tokens[1:]]
        top = [None] + [{"x": -0.1, token: -5.0} for token in tokens[1:]]
        if asked["model"] == CASES[0]:
            tokens, scores, top = [*tokens, "\0"], [*scores, -0.2], [*top, {"\0": -0.2}]
        logprobs = {"tokens": tokens, "token_logprobs": scores, "top_logprobs": top}
        text = "".join(chr(id) for id in ids)
        self.answer({"choices": [{"index": 0, "text": text, "finish_reason": "stop", "logprobs": logprobs}]})

    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
for case in CASES:
    model = LocalCompletionsAPI(
        base_url=f"http://127.0.0.1:{server.server_port}/v1/completions", model=case, tokenizer_backend="remote"
    )
    request = Instance(request_type="loglikelihood", doc={}, arguments=("Question:", "B"), idx=0)
    ((score, is_greedy),) = model.loglikelihood([request], disable_tqdm=True)
    print(f"{case}: {float(score)} {is_greedy}")
PYTHON
"$work/venv/bin/python" "$work/ask.py" 2>/dev/null | tee "$work/seen"
diff - "$work/seen" <<'SEEN'
the end token has an entry: -5.0 False
no entry for the end token: 0.0 True
SEEN
