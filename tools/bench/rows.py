"""The rows of the comparison. A row has a command or a function for Headlight and one for each of the others.

Names in braces in commands: the fields of Setting, {peers}, {root}, {here}, {this} (Python without packages), and the
environments of measure.py as interpreters, such as {torch}.
"""

import json
import os

from analyses import analysis_rows
from measure import Row, Run, Setting, bench, command, first_output, served, small_model, run_json, words_of
from program_rows import busy_row, corpus_row, encode_row, learn_row, saving_row, stream_row, tuned

PROMPT = "Once upon a time"
# Steps and steps before the measurement.
STEPS = {"cpu-char": (60, 20), "mid-char": (6, 2), "gpt2-64": (6, 2), "gpt2-256": (3, 1), "llama-char": (6, 2),
         "llama-135m": (3, 1)}
# Configuration, weights, other programs.
DECODED = [("gpt2-256", "float32", "transformers CTranslate2"), ("gpt2-256", "bfloat16", "transformers"),
           ("gpt2-256", "int8", "CTranslate2"), ("cpu-char", "float32", "transformers"),
           ("llama-135m", "float32", "transformers"), ("llama-135m", "bfloat16", "transformers")]
DECODERS = {"transformers": "transformers_generate.py", "CTranslate2": "ctranslate2_generate.py"}
# One size changes at a time; base: the others. With the sequence length, a batch has one sequence.
BASE = {"n_layer": 4, "n_head": 4, "n_embd": 256, "block_size": 256, "batch_size": 4, "vocab_size": 1024}
GROWTH = {"sequence length T": ("block_size", [2**n for n in range(6, 14)]), "batch B": ("batch_size", [2**n for n in range(6)]),
          "width C": ("n_embd", [64, 128, 256, 512, 1024]), "layers L": ("n_layer", [1, 2, 4, 8, 16]),
          "vocabulary V": ("vocab_size", [256, 1024, 4096, 16384, 50257]),
          "threads": ("threads", [2**n for n in range((os.cpu_count() or 1).bit_length())])}
# Weights of a GGUF model: Headlight's --weights, and the forms of the other programs.
FORMS = {"float32": ("float32", {"openvino": "fp32/f32", "llama": "f32", "ik_llama": "f32", "ctranslate2": "float32"}),
         "bfloat16": ("bfloat16", {"openvino": "fp32/bf16", "llama": "f16", "ik_llama": "f16"}),
         "int8": ("int8", {"openvino": "int8/bf16", "llama": "q8_0", "ik_llama": "q8_0", "ctranslate2": "int8"}),
         "4 bits": ("stored", {"openvino": "int4/bf16", "llama": "stored", "ik_llama": "stored"})}
PEERS = {"openvino": "OpenVINO", "llama": "llama.cpp", "ik_llama": "ik_llama.cpp", "ctranslate2": "CTranslate2"}
# Weights: batches.py's kinds with their models.
BATCHES = {"float32": {"llama.cpp": "llama {forms}/f32.gguf", "OpenVINO": "ov {forms}/fp32", "CTranslate2":
                       "ct2 {forms}/ct2-float32", "vLLM": "vllm {forms}/hf"},
           "bfloat16": {"vLLM": "vllm {forms}/hf"},
           "int8": {"llama.cpp": "llama {forms}/q8_0.gguf", "OpenVINO": "ov {forms}/int8", "CTranslate2":
                    "ct2 {forms}/ct2-int8"}}
SERVED = [("tokens/s of", "tokens/s", "tokens_per_second"), ("first token of", "ms", "first_ms"),
          ("median time between tokens of", "ms", "median_ms"), ("99th percentile between tokens of", "ms", "p99_ms")]


def config(name: str) -> str:
    return f"--config {{root}}/configs/bench/{name}.toml"


def per_token(run: Run) -> Run:
    """Adds the microseconds a token."""
    def measured(setting: Setting) -> dict:
        report = run(setting)
        return report | {"us_per_token": 1e6 / report["tokens_per_second"]}

    return measured


def train_row(name: str, dtype: str, padded: bool) -> Row:
    """PyTorch gets the same lengths of sequences; torch.compile needs a few batches of them before it is steady."""
    steps, warmup = STEPS[name]
    steps = f"--steps {steps} --warmup {max(warmup, 3) if padded else warmup}"
    run = per_token(command(bench("train", config(name), steps, f"--dtype {dtype}" * (dtype != "float32"),
                                  "--batching padded" * padded)))

    def keeping_lengths(setting: Setting) -> dict:
        report = run(setting)
        (setting.scratch / f"{name}-lengths.json").write_text(json.dumps(report["sequence_lengths"]))
        return report

    theirs = f"{{torch}} {{peers}}/torch_train.py {name} --dtype {dtype} {steps} --threads {{threads}}"
    theirs += f" --lengths {{scratch}}/{name}-lengths.json" * padded
    return Row(f"train {name} {dtype}" + " padded" * padded,
               [("", "us/token", "us_per_token") if padded else ("", "ms/step", "ms_per_step")],
               keeping_lengths if padded else run,
               {f"PyTorch {mode}": per_token(command(f"{theirs} --mode {mode}")) for mode in ("eager", "compile")})


def decode_row(name: str, weights: str, others: str) -> Row:
    return Row(f"decode {name} {weights}", [("", "ms/token", "ms_per_token")],
               command(bench("generate", config(name), f"--weights {weights}" * (weights != "float32"))),
               {other: command(f"{{torch}} {{peers}}/{DECODERS[other]} {name} --dtype {weights} --threads {{threads}}")
                for other in others.split()})


def attention_row(name: str, length: int) -> Row:
    run = command(bench("attention", config(name), f"--lengths {length}"))
    return Row(f"attention {name} T {length}", [("", "ms", "model_recorded_ms")],
               lambda setting: (report := run(setting)) | report["rows"][0],
               {"transformers": command("{torch} {peers}/transformers_attention.py "
                                        f"{name} --length {length} --threads {{threads}}")})


def first_token_row() -> Row:
    """From starting the process to the first new token, with cpu-char's model on disk."""
    def output_of(text: str) -> Run:
        def run(setting: Setting) -> dict:
            (setting.scratch / "prompt").write_text(PROMPT)
            return first_output(setting, text.replace("RUN", str(small_model(setting))), len(PROMPT) + 1)

        return run

    return Row("first token cpu-char", [("", "ms", "ms")],
               output_of("{headlight} generate RUN --prompt_file {scratch}/prompt --stream --max_new_tokens 1 "
                         "--threads {threads}"),
               {"transformers": output_of("{torch} {peers}/transformers_first_token.py RUN/latest {scratch}/prompt")})


def processes_row(name: str) -> Row:
    """Two processes of one thread against one process, one process with shards, and PyTorch's DDP."""
    if os.getuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ours = bench("train", config(name), "--warmup 2 --steps 8", threads="{}")
    mpirun = "mpirun --oversubscribe --bind-to core -n 2 " + ours.replace("{}", "1")
    threads = ours.replace("{}", "2")
    ddp = f"{{torch}} {{peers}}/torch_train.py {name} --processes 2 --threads 1 --warmup 2 --steps 8"
    others = {"1 process x 2 threads": (threads, 2), "1 process, 8 shards": (threads + " --shards 8", 2), "PyTorch DDP": (ddp, 1)}
    return Row(f"2 processes {name}", [("", "us/token", "us_per_token")], per_token(command(mpirun, 1)),
               {other: per_token(command(*row)) for other, row in others.items()})


def growth_row(size: str, value: int) -> Row:
    key = GROWTH[size][0]
    sizes = BASE | ({"batch_size": 1} if key == "block_size" else {}) | {key: value}
    threads = str(sizes.pop("threads", "{threads}"))
    options = [f"--{name} {number}" for name, number in sizes.items()]
    return Row(f"{size} {value}", [("", "ms/step", "ms_per_step"), ("", "tokens/s", "tokens_per_second")],
               command(bench("train", *options, "--warmup 2 --steps 3", threads=threads)))


def forms_written(run: Run) -> Run:
    """Writes the model in the forms of other programs before the first measurement."""
    def measured(setting: Setting) -> dict:
        if not (setting.forms / "hf").exists():
            run_json(words_of(setting, "{llama} {peers}/generate_peers.py prepare {headlight} {model} {forms}"), 1)
        return run(setting)

    return measured


def llama_row(form: str, length: int) -> Row:
    weights, others = FORMS[form]
    ours = bench("generate", f"--model {{model}} --weights {weights} --prompt_tokens {length} --new_tokens 33",
                 f"--rounds {1 if length > 1000 else 3}")
    theirs = "{llama} {peers}/generate_peers.py {model} {forms} --threads {threads} --one"
    return Row(f"{length} {form}", [("prompt of", "ms", "ms_to_first_token"), ("decode at", "ms/token", "ms_per_token")],
               command(ours), {PEERS[name]: forms_written(command(f"{theirs} {name} {its_form} {length}"))
                               for name, its_form in others.items()}, needs_model=True)


def clients_row(weights: str, count: int) -> Row:
    load = f"{{this}} {{here}}/serve_load.py {{}} --clients {count} --rounds 2 --prompt 40 --json"

    def ours(setting: Setting) -> dict:
        options = ["--weights", weights, "--ctx_size", 16384, "--threads", setting.threads]
        with served(setting.headlight, setting.model, *options) as address:
            return run_json(words_of(setting, load.replace("{}", address)), setting.threads)

    others = {name: f"{{{'vllm' if name == 'vLLM' else 'llama'}}} {{peers}}/batches.py {what} --clients {count} "
              f"--dtype {weights} --threads {{threads}}" for name, what in BATCHES[weights].items()}
    return Row(f"{count} clients {weights}", SERVED, ours,
               {name: forms_written(command(text)) for name, text in others.items()}, needs_model=True)


def tuning_row(what: str, options: str) -> Row:
    theirs = "{trl} {peers}/finetune.py {model} --steps 4"
    others = {"LoRA": theirs + " --run {scratch}/tuning-start", "all weights": theirs}
    return Row(f"fine-tuning {what}", [("", "s", "training_seconds")], lambda setting: tuned(setting, options),
               {"TRL": command(others[what])}, needs_model=True)


def python_row(work: str) -> Row:
    script = f"{{peers}}/python_package.py {{model}} --measure {{}} {work}"
    return Row(f"Python: {work}", [("", "ms", "ms")],
               command("env PYTHONPATH={package} {lens} " + script.replace("{}", "headlight")),
               {name: command("{lens} " + script.replace("{}", name)) for name in ("transformers", "transformer_lens")},
               needs_model=True)


def hook_row() -> Row:
    """What a call and a hook cost beside the C++ program; the model is a run of configs/toy.toml."""
    python = "env PYTHONPATH={package} {lens} {peers}/python_package.py {model} --overhead "
    native = command(bench("attention", "--config {root}/configs/toy.toml --lengths 16"))
    return Row("Python: a pass of 16 tokens", [("", "us", "us")], command(python + "no_hook"), {
        "hook that returns None": command(python + "none"), "hook that returns an array": command(python + "array"),
        "C++": lambda setting: {"us": 1e3 * native(setting)["rows"][0]["model_ms"]}}, needs_model=True)


def page_row(form: str) -> Row:
    page = "env HEADLIGHT={headlight} {this} {peers}/page.py {model} {forms}/page --measure "
    figures = [("decode at 16", "ms/token", "token"), ("prompt of 22", "ms", "prompt_22"), ("prompt of 64", "ms", "prompt_64")]
    return Row(f"in a page {form.replace('_', ' ')}", figures, command(f"{page} headlight {form}"), {
        f"transformers.js{', 2 threads' * (count == 2)}": command(f"{page} peer_{count} {form}") for count in (1, 2)},
        needs_model=True)


def network_row(name: str, processes: int, rate: str) -> Row:
    run = command(f"env HEADLIGHT={{headlight}} {{here}}/network.sh {name} {processes} {rate}", 1)
    return Row(f"{name} {processes} processes at {rate}", [("", "tokens/s", "tokens_per_second")], run)


BUSY = [("train", "cpu-char", "ms/step", "--n_embd 128 --steps 60"),
        ("train", "cpu-char", "ms/step", "--n_embd 64 --steps 60"),
        ("generate", "gpt2-256", "ms/token", "--weights int8 --rounds 8")]
THREADS = sorted({1, os.cpu_count() or 1})
GROUPS: dict[str, list[Row]] = {
    "training": [train_row(name, dtype, padded) for dtype, padded in
                 (("float32", False), ("bfloat16", False), ("float32", True)) for name in STEPS],
    "decoding": [decode_row(*row) for row in DECODED],
    "attention": [attention_row("mid-char", 256), attention_row("gpt2-256", 512)],
    "start": [first_token_row()],
    "CPUs": [busy_row(cpus, *row) for row in BUSY for cpus in ("idle", "busy")],
    "saving": [saving_row(name) for name in ("toy", "shakespeare_char_cpu")],
    "processes": [processes_row(name) for name in ("mid-char", "gpt2-64")],
    "tokenizers": [row(threads) for row in (encode_row, learn_row) for threads in THREADS],
    "stream": [stream_row(weights, PROMPT) for weights in ("float32", "int8")],
    "growth": [growth_row(size, value) for size, (_, values) in GROWTH.items() for value in values],
    "corpus": [corpus_row(gigabytes, batching) for gigabytes in (0.02, 20) for batching in ("packed", "padded", "bucketed")],
    "network": [network_row(name, count, rate) for name in ("cpu-char", "mid-char") for count in (2, 4)
                for rate in ("unlimited", "10gbit", "1gbit", "100mbit")],
    "llama": [llama_row(form, length) for form in FORMS for length in (16, 256, 512, 4096)],
    "clients": [clients_row(weights, count) for weights in BATCHES for count in (1, 16)],
    "analyses": analysis_rows(),
    "tuning": [tuning_row("LoRA", ""), tuning_row("all weights", "--lora_rank 0")],
    "python": [*(python_row(work) for work in ("import", "cache", "sweep")), hook_row()],
    "page": [page_row(form) for form in ("float32", "int8", "4_bits")],
}
# These need a model (--model), root, disk or minutes, so only --rows measures them.
ON_REQUEST = ("growth", "corpus", "network", "llama", "clients", "analyses", "tuning", "python", "page")
