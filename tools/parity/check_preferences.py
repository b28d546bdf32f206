"""Compares preference tuning (DPO) with TRL.

TRL's DPOTrainer reads the same file of pairs, with explicit and implicit prompts, and makes three steps of
plain SGD with the same model: losses, gradient norms, shares of preferred pairs, margins and final weights
agree. Likewise for an adapter, whose reference is the model without it.

Needs trl beside the packages of check_adapters.py.
"""

import json
from pathlib import Path

import safetensors.torch
from datasets import disable_progress_bars, load_dataset
from peft import PeftModel
from transformers import AutoTokenizer, LlamaConfig, PrinterCallback
from trl import DPOConfig, DPOTrainer

from check_adapters import GROUPED, PLAIN_SGD, chat_model
from checker import Headlight, Table, write_lines
from models import largest, lively, open_model, save_with_tokenizer

LIMIT = 1e-5  # relative, of numbers
WEIGHT_LIMIT = 2e-6
RATE = 0.05
BETA = 0.3
STEPS = 3

# ChatML without the line break after a turn, which TRL counts as part of the answer.
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
            "+ '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def message(role: str, content: str) -> list:
    return [{"role": role, "content": content}]


def record_of(form: str, number: int) -> dict:
    prompt = message("user", f"say {number} twice")
    chosen = message("assistant", f"{number} {number}" + "!" * (number % 3))
    rejected = message("assistant", f"{number}, but only once" if number % 2 else "no")
    if form == "explicit":
        return {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return {"chosen": prompt + chosen, "rejected": prompt + rejected}


class RecordingTrainer(DPOTrainer):
    """Keeps the losses, which the log rounds."""

    losses: list

    def compute_loss(self, *arguments, **options):
        loss = super().compute_loss(*arguments, **options)
        self.losses.append(loss.item())
        return loss


def tune(program: Headlight, base: Path, data: Path, count: int, steps: int, *more) -> Path:
    out = program.folder / f"run{len(list(program.folder.glob('run*')))}"
    program.run("train", "--init_from", base, "--data", data, "--validation_data", data, "--dpo_beta", BETA,
                *PLAIN_SGD, "--learning_rate", RATE, "--batch_size", count, "--max_iters", steps,
                "--eval_interval", 1, "--out_dir", out, *more)
    return out


def train_in_trl(model, tokenizer, data: Path, count: int, folder: Path) -> RecordingTrainer:
    settings = DPOConfig(output_dir=str(folder / "trl"), beta=BETA, per_device_train_batch_size=count, max_steps=STEPS,
                         learning_rate=RATE, optim="sgd", lr_scheduler_type="constant", weight_decay=0.0,
                         max_grad_norm=1e9, logging_steps=1, report_to=[], bf16=False, use_cpu=True,
                         gradient_checkpointing=False, save_strategy="no", disable_tqdm=True)
    trainer = RecordingTrainer(model=model, args=settings, processing_class=tokenizer,
                               train_dataset=load_dataset("json", data_files=str(data), split="train",
                                                          cache_dir=str(folder / "cache")))
    trainer.remove_callback(PrinterCallback)  # prints among the rows of the table
    trainer.losses = []
    trainer.train()
    return trainer


def add_numbers(table: Table, what: str, run: Path, trainer: RecordingTrainer) -> None:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    checks = [line for line in lines if "validation_loss" in line]
    logs = [line for line in trainer.state.log_history if "grad_norm" in line]

    def add(name: str, found: list, wanted: list) -> None:
        # Small margins are differences of log-probabilities of about 50.
        for a, b in zip(found, wanted, strict=True):
            table.add(f"{what}: {name}", abs(a - b) / max(abs(b), 0.1), LIMIT)

    add("losses of TRL", [line["loss"] for line in steps], trainer.losses)
    add("gradient norms of TRL", [line["gradient_norm"] for line in steps], [line["grad_norm"] for line in logs])
    # An evaluation after a step has the weights that TRL's next step begins with.
    for name, key in (("validation_accuracy", "rewards/accuracies"), ("validation_margin", "rewards/margins")):
        add(f"{key} of TRL", [line[name] for line in checks[:STEPS - 1]], [line[key] for line in logs[1:]])


def check_model(table: Table, program: Headlight, base: Path, form: str, count: int = 6) -> None:
    data = write_lines(program.folder / f"{form}.jsonl", [record_of(form, number) for number in range(count)])
    tokenizer = AutoTokenizer.from_pretrained(base)
    run = tune(program, base, data, count, STEPS)
    trainer = train_in_trl(open_model(base), tokenizer, data, count, program.folder)
    add_numbers(table, "preference tuning", run, trainer)
    own = open_model((run / "latest").resolve())
    table.add("preference tuning: weights of TRL", largest(own.state_dict(), trainer.model.state_dict()), WEIGHT_LIMIT)


def check_adapter(table: Table, program: Headlight, base: Path, count: int = 6) -> None:
    data = program.folder / "explicit.jsonl"
    lora = ["--lora_rank", 3, "--lora_alpha", 5, "--lora_targets", "q,v,down"]
    start = (tune(program, base, data, count, 0, *lora) / "latest").resolve()
    run = tune(program, base, data, count, STEPS, *lora)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = PeftModel.from_pretrained(open_model(base), start, is_trainable=True)
    trainer = train_in_trl(model, tokenizer, data, count, program.folder)
    add_numbers(table, "preference tuning of adapters", run, trainer)
    wanted = {name.replace(".default", ""): parameter.detach() for name, parameter in trainer.model.named_parameters()
              if "lora_" in name and ".ref" not in name}
    found = safetensors.torch.load_file((run / "latest").resolve() / "adapter_model.safetensors")
    table.add("preference tuning of adapters: weights of TRL", largest(found, wanted), WEIGHT_LIMIT)


def check(table: Table, program: Headlight, _) -> None:
    disable_progress_bars()
    template = program.folder / "template.jinja"
    template.write_text(TEMPLATE)
    chat, tokenizer = chat_model(program, template)
    config = LlamaConfig(vocab_size=len(tokenizer), **GROUPED)
    base = save_with_tokenizer(program.folder / "base", lively(config), chat)
    for form in ("explicit", "implicit"):
        check_model(table, program, base, form)
    check_adapter(table, program, base)
