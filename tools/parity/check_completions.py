"""Compares prompts and completions in text with TRL.

TRL's SFTTrainer and DPOTrainer and `headlight tokenizer show --template` read the same records with tokenizers of
several kinds. Ids and learned tokens of prompts with completions agree, also where a token crosses the border and
where a completion ends with the end token. Of pairs of answers, ids agree, and Headlight learns the tokens of TRL
from the first that differs on: the others are equal in both answers.

A tokenizer like GPT-2's has one token that begins and ends texts. Headlight puts it in front of texts, TRL does not;
that token is left out of the comparison.

Needs trl (made with 1.16) beside the packages of check_hf.py.
"""

import logging
from pathlib import Path

from datasets import Dataset, disable_progress_bars
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from checker import Headlight, Table, note
from tokenizer_kinds import LLAMA3

END = "</s>"
RECORDS = [("Is it late? ", "Yes, it is."), ("1+1=", "2"), ("an unbeliev", "able story"), ("def f():\n  ", "  return 1"),
           ("Say \"hi", "gh\"."), ("A line\n", "\nand another"), ("", "Once upon a time"), ("The end of ", f"it{END}"),
           ("안녕", "하세요, 반갑습니다"), ("tab\t", "\tbed"), ("no blank", " before"), ("  two", "  blanks  "),
           ("x" * 9, "x" * 8), ("naïve caf", "é, déjà vu")]
WRONG = ["no", " 3", "able", "pass", "gh", "and", "Twice", "me", "하", "bed", "before", "blanks", "xx", "e"]
TEXTS = [prompt + completion for prompt, completion in RECORDS] * 20 + ["unbelievable  indents and high blanks"] * 20


def byte_level(has_pattern: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    stage = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not has_pattern)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), stage]) if has_pattern else stage
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def metaspace(model, scheme: str) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, split=False)
    return tokenizer


def saved(folder: Path, tokenizer: Tokenizer, begin: str | None) -> PreTrainedTokenizerFast:
    special = [END, "<s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet() if isinstance(tokenizer.decoder, decoders.ByteLevel) else []
    options = {"vocab_size": 420, "special_tokens": special, "initial_alphabet": alphabet, "show_progress": False}
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(**options))
    if begin is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", pair=f"{begin} $A {begin} $B", special_tokens=[(begin, tokenizer.token_to_id(begin))])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin or END, eos_token=END,
                            pad_token=END).save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


KINDS = {
    "byte-level BPE of GPT-2": lambda: (byte_level(False), None),
    "byte-level BPE of Llama 3 with a begin token": lambda: (byte_level(True), "<s>"),
    "Metaspace BPE with a mark at the first word": lambda: (metaspace(models.BPE(unk_token="<unk>"), "first"), "<s>"),
    "Metaspace BPE with a mark at each text": lambda: (metaspace(models.BPE(unk_token="<unk>"), "always"), "<s>"),
}


def settings(kind, folder: Path, **options):
    return kind(output_dir=str(folder / "trl"), max_length=None, report_to=[], bf16=False, use_cpu=True,
                save_strategy="no", disable_tqdm=True, **options)


def completions_of_trl(model, tokenizer, records: list, folder: Path, **options) -> list:
    """For each record, pairs of id and whether it is learned, from the data of SFTTrainer."""
    trainer = SFTTrainer(model=model, args=settings(SFTConfig, folder, **options), processing_class=tokenizer,
                         train_dataset=Dataset.from_list(records))
    return [[(token, label != -100) for token, label in zip(row["input_ids"], row["labels"], strict=True)]
            for row in trainer.train_dataset]


def pairs_of_trl(model, tokenizer, records: list, folder: Path) -> list:
    """The preferred answers with their prompts, learned from the first token that differs on."""
    trainer = DPOTrainer(model=model, args=settings(DPOConfig, folder), processing_class=tokenizer,
                         train_dataset=Dataset.from_list(records))
    found = []
    for row in trainer.train_dataset:
        chosen, rejected = row["prompt_ids"] + row["chosen_ids"], row["prompt_ids"] + row["rejected_ids"]
        first = next(i for i, (a, b) in enumerate(zip(chosen, rejected)) if a != b)
        found.append([(token, i >= first) for i, token in enumerate(chosen)])
    return found


def check_kind(table: Table, program: Headlight, folder: Path, name: str) -> None:
    bare, begin = KINDS[name]()
    tokenizer = saved(folder, bare, begin)
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                 num_attention_heads=1)).save_pretrained(folder / "model")
    model = LlamaForCausalLM.from_pretrained(folder / "model")  # DPOTrainer opens its path again, as the reference
    completions = [{"prompt": prompt, "completion": completion} for prompt, completion in RECORDS]
    pairs = [{"prompt": prompt, "chosen": good, "rejected": bad}
             for (prompt, good), wrong in zip(RECORDS, WRONG, strict=True) for good, bad in ((good, wrong), (wrong, good))]
    for what, records, read in (("completions", completions, completions_of_trl), ("pairs", pairs, pairs_of_trl)):
        for record, wanted in zip(records, read(model, tokenizer, records, folder), strict=True):
            tokens = program.learned(folder, record) or []
            found = tokens[1:] if begin is None else tokens
            if found != wanted:
                note(name, record, f"TRL       {wanted}", f"Headlight {found}")
            table.add(f"{what} in text, {name}: records of TRL", found != wanted)


def quiet() -> None:
    logging.disable(logging.WARNING)
    disable_progress_bar()
    disable_progress_bars()


def check(table: Table, program: Headlight, _) -> None:
    quiet()
    for number, name in enumerate(KINDS):
        folder = program.folder / str(number)
        folder.mkdir()
        check_kind(table, program, folder, name)
