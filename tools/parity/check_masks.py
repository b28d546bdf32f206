"""Compares the learned tokens of conversations with TRL.

Templates are those of tests/formats/chat_templates, of Headlight and of TRL. TRL's SFTTrainer and `headlight
tokenizer show --template` read the same records with the same tokenizer. Ids and learned tokens agree:

- Prompts with completions: TRL's completion_only_loss, with every template.
- Whole conversations: TRL's assistant_only_loss, with every template that has generation marks or for which TRL
  has one that has.

EXCEPTIONS has the differences, with their reasons. One that no longer occurs is a failure, too. Needs trl (made with
1.16) beside the packages of check_hf.py.
"""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import tokenizers
import trl
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl.chat_template_utils import get_training_chat_template

from check_completions import byte_level, completions_of_trl, quiet
from checker import ROOT, Headlight, Table, note
from make_chat_templates import dialects

FOLDERS = [ROOT / "src/formats/chat_template/known", Path(trl.__file__).parent / "chat_templates"]
COMPLETION, MARKS = "completion_only_loss", "assistant_only_loss"


@dataclass(frozen=True)
class Difference:
    """A difference: TRL and Headlight learn different tokens, or have other ids (`more` is None)."""

    reason: str
    rule: str
    templates: str  # pattern of names
    more: str | None = None  # pattern of each of different_runs()


EXCEPTIONS = [
    Difference("The template writes the last question with the system message; TRL learns the question of the answer.",
               COMPLETION, "mistral|mistral_nemo|mistral_v2v3|mistral_v3_tekken|pixtral",
               r" ?(Hi there|What is 2\+2\?)\[/INST\]"),
    Difference("The prompt ends with empty thoughts, whose line breaks are one token; the first of two is in both.",
               COMPLETION, "qwen3_5_nothink(_training)?", "\n"),
    Difference("TRL's marks include the beginning of an answer that the prompt has: the name of the role.", MARKS,
               "deepseek_?(r1_distill|v3)(_training)?", "<｜Assistant｜>(<think>\n)?|<｜tool▁outputs▁end｜>"),
    Difference("The same.", MARKS, "(gpt_?oss|muse_glimmer)(_training)?", r"<\|start\|>assistant"),
    Difference("The same: the line break after the role.", MARKS, "qwen2_5(_training)?", "\n"),
    Difference("The same: the beginning of thoughts, or empty thoughts.", MARKS,
               "(nemotron_3_.*|qwen3_[568].*)", "<think>(\n(\n</think>\n\n)?)?"),
    Difference("A call of a tool ends with the token that begins its answer, and the prompt after it has no name of a "
               "role; TRL's marks leave out both.", MARKS, "diffusion_gemma(_training)?",
               r"Headlight: <\|(tool_response>|turn>model\n)"),
    Difference("TRL's training template writes thoughts that the model's drops, or the next turn's first token.", MARKS,
               "deepseek_r1_distill|glm4moe|qwen3|qwen3_5_(no)?think|qwen3_6"),
]
# Templates that read lists of parts or write no answers: TRL learns turns without their text, Headlight refuses.
WITHOUT_TEXT = "smolvlm(_training)?|idefics3(_training)?|yandexgpt_5|chatglm4"
# Templates like Pixtral's write no calls of tools: TRL learns the end of such a turn alone, Headlight refuses it.
WITHOUT_CALLS = "learned tokens: records with calls of tools that the template leaves out, refused"


def chat(*contents: str, system: str = "") -> list:
    """Messages of user and assistant in turn."""
    start = [{"role": "system", "content": system}] if system else []
    return start + [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]


CONVERSATIONS = {
    "one turn": chat("Is it late?", "Yes, it is ten."),
    "several turns": chat("Hi there", "Hello!", "What is 2+2?", "4", "And 3+3?", "6, of course."),
    "system": chat("Hi there", "Hello!", system="You are brief."),
    "system and several turns": chat("Hi there", "Hello!", "What is 2+2?", "4", system="You are brief."),
    "equal texts": chat("Hi", "Hi", "Hi", "Hi", system="Hi"),
    "blanks around texts": chat(" Hi\n", "\n  Hello!\n", "  What is\n2+2? ", " 4\n\n"),
    "other scripts": chat("안녕?", "네, 안녕하세요 👍", "Où?", "À l'école: « ici »\n\n- 1\n- 2"),
    "thoughts": chat("Hi there", "<think>\nA greeting.\n</think>\n\nHello!"),
    "thoughts in every turn": chat("Hi there", "<think>\nA greeting.\n</think>\n\nHello!", "What is 2+2?",
                                   "<think>\nEasy.\n</think>\n\n4"),
}
CALL = {"type": "function", "id": "abc123def", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "its name"}}, "required": ["city"]}}}]
CALLS = chat("Weather in Oslo?") + [
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": "-3.5 degrees"},
    {"role": "assistant", "content": "It is cold."}]
TOOL_CONVERSATIONS = {"tool call": CALLS[:2], "tool answer": CALLS, "and a question": CALLS + chat("Thanks", "Bye")}

THOUGHTS = ("<think>", "</think>")
MODEL = LlamaForCausalLM(LlamaConfig(vocab_size=1000, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                     num_attention_heads=1, bos_token_id=0, eos_token_id=0))


def rendered(template: str, messages: list, **options) -> str | None:
    """The text of a conversation, or None if the template refuses it."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()),
                                        bos_token="<bos>", eos_token="<eos>")
    try:
        return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, **options)
    except Exception:  # any exception of the template is a refusal
        return None


def save_tokenizer(folder: Path, template: str, pattern: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE of the rendered conversations, whose special tokens are the names in them."""
    texts = [text for messages in [*CONVERSATIONS.values(), *TOOL_CONVERSATIONS.values()]
             for part in (messages[:-1], messages) for is_prompt in (False, True)
             if (text := rendered(template, part, add_generation_prompt=is_prompt))]
    names = {name for text in texts for name in re.findall(r"<[^<>\s]+>|\[/?[A-Z_]+\]", text)} | {"<bos>", "<eos>"}
    tokenizer = byte_level(pattern == "Llama 3")
    tokenizer.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    # As in models, the tokens around thoughts are not special.
    tokenizer.add_tokens(sorted(names.intersection(THOUGHTS)))
    tokenizer.add_special_tokens(sorted(names.difference(THOUGHTS)))
    whole = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", pad_token="<eos>")
    whole.chat_template = template
    whole.save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def record_of(messages: list, rule: str) -> dict:
    record = {"messages": messages} if rule == MARKS else {"prompt": messages[:-1], "completion": messages[-1:]}
    return record | ({"tools": TOOLS} if messages[0] == CALLS[0] else {})


def is_refused(template: str, record: dict) -> bool:
    whole = record.get("messages") or record["prompt"] + record["completion"]
    return any(rendered(template, messages, tools=record.get("tools"), add_generation_prompt=is_prompt) is None
               for messages, is_prompt in [(whole, False), (record.get("prompt", whole), "prompt" in record)])


def marked(tokenizer, tokens: list | None) -> str:
    """Text with context in braces."""
    text, was_learned = "", True
    for token, is_learned in tokens or []:
        text += ("}" if is_learned else "{") * (is_learned != was_learned) + tokenizer.decode([token])
        was_learned = is_learned
    return repr(text)


def different_runs(tokenizer, found: list, wanted: list) -> list | None:
    """Texts of the runs of tokens that only TRL learns, and after "Headlight: " of those that only Headlight learns;
    None if the ids differ."""
    if [token for token, _ in found] != [token for token, _ in wanted]:
        return None
    runs = itertools.groupby(zip(wanted, found), key=lambda pair: (pair[0][1], pair[1][1]))
    return [("" if by_trl else "Headlight: ") + tokenizer.decode([token for (token, _), _ in run])
            for (by_trl, by_headlight), run in runs if by_trl != by_headlight]


def leaves_out_calls(template: str, record: dict) -> bool:
    """True for a record with calls of tools of which the template writes nothing."""
    text = rendered(template, CALLS[:2]) if "tools" in record else None
    return text is not None and CALL["function"]["name"] not in text


def explanation(tokenizer, name: str, rule: str, found: list | None, wanted: list) -> Difference | str | None:
    """The named exception that covers a difference."""
    if found is None:
        return WITHOUT_TEXT if re.fullmatch(WITHOUT_TEXT, name) else None
    runs = different_runs(tokenizer, found, wanted)
    for case in EXCEPTIONS:
        if case.rule == rule and re.fullmatch(case.templates, name) and (runs is None) == (case.more is None) and all(
                re.fullmatch(case.more, run) for run in runs or []):
            return case
    return None


class Comparison:
    def __init__(self, table: Table, program: Headlight):
        self.program, self.folder, self.table, self.used = program, program.folder, table, set()

    def add(self, name: str, template: str, pattern: str, rule: str) -> None:
        folder = self.folder / f"{name}-{pattern}"
        tokenizer = save_tokenizer(folder, template, pattern)
        if rule == MARKS:
            try:
                get_training_chat_template(tokenizer)
            except (TypeError, ValueError):  # TRL has no template with marks for this model, or fails in looking
                return
        for group in (CONVERSATIONS, TOOL_CONVERSATIONS):
            records = {case: record_of(messages, rule) for case, messages in group.items()}
            good = {case: record for case, record in records.items() if not is_refused(template, record)}
            wanted = dict(zip(good, completions_of_trl(MODEL, tokenizer, list(good.values()), folder,
                                                       assistant_only_loss=rule == MARKS) if good else []))
            for case, record in records.items():
                found = self.program.learned(folder, record)
                what = f"{name}, {pattern}, {rule}, {case}"
                if found is None and leaves_out_calls(template, record):
                    self.table.add(WITHOUT_CALLS, 0)
                else:
                    self.compare(what, tokenizer, name, rule, found, wanted.get(case))

    def compare(self, what: str, tokenizer, name: str, rule: str, found: list | None, wanted: list | None) -> None:
        is_same = found == wanted
        reason = None if is_same or wanted is None else explanation(tokenizer, name, rule, found, wanted)
        self.used.add(reason)
        if not is_same and reason is None:
            note(what, f"\n  TRL       {marked(tokenizer, wanted)}\n  Headlight {marked(tokenizer, found)}")
        kind = "named exceptions" if reason else "records that both refuse" if wanted is None else "records"
        self.table.add(f"learned tokens, {rule} of TRL: {kind}", not (is_same or reason))


def check(table: Table, program: Headlight, options) -> None:
    quiet()
    comparison = Comparison(table, program)
    # By source: some are in several places.
    templates = {one["source"]: one["template"] for lines in dialects().values() for one in lines}
    for path in [path for folder in FOLDERS for path in sorted(folder.glob("*.jinja"))]:
        templates.setdefault(path.read_bytes().decode(), path.stem)
    for template, name in templates.items():
        if options.part in name:
            # Patterns of pieces before byte-level BPE: GPT-2's, and that of Llama 3, which keeps line breaks together. Marks
            # are places in the text; where GPT-2's pieces cross them, they are compared with completions only.
            for pattern, rule in (("GPT-2", COMPLETION), ("Llama 3", COMPLETION), ("Llama 3", MARKS)):
                comparison.add(name, template, pattern, rule)
    for case in EXCEPTIONS if not options.part else []:
        table.add("learned tokens: exceptions that do not occur", case not in comparison.used)
    note(f"{len(templates)} chat templates")


OPTIONS = {"part": dict(nargs="?", default="")}
