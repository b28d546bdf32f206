#!/usr/bin/env bash
# PEFT 0.21.2: trained token rows switch off the bias of an output head, until they are merged.
#
# trainable_token_indices wraps embeddings, and heads where asked (Phi-1/2, GPT-J and CodeGen have a head
# with a bias; on tied models the head is wrapped by itself). The wrapper multiplies with the changed
# matrix alone and leaves out base_layer.bias (TrainableTokensLayer.forward_adapters). So an adapter
# that changes nothing yet shifts every logit by the bias: losses while training are those of another
# model, and merge_and_unload() then brings the bias back. Greedy answers differ before and after the merge.
#
# Output seen (the head's bias is 0, 1, ... 11; the adapter is new):
#   logits without adapter minus those with it: 0 1 2 3 4 5 6 7 8 9 10 11
#   logits without adapter minus those after the merge: 0 0 0 0 0 0 0 0 0 0 0 0
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q peft==0.21.2 transformers==5.24.0 torch==2.13.0 numpy
cat >"$folder/logits.py" <<'PYTHON'
import torch
from peft import LoraConfig, get_peft_model
from transformers import PhiConfig, PhiForCausalLM

torch.manual_seed(0)
model = PhiForCausalLM(PhiConfig(vocab_size=12, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                 num_attention_heads=2)).eval()
with torch.no_grad():
    model.lm_head.bias.copy_(torch.arange(12.0))


def logits(model):
    with torch.no_grad():
        return model(torch.tensor([[1, 5, 3]])).logits[0, -1]


def difference(a, b):
    return " ".join(str(round(float(value))) for value in a - b)


plain = logits(model)
tuned = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj"],
                                         trainable_token_indices={"embed_tokens": [10, 11], "lm_head": [10, 11]}))
print("logits without adapter minus those with it:", difference(plain, logits(tuned.eval())))
print("logits without adapter minus those after the merge:", difference(plain, logits(tuned.merge_and_unload())))
PYTHON
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/logits.py" 2>/dev/null >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
logits without adapter minus those with it: 0 1 2 3 4 5 6 7 8 9 10 11
logits without adapter minus those after the merge: 0 0 0 0 0 0 0 0 0 0 0 0
EXPECTED
