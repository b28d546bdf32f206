#!/usr/bin/env bash
# transformers 5.24.0: `truncate` of yarn inside rope_parameters.full_attention has no effect.
#
# OLMo 3 and Gemma 3 have rope_parameters with an object for each type of layer. All keys of yarn are
# read from that object (factor, beta_fast, attention_factor ...), but `truncate` is read from
# rope_parameters itself (_compute_yarn_parameters). A config.json that sets it where the other keys
# are gets truncated ramps, without a warning; rope_scaling of transformers 4 means the other ones.
#
# Output seen:
#   inside the type of layer: same frequencies as without the key
#   beside the types of layers: 5 of 16 frequencies differ
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q transformers==5.24.0 torch==2.13.0 numpy
cat >"$folder/frequencies.py" <<'PYTHON'
from transformers import Olmo3Config
from transformers.models.olmo3.modeling_olmo3 import Olmo3RotaryEmbedding


def frequencies(inside=None, beside=None):
    whole = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "beta_fast": 8.0, "beta_slow": 1.0,
             "original_max_position_embeddings": 64, **({} if inside is None else {"truncate": inside})}
    parameters = {"full_attention": whole,
                  "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
                  **({} if beside is None else {"truncate": beside})}
    config = Olmo3Config(hidden_size=64, num_attention_heads=2, num_hidden_layers=2, max_position_embeddings=256,
                         layer_types=["full_attention", "sliding_attention"], rope_parameters=parameters)
    return Olmo3RotaryEmbedding(config).full_attention_inv_freq


usual = frequencies()
if bool((frequencies(inside=False) == usual).all()):
    print("inside the type of layer: same frequencies as without the key")
differing = int((frequencies(beside=False) != usual).sum())
print(f"beside the types of layers: {differing} of {len(usual)} frequencies differ")
PYTHON
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/frequencies.py" 2>/dev/null >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
inside the type of layer: same frequencies as without the key
beside the types of layers: 5 of 16 frequencies differ
EXPECTED
