#!/usr/bin/env bash
# LiteLLM 1.110.2 (package litellm, openai 3.57.0) tells a prompt that is too long from other bad requests by the words
# of the error message, not by its code. A server that answers 400 with OpenAI's code context_length_exceeded gives
# BadRequestError unless the message also has words that LiteLLM knows, such as "maximum context length is". Programs
# that fall back to a model with a larger context (context_window_fallbacks) then do not.
#
# Seen: "code alone: BadRequestError", "code and words: ContextWindowExceededError",
#       "words alone: ContextWindowExceededError".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q litellm==1.110.2 openai==3.57.0
cat >"$work/ask.py" <<'PYTHON'
import http.server
import json
import threading

import litellm

ANSWERS = {
    "code alone": ("the prompt has 9 tokens, and the model reads 8", "context_length_exceeded"),
    "code and words": ("This model's maximum context length is 8 tokens.", "context_length_exceeded"),
    "words alone": ("This model's maximum context length is 8 tokens.", None),
}


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message, code = ANSWERS[asked["messages"][0]["content"]]
        error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}
        data = json.dumps({"error": error}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
for case in ANSWERS:
    try:
        litellm.completion(
            model="openai/small",
            api_base=f"http://127.0.0.1:{server.server_port}/v1",
            api_key="none",
            messages=[{"role": "user", "content": case}],
        )
    except Exception as error:
        print(f"{case}: {type(error).__name__}")
PYTHON
LITELLM_LOCAL_MODEL_COST_MAP=True "$work/venv/bin/python" "$work/ask.py" 2>/dev/null | grep -E '^(code|words)' | tee "$work/seen"
diff - "$work/seen" <<'SEEN'
code alone: BadRequestError
code and words: ContextWindowExceededError
words alone: ContextWindowExceededError
SEEN
