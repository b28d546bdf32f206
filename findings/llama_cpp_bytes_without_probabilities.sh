#!/usr/bin/env bash
# llama.cpp (xllamacpp 2026.10.11549): a token that is a part of a character has no probabilities.
#
# /completion with n_probs gives completion_probabilities for each token. If the only token of the answer
# is one byte of a character of several (n_predict 1, byte fallback), the member is missing altogether,
# though the model's distribution has nothing to do with the token that was drawn. Programs that score
# answers token by token fail or not as the seed falls.
#
# Output seen (the same model and prompt; logit_bias chooses the token):
#   token a: completion_probabilities of 1 token
#   token <0xEA>: no completion_probabilities
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.4.6
cat >"$folder/ask.py" <<'PYTHON'
import json
import sys
import urllib.request

import gguf
import numpy
import xllamacpp

path = sys.argv[1]
tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "a", "b"]
kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * 2, *[gguf.TokenType.BYTE] * 256,
         *[gguf.TokenType.NORMAL] * 2]
width, vocabulary = 32, len(tokens)
writer = gguf.GGUFWriter(path, "llama")
writer.add_context_length(64)
writer.add_embedding_length(width)
writer.add_block_count(1)
writer.add_feed_forward_length(width)
writer.add_head_count(2)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_dimension_count(width // 2)
writer.add_tokenizer_model("llama")
writer.add_token_list(tokens)
writer.add_token_scores([0.0] * vocabulary)
writer.add_token_types(kinds)
draw = numpy.random.default_rng(0)
square = ["blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output", "blk.0.ffn_gate", "blk.0.ffn_up",
          "blk.0.ffn_down"]
for name in square:
    writer.add_tensor(f"{name}.weight", draw.normal(size=(width, width)).astype(numpy.float32))
for name in ["token_embd", "output"]:
    writer.add_tensor(f"{name}.weight", draw.normal(size=(vocabulary, width)).astype(numpy.float32))
for name in ["blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"]:
    writer.add_tensor(f"{name}.weight", numpy.ones(width, numpy.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port, params.verbosity = path, 64, 1, 0, 0
params.cpuparams.n_threads = 1
params.warmup = params.fit_params = False
server = xllamacpp.Server(params)
for token in ["a", "<0xEA>"]:
    body = {"prompt": [1, 260], "n_predict": 1, "n_probs": 3, "logit_bias": [[tokens.index(token), 1000]]}
    request = urllib.request.Request(server.listening_address + "/completion", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=60))
    found = answer.get("completion_probabilities")
    print(f"token {token}:", "no completion_probabilities" if found is None
          else f"completion_probabilities of {len(found)} token")
PYTHON
"$folder/venv/bin/python" "$folder/ask.py" "$folder/model.gguf" 2>/dev/null >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
token a: completion_probabilities of 1 token
token <0xEA>: no completion_probabilities
EXPECTED
