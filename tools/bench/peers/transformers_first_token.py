"""Loads a model directory with transformers and writes the prompt of a file with one more token to stdout."""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

directory, prompt = sys.argv[1], Path(sys.argv[2]).read_text()
tokenizer = AutoTokenizer.from_pretrained(directory)
model = AutoModelForCausalLM.from_pretrained(directory)
with torch.inference_mode():
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    token = model(ids).logits[0, -1].argmax()
sys.stdout.write(prompt + (tokenizer.decode(token) or "?"))
sys.stdout.flush()
