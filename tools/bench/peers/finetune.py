#!/usr/bin/env python3
"""Fine-tunes with TRL and PEFT what `headlight train configs/chat.toml` does, for comparison.

usage: finetune.py MODEL [--run RUN] [--epochs N] [--order FILE] [--steps N]

MODEL: the base model as a Hugging Face folder. RUN: a run of configs/chat.toml with max_iters 0, whose
adapter both trainings start from; without it, all weights are trained. --order: the numbers of the conversations in the order of training; otherwise
TRL shuffles them itself. --steps ends the training early. Prints the seconds of the training and the loss on the last tenth of
data/cards.jsonl, as Headlight evaluates it. Needs torch, transformers, trl and peft.
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import SFTConfig, SFTTrainer

ROOT = Path(__file__).resolve().parents[3]
# ChatML with the marks of TRL's training templates: the answer and the end of its turn are learned.
MARKED = ("{% for message in messages %}{% if loop.first and message['role'] != 'system' %}{{ SYSTEM }}{% endif %}"
          "{{ '<|im_start|>' + message['role'] + '\\n' }}{% if message['role'] == 'assistant' %}{% generation %}"
          "{{ message['content'] + '<|im_end|>\\n' }}{% endgeneration %}{% else %}"
          "{{ message['content'] + '<|im_end|>\\n' }}{% endif %}{% endfor %}")
SYSTEM = "'<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\\n'"


def validation_loss(model, tokenizer, rows):
    total, count = 0.0, 0
    with torch.no_grad():
        for row in rows:
            done = tokenizer.apply_chat_template(row["messages"], tokenize=True, return_dict=True,
                                                 return_assistant_tokens_mask=True)
            ids = torch.tensor(done["input_ids"])[:513]
            labels = torch.where(torch.tensor(done["assistant_masks"])[:513] == 1, ids, -100)[1:]
            total += float(torch.nn.functional.cross_entropy(model(ids[None]).logits[0, :-1], labels,
                                                             ignore_index=-100, reduction="sum"))
            count += int((labels != -100).sum())
    return total / count


def headlight_rate(total):
    """Headlight's schedule, with nanoGPT's warm-up; TRL's begins with a step of rate 0."""
    warmup = math.ceil(0.03 * total)

    def rate(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1, (step - warmup) / (total - warmup))))

    return rate


class Trainer(SFTTrainer):
    order = None

    def _get_train_sampler(self, *rest):
        return self.order or super()._get_train_sampler(*rest)

    def create_scheduler(self, num_training_steps, optimizer=None):
        rate = headlight_rate(num_training_steps)
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer or self.optimizer, rate)
        self._created_lr_scheduler = True
        return self.lr_scheduler


class StopAfter(TrainerCallback):
    def __init__(self, steps):
        self.steps = steps

    def on_step_end(self, args, state, control, **rest):
        control.should_training_stop |= state.global_step == self.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--run")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--order")
    parser.add_argument("--steps", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(2)
    rows = [json.loads(line) for line in (ROOT / "data/cards.jsonl").read_text().splitlines()]
    kept = len(rows) - len(rows) // 10
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.chat_template = MARKED.replace("SYSTEM", SYSTEM)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    if args.run:
        model = PeftModel.from_pretrained(model, Path(args.run) / "latest", is_trainable=True)
    config = SFTConfig(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=8, num_train_epochs=args.epochs,
                       learning_rate=5e-4, weight_decay=0.0,
                       adam_beta2=0.999, max_grad_norm=1.0, max_length=513, assistant_only_loss=True,
                       bf16=False, use_cpu=True, report_to=[], save_strategy="no", logging_steps=20,
                       gradient_checkpointing=False, seed=1337)
    trainer = Trainer(model=model, args=config, train_dataset=Dataset.from_list(rows[:kept]),
                      processing_class=tokenizer, callbacks=[StopAfter(args.steps)])
    if args.order:
        trainer.order = [int(number) for number in Path(args.order).read_text().split()][:kept * args.epochs]
    start = time.time()
    trainer.train()
    seconds = time.time() - start
    print(json.dumps({"training_seconds": seconds, "steps": trainer.state.global_step,
                      "validation_loss": validation_loss(model.eval(), tokenizer, rows[kept:])}))


if __name__ == "__main__":
    main()
