"""Times training steps in PyTorch; prints one JSON object with the keys of `headlight bench train`.

AdamW is fused, gradients are clipped, bfloat16 means autocast around the forward pass. With
--lengths FILE (a JSON list of batches, each a list of sequence lengths) every batch is padded to
its longest sequence, and only real tokens count. With --processes W the batch is divided among W
processes by DistributedDataParallel (gloo).
"""

import argparse
import json
import math
import os
import statistics
import time

import torch
import torch.distributed
import torch.multiprocessing
from shapes import Shape, load_shape, peak_rss_mib
from torch.nn import functional as F
from torch_gpt import IGNORED, Gpt


def batch_of(shape: Shape, lengths: list[int]):
    """Returns random ids and targets [B, longest]; the targets of pads are ignored."""
    tokens = torch.randint(shape.vocab_size, (len(lengths), max(lengths) + 1))
    ids, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    for row, length in enumerate(lengths):
        ids[row, length:] = 0
        targets[row, length:] = IGNORED
    return ids, targets


def make_optimizer(shape: Shape, model: torch.nn.Module) -> torch.optim.AdamW:
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": decayed, "weight_decay": shape.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    betas = (shape.beta1, shape.beta2)
    return torch.optim.AdamW(groups, lr=shape.learning_rate, betas=betas, fused=True)


class Llama(torch.nn.Module):
    """transformers' Llama, with sdpa; the loss is that of torch_gpt."""

    def __init__(self, shape: Shape):
        super().__init__()
        from transformers_models import llama

        self.model = llama(shape, shape.block_size).train()

    def forward(self, ids, targets):
        logits = self.model(ids, use_cache=False).logits
        return F.cross_entropy(
            logits.view(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=IGNORED
        )


def make_step(shape: Shape, mode: str, dtype: str):
    model = Llama(shape) if shape.norm_type == "rms" else Gpt(shape)
    optimizer = make_optimizer(shape, model)
    if torch.distributed.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model)
    forward = torch.compile(model) if mode == "compile" else model

    def step(ids, targets) -> float:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = forward(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), shape.grad_clip)
        optimizer.step()
        return loss.item()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", help="JSON file with the sequence lengths of every batch")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.processes == 1:
        measure(0, arguments)
    else:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29512")
        torch.multiprocessing.spawn(measure, (arguments,), nprocs=arguments.processes)


def measure(rank: int, arguments: argparse.Namespace) -> None:
    """Trains and measures in process `rank`; process 0 prints."""
    if arguments.processes > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=arguments.processes)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1337)
    shape = load_shape(arguments.config)
    batches = [[shape.block_size] * (shape.batch_size // arguments.processes)]
    if arguments.lengths:
        batches = json.load(open(arguments.lengths))
    step = make_step(shape, arguments.mode, arguments.dtype)
    times, rates = [], []
    for number in range(-arguments.warmup, arguments.steps):
        lengths = batches[number % len(batches)]
        start = time.perf_counter()
        ids, targets = batch_of(shape, lengths)
        loss = step(ids, targets)
        seconds = time.perf_counter() - start
        if number >= 0:
            times.append(1e3 * seconds)
            rates.append(arguments.processes * sum(lengths) / seconds)
    assert math.isfinite(loss)
    report = {
        "tokens_per_second": statistics.median(rates),
        "ms_per_step": statistics.median(times),
        "ms_per_step_min": min(times),
        "ms_per_step_max": max(times),
        "peak_rss_mib": peak_rss_mib(),
        "loss": loss,
    }
    if rank == 0:
        print(json.dumps(report))
    if arguments.processes > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
