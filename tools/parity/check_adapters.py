"""Compares LoRA adapters with PEFT.

- An adapter that PEFT writes (several ranks and alphas) gives the weights of PEFT's merged model.
- Three steps of plain SGD on conversations give the same adapter in Headlight and in PEFT, where the marks
  of TRL's training templates choose the learned tokens: LoRA, DoRA, and an adapter of PEFT with both and with
  several ranks and alphas.
- PEFT opens the adapters that Headlight trains, with the logits of `headlight export`.
- llama.cpp computes PEFT's numbers with an adapter that Headlight exports as GGUF, and so does Headlight with a
  file of the names and the order of rows that llama.cpp's converter writes.

Needs peft beside the packages of check_hf.py. The last comparison needs gguf and xllamacpp (made with 2026.10.11549),
and is left out without the latter.
"""

import importlib.util
import re
import shutil
import warnings
from pathlib import Path

import safetensors.torch
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoTokenizer, GPT2Config, GPTNeoXConfig, LlamaConfig, Phi3Config, Qwen2Config

from checker import Headlight, Table, finish_gguf, write_lines
from models import exported, largest, lively, open_model, save_with_tokenizer

WEIGHT_LIMIT = 2e-6
STEP_LIMIT = 2e-6
LOGIT_LIMIT = 1e-5
LLAMA_LIMIT = 1e-4
RATE = 0.5
PLAIN_SGD = ("--optimizer sgd --momentum 0 --lr_schedule constant --warmup_iters 0 --weight_decay 0 "
             "--grad_clip 0").split()

SIZES = dict(max_position_embeddings=128, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
             num_attention_heads=4, bos_token_id=0, eos_token_id=0)
GROUPED = {**SIZES, "num_key_value_heads": 2}

# Name, configuration, modules for PEFT, the same for Headlight: lora_targets, after a colon the parts ("": not
# trained there).
CASES = [
    ("llama", lambda v: LlamaConfig(vocab_size=v, **GROUPED), ["q_proj", "v_proj", "o_proj"], "q,v,o"),
    ("llama, all", lambda v: LlamaConfig(vocab_size=v, **GROUPED), "all-linear", "q,k,v,o,gate,up,down"),
    ("llama, last layer", lambda v: LlamaConfig(vocab_size=v, **GROUPED), ["q_proj", "up_proj"], "q,up:layer.1-"),
    ("qwen2", lambda v: Qwen2Config(vocab_size=v, **GROUPED), ["k_proj", "gate_proj"], "k,gate"),
    ("gpt2", lambda v: GPT2Config(vocab_size=v, n_positions=128, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
                                  eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), ["c_attn", "c_proj", "c_fc"], "q,k,v,o,up,down"),
    ("gpt_neox", lambda v: GPTNeoXConfig(vocab_size=v, **SIZES), ["query_key_value", "dense_4h_to_h"], "q,k,v,down"),
    ("phi3", lambda v: Phi3Config(vocab_size=v, pad_token_id=None, **GROUPED), ["qkv_proj", "gate_up_proj"], ""),
]
# By ends and by expressions of names that the cases have.
MIXED_RANKS = {"q_proj": 2, "0.self_attn.k_proj": 1, r".*\.0\..*\.c_proj": 5, "query_key_value": 4}
MIXED_ALPHAS = {"o_proj": 2, "gate_proj": 7, r"transformer\.h\.1\.attn\..*": 9}
CHAT = [{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": f"say {i} twice"},
                      {"role": "assistant", "content": f"{i} {i}"}, {"role": "user", "content": "and again"},
                      {"role": "assistant", "content": f"{i}, {i}!"}]} for i in range(6)]
# ChatML with the marks of TRL's training templates.
MARKED = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
          "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>\\n' }}"
          "{% endgeneration %}{% else %}{{ message['content'] + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def lora_config(config, modules, **options) -> LoraConfig:
    return LoraConfig(task_type="CAUSAL_LM", r=3, lora_alpha=5, target_modules=modules,
                      fan_in_fan_out=config.model_type == "gpt2", **options)


def written_by_peft(adapter: Path, base: Path, config: LoraConfig):
    """Writes an adapter whose updates are not zero; returns the model with it."""
    model = get_peft_model(open_model(base).train(), config)
    for name, parameter in model.named_parameters():
        if "lora_A" in name or "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    model.peft_config["default"].base_model_name_or_path = str(base)
    model.save_pretrained(adapter)
    return model


def check_reading(table, program, base: Path, config, modules, tokenizer) -> None:
    for number, options in enumerate([{}, {"use_rslora": True, "init_lora_weights": False},
                                      {"alpha_pattern": {"down_proj": 9, "c_proj": 7}, "init_lora_weights": False},
                                      {"use_dora": True}]):
        torch.manual_seed(number)
        adapter = base.with_name(f"{base.name}-peft{number}")
        model = written_by_peft(adapter, base, lora_config(config, modules, **options))
        merged = save_with_tokenizer(adapter.with_name(adapter.name + "-merged"), model.merge_and_unload(), tokenizer)
        table.add("adapters of PEFT: weights of the merged model",
                  largest(exported(program, adapter), exported(program, merged)), WEIGHT_LIMIT)


def data_of(tokenizer, records) -> list:
    """Ids and labels of conversations, as TRL makes them."""
    rows = []
    for record in records:
        done = tokenizer.apply_chat_template(record["messages"], chat_template=MARKED, tokenize=True, return_dict=True,
                                             return_assistant_tokens_mask=True)
        ids = torch.tensor(done["input_ids"])
        mask = torch.tensor(done["assistant_masks"])
        rows.append((ids, torch.where(mask == 1, ids, -100)))
    return rows


def check_training(table, program, what, base: Path, tokenizer, *options) -> None:
    """Trains with these options beside those of a plain step."""
    chat = write_lines(program.folder / "chat.jsonl", CHAT)

    def train(steps: int) -> Path:
        out = program.folder / f"{base.name}-{what}-{steps}"
        program.run("train", "--data", chat, "--validation_fraction", 0, "--lora_rank", 3, "--lora_alpha", 5,
                    *PLAIN_SGD, "--learning_rate", RATE, "--batch_size", len(CHAT), "--max_iters", steps, "--out_dir",
                    out, *options)
        return (out / "latest").resolve()

    start, end = train(0), train(3)
    model = PeftModel.from_pretrained(open_model(base), start, is_trainable=True).train()
    rows = data_of(tokenizer, CHAT)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)
    learned = sum(int((labels[1:] != -100).sum()) for _, labels in rows)
    for _ in range(3):
        optimizer.zero_grad()
        for ids, labels in rows:
            logits = model(ids[None]).logits[0, :-1]
            loss = torch.nn.functional.cross_entropy(logits, labels[1:], ignore_index=-100, reduction="sum")
            (loss / learned).backward()
        optimizer.step()
    expected = {name.replace(".default", "").replace("_vector.weight", "_vector"): parameter.detach()
                for name, parameter in model.named_parameters() if "lora_" in name}
    table.add(f"{what} after 3 steps: Headlight and PEFT",
              largest(safetensors.torch.load_file(end / "adapter_model.safetensors"), expected), STEP_LIMIT)
    again = PeftModel.from_pretrained(open_model(base), end).eval()
    other = open_model(program.export(end, "hf", program.folder / f"{base.name}-{what}-whole"))
    ids = rows[0][0][None]
    with torch.no_grad():
        table.add(f"{what} of Headlight in PEFT: logits", (again(ids).logits - other(ids).logits).abs().max(),
                  LOGIT_LIMIT)


# Names of matrices in GGUF files, by their names in PEFT's.
GGUF_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
              "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
              "mlp.down_proj": "ffn_down"}


def write_as_llama_cpp(adapter: Path, config, out: Path) -> None:
    """Writes an adapter of PEFT as GGUF. Like the matrices of a Llama, rows of q and k alternate between the halves of
    a head."""
    import gguf

    writer = gguf.GGUFWriter(out, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 5.0)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, tensor in safetensors.torch.load_file(adapter / "adapter_model.safetensors").items():
        layer, module, side = re.search(r"layers\.(\d+)\.(.*)\.lora_([AB])", name).groups()
        side = side.lower()
        part = GGUF_NAMES[module]
        if side == "b" and part in heads:
            tensor = tensor.reshape(heads[part], 2, -1, tensor.shape[1]).swapaxes(1, 2).reshape(tensor.shape)
        writer.add_tensor(f"blk.{layer}.{part}.weight.lora_{side}", tensor.float().contiguous().numpy())
    finish_gguf(writer)


def check_llama_cpp(table, program, tokenizer) -> None:
    from llama_server import LlamaCpp

    config = LlamaConfig(vocab_size=len(tokenizer), **GROUPED)
    base = save_with_tokenizer(program.folder / "llama-base", lively(config), program.folder / "chatml")
    torch.manual_seed(7)
    model = get_peft_model(open_model(base), lora_config(config, "all-linear", init_lora_weights=False)).eval()
    model.peft_config["default"].base_model_name_or_path = str(base)
    adapter = program.folder / "llama-adapter"
    model.save_pretrained(adapter)
    whole = program.export(base, "gguf", program.folder / "llama-base.gguf", "--type", "f32")
    ours = program.export(adapter, "gguf", program.folder / "llama-ours.gguf", "--adapter")
    theirs = program.folder / "llama-theirs.gguf"
    write_as_llama_cpp(adapter, config, theirs)
    prompt = [5, 17, 100, 42, 9, 63]
    with torch.no_grad():
        expected = model(torch.tensor([prompt])).logits[0, -1].log_softmax(0)
        with model.disable_adapter():
            plain = model(torch.tensor([prompt])).logits[0, -1].log_softmax(0)
    assert (expected - plain).abs().max() > 100 * LLAMA_LIMIT
    for what, file in (("Headlight's", ours), ("one of llama.cpp's form", theirs)):
        found = torch.tensor(LlamaCpp(whole, file).log_probabilities(prompt, len(tokenizer)))
        table.add(f"adapters as GGUF in llama.cpp, {what}: log probabilities", (found - expected).abs().max(), LLAMA_LIMIT)
    merged = program.folder / "llama-merged"
    for what, file, options in (("Headlight's", ours, ["--base", base]),
                                ("one of llama.cpp's form", theirs, ["--base", base]),
                                ("one of llama.cpp's form on a GGUF file", theirs, ["--base", whole])):
        other = open_model(program.export(file, "hf", merged, *options))
        with torch.no_grad():
            found = other(torch.tensor([prompt])).logits[0, -1].log_softmax(0)
        table.add(f"adapters as GGUF in Headlight, {what}: log probabilities", (found - expected).abs().max(), LOGIT_LIMIT)
        shutil.rmtree(merged)


def chat_model(program: Headlight, template) -> tuple[Path, AutoTokenizer]:
    """A folder with a trained tokenizer and a chat template."""
    plain = program.train("tokenizer", "bpe", vocab_size=300, n_layer=1, n_head=1, n_embd=8, block_size=32)
    folder = program.export(plain, "hf", program.folder / "chatml", "--chat_template", template)
    return folder, AutoTokenizer.from_pretrained(folder)


def check(table: Table, program: Headlight, _) -> None:
    warnings.filterwarnings("ignore", message="The following (rank|alpha)_pattern keys")
    chat, tokenizer = chat_model(program, "chatml")
    for number, (_, make, modules, targets) in enumerate(CASES):
        config = make(len(tokenizer))
        base = save_with_tokenizer(program.folder / f"base{number}", lively(config), chat)
        check_reading(table, program, base, config, modules, chat)
        if targets:
            names, _, parts = targets.partition(":")
            chosen = ["--init_from", base, "--lora_targets", names, "--train", parts]
            check_training(table, program, "LoRA", base, tokenizer, *chosen)
            check_training(table, program, "DoRA", base, tokenizer, *chosen, "--dora")
            mixed = base.with_name(f"{base.name}-mixed")
            written_by_peft(mixed, base, lora_config(config, modules, use_dora=True, rank_pattern=MIXED_RANKS,
                                                     alpha_pattern=MIXED_ALPHAS))
            check_training(table, program, "mixed ranks", base, tokenizer, "--init_from", mixed)
    if importlib.util.find_spec("xllamacpp"):
        check_llama_cpp(table, program, tokenizer)
