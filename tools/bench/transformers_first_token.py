"""Loads a model directory with transformers and writes a prompt with one more token to stdout."""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

directory, prompt = sys.argv[1], sys.argv[2]
tokenizer = AutoTokenizer.from_pretrained(directory)
model = AutoModelForCausalLM.from_pretrained(directory)
with torch.inference_mode():
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    token = model(ids).logits[0, -1].argmax()
sys.stdout.write(prompt + (tokenizer.decode(token) or "?"))
sys.stdout.flush()
