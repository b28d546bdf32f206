#!/usr/bin/env bash
# TransformerLens 4.3.0: a hook of a TransformerBridge is told another name than the one it was asked for with.
#
# Patching puts cached values of one text into a pass of another: run_with_cache(names_filter=...) keeps them
# under the names that the filter accepts, and a hook reads cache[hook.name], as in its guides. A
# TransformerBridge accepts the names of HookedTransformer, such as blocks.0.attn.hook_z, and keeps values
# under them. But hook.name is the name of the bridge's own module: blocks.0.attn.o.hook_in. So the same line
# raises KeyError at some points (hook_z, hook_resid_pre) and works at others (hook_pattern). A loop that
# remembers the name it asked for works everywhere.
#
# Output seen:
#   asked for blocks.0.hook_resid_pre; cached as blocks.0.hook_resid_pre; told blocks.0.hook_in: not in the cache
#   asked for blocks.0.attn.hook_z; cached as blocks.0.attn.hook_z; told blocks.0.attn.o.hook_in: not in the cache
#   asked for blocks.0.attn.hook_pattern; cached as blocks.0.attn.hook_pattern; told blocks.0.attn.hook_pattern: in the cache
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q transformer-lens==4.3.0 transformers==5.24.0 torch==2.13.0
cat >"$folder/names.py" <<'PYTHON'
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformer_lens.model_bridge import TransformerBridge
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = sys.argv[1]
torch.manual_seed(0)
LlamaForCausalLM(LlamaConfig(vocab_size=12, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                             num_attention_heads=2, num_key_value_heads=2)).save_pretrained(folder)
words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(12)}, unk_token="w0"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w11", unk_token="w0")
tokenizer.save_pretrained(folder)
bridge = TransformerBridge.boot_transformers(folder, tokenizer=tokenizer, device="cpu")
clean, other = torch.tensor([[1, 5, 3]]), torch.tensor([[1, 4, 3]])
for point in ("hook_resid_pre", "attn.hook_z", "attn.hook_pattern"):
    name = f"blocks.0.{point}"
    _, cache = bridge.run_with_cache(clean, names_filter=lambda key: key == name)
    seen = []

    def patch(value, hook):
        seen.append(hook.name)
        return cache[hook.name] if hook.name in cache else value

    bridge.run_with_hooks(other, fwd_hooks=[(name, patch)])
    kept = ", ".join(cache.keys())
    print(f"asked for {name}; cached as {kept}; told {seen[0]}: "
          f"{'in' if seen[0] in cache else 'not in'} the cache")
PYTHON
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/names.py" "$folder/model" 2>/dev/null >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
asked for blocks.0.hook_resid_pre; cached as blocks.0.hook_resid_pre; told blocks.0.hook_in: not in the cache
asked for blocks.0.attn.hook_z; cached as blocks.0.attn.hook_z; told blocks.0.attn.o.hook_in: not in the cache
asked for blocks.0.attn.hook_pattern; cached as blocks.0.attn.hook_pattern; told blocks.0.attn.hook_pattern: in the cache
EXPECTED
