#!/usr/bin/env bash
# TransformerLens 4.3.0: with a TransformerBridge, the parts of a logit leave out the gain of the final norm, and the
# parts of nanochat's residual stream leave out the norm of its embeddings.
#
# HookedTransformer folds gains into the matrices behind them, and its cache.logit_attrs(cache.decompose_resid(), ...)
# sums to a difference of logits in a model without biases. A TransformerBridge keeps the gain in the norm. logit_attrs()
# divides by the norm's scale only, so that with a gain of 3 the sum is a third of the difference. nanochat normalises its
# embeddings before the first layer. decompose_resid() returns them as they were before, under the label embed, and its
# parts do not sum to the stream.
#
# Output seen:
#   llama, gain 1: the logits differ by 1.00 times the sum of logit_attrs; parts and stream differ by 0 %
#   llama, gain 3: the logits differ by 3.00 times the sum of logit_attrs; parts and stream differ by 0 %
#   nanochat: parts and stream differ by 98 %
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q transformer-lens==4.3.0 transformers==5.24.0 torch==2.13.0
cat >"$folder/parts.py" <<'PYTHON'
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoModelForCausalLM, LlamaConfig, NanoChatConfig, PreTrainedTokenizerFast

words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(12)}, unk_token="w0"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
SIZES = {"vocab_size": 12, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2}


def parts_of(config, gain=None):
    folder = f"{sys.argv[1]}/{config.model_type}{gain}"
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    if gain:
        model.model.norm.weight.data.fill_(gain)
    model.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w11", unk_token="w0")
    tokenizer.save_pretrained(folder)
    bridge = TransformerBridge.boot_transformers(folder, tokenizer=tokenizer, device="cpu")
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(torch.tensor([[1, 5, 3]]))
        parts = cache.decompose_resid()
        stream = cache["blocks.1.hook_resid_post"]
        share = float((parts.sum(0) - stream).abs().max() / stream.abs().max())
        sum_of_parts = cache.logit_attrs(parts, torch.tensor([7]), torch.tensor([9])).sum(0)[0, -1]
        return float((logits[0, -1, 7] - logits[0, -1, 9]) / sum_of_parts), f"parts and stream differ by {100 * share:.0f} %"


for gain in (1, 3):
    ratio, difference = parts_of(LlamaConfig(**SIZES), gain)
    print(f"llama, gain {gain}: the logits differ by {ratio:.2f} times the sum of logit_attrs; {difference}")
print("nanochat:", parts_of(NanoChatConfig(**SIZES, max_position_embeddings=16))[1])
PYTHON
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/parts.py" "$folder/model" 2>/dev/null >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
llama, gain 1: the logits differ by 1.00 times the sum of logit_attrs; parts and stream differ by 0 %
llama, gain 3: the logits differ by 3.00 times the sum of logit_attrs; parts and stream differ by 0 %
nanochat: parts and stream differ by 98 %
EXPECTED
