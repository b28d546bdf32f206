"""Compares Headlight with transformers on the same GPT-2 directories, in both directions.

Models trained by Headlight (char and byte, odd sizes) are opened by transformers; models made by
transformers (tied, untied, float16, bfloat16, sharded, without the prefix) are opened by Headlight.
Compared are logits, loss, token ids, greedy text over 200 tokens, attention weights and, after a
round trip through save_pretrained, the bits of the weights. Needs torch, transformers, safetensors
and numpy.
"""

import collections
import json
import pickle

import safetensors.torch
import torch
from torch.nn import functional as F
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          PreTrainedTokenizerFast)

from checker import TEXT
from gpt2_model import TRANSPOSED
from models import LOGIT_LIMIT, LOSS_LIMIT, compare, differing, lively, load, logits_of, save_with_tokenizer, stream_of


def trained_by_headlight(table, program):
    sizes = dict(n_layer=2, n_head=3, n_embd=21, block_size=230)
    cases = [("char, tied, no biases", "char", dict(sizes)),
             ("char, untied, biases", "char", dict(sizes, tie_weights="false", bias="true")),
             ("byte, tied, biases", "byte", dict(sizes, bias="true", n_layer=1, n_head=1, n_embd=5)),
             ("byte-level BPE", "bpe", dict(sizes, bias="true", vocab_size=300)),
             ("byte, gelu", "byte", dict(sizes, activation="gelu", bias="true", n_head=7)),
             ("byte, relu", "byte", dict(sizes, activation="relu", bias="true", block_size=17))]
    for number, (what, tokenizer, options) in enumerate(cases):
        directory = program.train(f"own{number}", tokenizer, **options)
        model = compare(table, "headlight -> transformers", program, directory)
        saved = program.folder / f"saved{number}"
        model.save_pretrained(saved)
        AutoTokenizer.from_pretrained(directory).save_pretrained(saved)
        before = load(directory)
        table.add("round trip: tensors that transformers saved otherwise", differing(before, load(saved)))
        clean = program.export(saved, "hf", program.folder / f"clean{number}")
        table.add("round trip: tensors that headlight read back otherwise", differing(before, load(clean)))


def made_by_transformers(table, program, tokenizer_directory):
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_directory)
    vocabulary = len(tokenizer)

    def config(**options):
        return GPT2Config(**{**dict(vocab_size=vocabulary + 3, n_positions=233, n_embd=12, n_layer=2,
                                    n_head=3, bos_token_id=0, eos_token_id=0), **options})

    def save(name, model, **options):
        return save_with_tokenizer(program.folder / name, model, tokenizer_directory, **options)

    cases = [
        ("tied", config(), torch.float32, {}),
        ("one head of width 5", config(n_embd=5, n_head=1, n_layer=1), torch.float32, {}),
        ("untied", config(tie_word_embeddings=False), torch.float32, {}),
        ("gelu", config(activation_function="gelu"), torch.float32, {}),
        ("gelu_pytorch_tanh", config(activation_function="gelu_pytorch_tanh"), torch.float32, {}),
        ("epsilon", config(layer_norm_epsilon=1e-3), torch.float32, {}),
        ("inner width", config(n_inner=31), torch.float32, {}),
        ("reordered", config(reorder_and_upcast_attn=True), torch.float32, {}),
        ("float16", config(n_embd=15), torch.float16, {}),
        ("bfloat16", config(n_embd=15, tie_word_embeddings=False), torch.bfloat16, {}),
        ("float64", config(n_embd=15), torch.float64, {}),
        ("sharded", config(n_embd=18), torch.float32, {"max_shard_size": "9KB"}),
        ("sharded, untied", config(n_embd=18, tie_word_embeddings=False), torch.float32,
         {"max_shard_size": "9KB"})]
    for number, (what, options, dtype, how) in enumerate(cases):
        directory = save(f"theirs{number}", lively(options).to(dtype), **how)
        compare(table, "transformers -> headlight", program, directory)
    bare = save("bare", lively(config(n_layer=3)).transformer)
    compare(table, "transformers -> headlight", program, bare)
    old = save("old", lively(config()))
    tensors = {name.removeprefix("transformer."): tensor for name, tensor
               in safetensors.torch.load_file(old / "model.safetensors").items()}
    mask = torch.tril(torch.ones(233, 233, dtype=torch.uint8)).view(1, 1, 233, 233)
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = mask.clone()
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    safetensors.torch.save_file(tensors, old / "model.safetensors", metadata={"format": "pt"})
    few = {key: value for key, value in json.loads((old / "config.json").read_text()).items()
           if key in ("model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head",
                      "architectures", "bos_token_id", "eos_token_id")}
    (old / "config.json").write_text(json.dumps(few))
    compare(table, "transformers -> headlight", program, old)


def stored_in_16_bits(table, program, source):
    """Compares models that Headlight exports with weights of 2 bytes."""
    before = load(source)
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        out = program.export(source, "hf", program.folder / f"stored_{name}", "--type", name)
        table.add("16 bits: tensors that torch rounds otherwise",
                  differing({key: value.to(dtype) for key, value in before.items()}, load(out)))
        table.add("16 bits: types that transformers finds otherwise",
                  AutoModelForCausalLM.from_pretrained(out).dtype != dtype)
        compare(table, "16 bits: headlight -> transformers", program, out)


def begun_or_not(table, program):
    """Losses of documents and of windows of a long text, with and without a token that begins them.
    Longer texts than the context are cut into windows, which begin with that token, too."""
    documents = ["Mina has a red kite.", "The kite flies (softly).", "Fly!", "연을 봐요. Ok?"]
    lines = program.folder / "documents.txt"
    lines.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    source = program.train("for_begin", "bpe", n_layer=1, n_head=1, n_embd=8, block_size=32, vocab_size=300)
    plain = json.loads((source / "tokenizer.json").read_text())
    plain["post_processor"] = None
    size = max(plain["model"]["vocab"].values()) + 1
    begin = {**plain["added_tokens"][0], "content": "<s>", "id": size}
    both = {**plain, "added_tokens": [*plain["added_tokens"], begin]}
    first = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": first,
                "pair": [*first, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [size], "tokens": ["<s>"]}}}
    kinds = [("a begin token", {**both, "post_processor": template}, {}),
             ("none", plain, {}),
             ("add_bos false", both, {"add_bos_token": False})]
    config = LlamaConfig(vocab_size=size + 1, hidden_size=36, num_attention_heads=9,
                         num_key_value_heads=3, num_hidden_layers=2, intermediate_size=40,
                         max_position_embeddings=32, bos_token_id=size, eos_token_id=0)
    model = lively(config)
    for number, (kind, file, options) in enumerate(kinds):
        directory = program.folder / f"begin{number}"
        model.save_pretrained(directory)
        (directory / "tokenizer.json").write_text(json.dumps(file))
        names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", **options}
        if kind != "none":
            names["bos_token"] = "<s>"
        (directory / "tokenizer_config.json").write_text(json.dumps(names))
        for bos in ("auto", "on", "off"):
            compare_begun(table, program, directory, model, bos, (kind, size, lines, documents))


def compare_begun(table, program, directory, model, bos, case):
    """Compares one model's losses by transformers and by eval --bos."""
    kind, size, lines, documents = case
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    has_own = kind != "none"
    end = tokenizer.eos_token_id

    def ids_of(text):
        ids = tokenizer(text, verbose=False).input_ids  # with the post-processor's tokens
        if bos != "auto":
            ids = tokenizer(text, verbose=False, add_special_tokens=False).input_ids
            ids = [size if has_own else end] * (bos == "on") + ids
        elif not has_own:
            ids = [end] + ids  # these models' documents have an end-of-text token on both sides
        return ids

    def loss_of(sequences):
        total, count = 0.0, 0
        with torch.no_grad():
            for ids in sequences:
                logits = model(torch.tensor([ids[:-1]])).logits[0].double()
                total += float(F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum"))
                count += len(ids) - 1
        return total / count

    numbers = program.json("eval", directory, "--data", lines, "--documents", "blank_line", "--bos", bos)
    expected = loss_of([ids_of(text) + [end] for text in documents])
    table.add("documents with and without a begin token: loss of eval", abs(expected - numbers["loss"]), LOSS_LIMIT)
    numbers = program.json("eval", directory, "--data", program.text, "--bos", bos)
    plain = tokenizer(TEXT, verbose=False, add_special_tokens=False).input_ids
    begins = has_own and ids_of("a")[0] == size
    stream = [size] * begins + plain
    width = model.config.max_position_embeddings
    # Every token is predicted once. The last token of a window is the first input of the next
    # window, but the begin token replaces it.
    windows = [stream[place:place + width + 1] for place in range(0, len(stream) - 1, width)]
    if begins:
        windows = [[size] + window[1:] for window in windows]
    lost = sum(len(window) - 1 for window in windows)
    table.add("windows with and without a begin token: tokens", abs(lost - numbers["tokens"]))
    table.add("windows with and without a begin token: loss of eval",
              abs(loss_of(windows) - numbers["loss"]), LOSS_LIMIT)


def fine_tuned(table, program):
    """Checks that a model of transformers fine-tuned by Headlight for 0 steps keeps its weights."""
    start = program.folder / "theirs0"
    out = program.folder / "tuned"
    program.run("train", "--init_from", start, "--data", program.text, "--out_dir", out,
                "--max_iters", 0, "--block_size", 100, "--batch_size", 2)
    before = load(start)
    before["transformer.wpe.weight"] = before["transformer.wpe.weight"][:100].clone()
    table.add("init_from: tensors that differ before the first update", differing(before, load(out / "latest")))


def as_gpt2(checkpoint):
    """nanoGPT's model, which has exact GELU, as one of transformers."""
    arguments = checkpoint["model_args"]
    sizes = {name: arguments[name] for name in ("vocab_size", "n_embd", "n_layer", "n_head")}
    model = GPT2LMHeadModel(GPT2Config(**sizes, n_positions=arguments["block_size"], activation_function="gelu")).eval()
    weights = {name: value.float() for name, value in checkpoint["model"].items()}
    absent = {name: torch.zeros_like(value) for name, value in model.state_dict().items() if name.endswith("bias")}
    model.load_state_dict(absent | {name: value.T if name.endswith(TRANSPOSED) else value
                                    for name, value in weights.items()})
    return model


def nanogpt_checkpoint(bias):
    """Random weights as nanoGPT's train.py saves them, for the characters of TEXT."""
    characters = sorted(set(TEXT))
    width, count = 21, len(characters)
    model = {"transformer.wte.weight": torch.randn(count, width), "transformer.wpe.weight": torch.randn(50, width)}
    for layer in range(2):
        for name, shape in {"ln_1": (width,), "attn.c_attn": (3 * width, width), "attn.c_proj": (width, width),
                            "ln_2": (width,), "mlp.c_fc": (4 * width, width), "mlp.c_proj": (width, 4 * width)}.items():
            model[f"transformer.h.{layer}.{name}.weight"] = torch.randn(shape) / 5
            if bias:
                model[f"transformer.h.{layer}.{name}.bias"] = torch.randn(shape[0])
    model["transformer.ln_f.weight"] = torch.randn(width)
    if bias:
        model["transformer.ln_f.bias"] = torch.randn(width)
    arguments = dict(n_layer=2, n_head=3, n_embd=width, block_size=50, bias=bias, vocab_size=count, dropout=0.0)
    meta = {"vocab_size": count, "itos": dict(enumerate(characters)),
            "stoi": {character: i for i, character in enumerate(characters)}}
    return {"model": model | {"lm_head.weight": model["transformer.wte.weight"]}, "model_args": arguments, "iter_num": 3,
            "best_val_loss": torch.tensor(1.5), "config": {"dataset": "letters"}}, meta


def opened_from_nanogpt(table, program):
    """Headlight opens files of torch.save with an optimizer and the names of torch.compile."""
    for bias in (True, False):
        checkpoint, meta = nanogpt_checkpoint(bias)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            model = {name: value.to(dtype) for name, value in checkpoint["model"].items()}
            weights = [value.float().clone().requires_grad_() for name, value in model.items()
                       if name != "lm_head.weight"]
            optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.95))
            sum(weight.sum() for weight in weights).backward()
            optimizer.step()
            folder = program.folder / f"nano_{bias}_{str(dtype).split('.')[1]}"
            folder.mkdir()
            names = collections.OrderedDict(("_orig_mod." + name, value) for name, value in model.items())
            torch.save({**checkpoint, "model": names, "optimizer": optimizer.state_dict()}, folder / "ckpt.pt")
            (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
            _, arrays = program.evaluate(folder / "ckpt.pt")
            logits = logits_of(as_gpt2({**checkpoint, "model": model}), arrays)
            table.add("nanogpt's file: logits", (logits - torch.from_numpy(arrays["logits"])).abs().max(), LOGIT_LIMIT)
            ids = [meta["stoi"][character] for character in TEXT]
            table.add("nanogpt: ids of meta.pkl that differ",
                      sum(a != b for a, b in zip(ids, stream_of(arrays), strict=True)))


def check(table, program, _):
    trained_by_headlight(table, program)
    own = program.folder / "own0/latest"
    made_by_transformers(table, program, own)
    stored_in_16_bits(table, program, (program.folder / "own3/latest").resolve())
    begun_or_not(table, program)
    fine_tuned(table, program)
    opened_from_nanogpt(table, program)
