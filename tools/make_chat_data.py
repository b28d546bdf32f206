#!/usr/bin/env python3
"""Make data/cards.jsonl, the conversations that configs/chat.toml fine-tunes a model on.

Each conversation is about a story of data/toy.txt. The user tells the story; the assistant writes its
card, always in this form:

    [card] who: Pig, Hare / where: river

The people are in the order of their first names in the story, the place is the first one of the list
below ("none" if there is none), and every second conversation goes on with a question about the card.
Korean stories have Korean cards. No model knows this form by chance, so the share of exact answers
shows what fine-tuning has taught.

Usage: make_chat_data.py [--check] [--out FILE] [--held_out FILE]
"""

import argparse
import importlib.util
import json
import random
import re
import sys
from pathlib import Path

SEED = 7
ENGLISH, KOREAN, HELD_OUT = 300, 100, 60
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def corpus_words():
    """Names and places of tools/make_toy_corpus.py."""
    spec = importlib.util.spec_from_file_location("toy", HERE / "make_toy_corpus.py")
    toy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(toy)
    names = toy.WOMEN + toy.MEN + toy.SHE_ANIMALS + toy.HE_ANIMALS
    korean_names = [name for group in toy.KOREAN_NAMES for name in group]
    return (names, toy.PLACES), (korean_names, toy.KOREAN_PLACES)


def in_order(words, text, pattern):
    """The words that a text holds, by their first places in it."""
    found = {word: re.search(pattern.format(word), text) for word in words}
    return sorted((word for word in words if found[word]), key=lambda word: found[word].start())


def card_of(story, words, is_korean):
    """People and place of a story; None if nobody has a name."""
    names, places = words
    pattern = "{}" if is_korean else r"\b{}\b"
    who = in_order(names, story, pattern)
    where = in_order(places, story, r"{}(?=에|으로|로|을|이|가|의|\s)" if is_korean else pattern)
    return (who, where[0] if where else None) if who else None


def conversation(story, card, is_korean, dice):
    who, where = card
    if is_korean:
        text = f"[카드] 누가: {', '.join(who)} / 어디: {where or '없음'}"
        second = [("첫 번째 이름은?", f"[카드] 첫째: {who[0]}"), ("몇 명이야?", f"[카드] 수: {len(who)}")]
    else:
        text = f"[card] who: {', '.join(who)} / where: {where or 'none'}"
        second = [("Who is named first?", f"[card] first: {who[0]}"),
                  ("How many names are there?", f"[card] count: {len(who)}")]
    messages = [{"role": "user", "content": story}, {"role": "assistant", "content": text}]
    if dice.random() < 0.5:
        question, answer = dice.choice(second)
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"messages": messages}


def all_conversations():
    stories = (ROOT / "data/toy.txt").read_text().strip().split("\n\n")
    english, korean = corpus_words()
    dice = random.Random(SEED)
    dice.shuffle(stories)
    made = {False: [], True: []}
    for story in stories:
        is_korean = bool(re.search("[가-힣]", story))
        card = card_of(story, korean if is_korean else english, is_korean)
        if card:
            made[is_korean].append(conversation(story, card, is_korean, dice))
    train = made[False][:ENGLISH] + made[True][:KOREAN]
    dice.shuffle(train)
    held_out = made[False][ENGLISH:ENGLISH + HELD_OUT * 3 // 4] + made[True][KOREAN:KOREAN + HELD_OUT // 4]
    return train, held_out


def lines(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if the files differ")
    parser.add_argument("--out", type=Path, default=ROOT / "data/cards.jsonl")
    parser.add_argument("--held_out", type=Path, default=ROOT / "data/cards_held_out.jsonl")
    args = parser.parse_args()
    differs = False
    for path, records in zip((args.out, args.held_out), all_conversations()):
        text = lines(records)
        if args.check:
            differs = differs or not path.exists() or path.read_text() != text
        else:
            path.write_text(text)
            print(f"{path}: {len(records)} conversations, {len(text.encode())} bytes")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
