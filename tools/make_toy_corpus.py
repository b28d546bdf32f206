#!/usr/bin/env python3
"""Make data/toy.txt, the small story corpus that Headlight trains on, and its side file.

The corpus is for a GPT of under a million parameters that trains for a minute on a CPU, on words
or on characters: the words are few, so that it learns to spell them all, and every story holds
structure for an attention head to find. Names come back, brackets close after lists of any length,
verbs agree with distant subjects, words are said twice and lost things are given back. Each kind of
bracket ends where only the opening one tells: a head must look for it. The side file
data/toy.annotations.jsonl says where those pairs are, so that a head can be scored against the
truth instead of by eye.

A story is a plot of the grammar told with one cast. In the text of a plot
    [a|b|]        one of the alternatives, which may be empty and may nest
    <rule>        the text of another rule of the same grammar
    {key}         the value the cast holds for the key, always the same within a story
    {key:a}       the value with its English article
    {key:s}       the value (or the word itself) as a subject, singular or plural at random
    {word:v}      the verb in the form that the latest subject asks for
    {key:을}      the value with the form of the Korean particle that its last letter asks for
    {~words}      words that the plot repeats literally
    /             a line break

Usage: make_toy_corpus.py [--check] [--out DIR] [--show N]
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

SEED = 20240
STORIES = 3000
OFTEN = 2  # times that a plot of words said again is told for each other plot
KOREAN_SHARE = 0.3
MIN_CHARS, MAX_CHARS = 40, 639
TEXT_FILE, PAIRS_FILE = "toy.txt", "toy.annotations.jsonl"


def listed(text):
    """Splits a list of entries written with bars and line breaks between them."""
    return re.split(r"[|\n]", text)


# English words.

WOMEN = "Mina Anna Lily Rosa Nora Ella Ivy Hana Dora June".split()
MEN = "Tom Ben Leo Max Sam Finn Jack Noah Theo Oscar".split()
SHE_ANIMALS = "Owl Hare Deer Lark Wren Otter".split()
HE_ANIMALS = "Fox Bear Mole Toad Crow Pig".split()
PRONOUNS = {"she": {"he": "she", "his": "her", "him": "her", "own": "hers"},
            "he": {"he": "he", "his": "his", "him": "him", "own": "his"}}
LOOKS = "red blue green yellow little old tiny orange white round".split()
THINGS = "kite drum bell ball hat cup lamp key book map spoon scarf basket box".split()
INDOORS = listed("under the bed|behind the door|under the stairs|in the kitchen|under the table")
OUTDOORS = listed("""in the tall grass|under the big tree|behind the barn|next to the well
by the garden gate|behind the old wall|by the pond|near the little bridge""")
PLACES = "hill lake mill village market farm forest river garden sea".split()
SONGS = listed("""Row, row, little boat, row me over the sea
Shine, shine, little moon, shine till I am home
Round and round the old mill goes, and where it stops nobody knows
Step by step and stone by stone, no one has to walk alone
One for you and one for me, and two for the bird in the apple tree
Rain, rain, fall on the hill, fill the river and turn the mill
Blow, wind, blow, over the snow, and tell me where the wild geese go
Sleep, little star, the night is long, so close your eyes and hear my song""")
RIDDLES = listed("""What has hands but cannot hold a cup?;a clock;a bear
What runs all day but is never tired?;a river;a horse
What has a neck but no head?;a bottle;a goose
What has many leaves but is not a tree?;a book;a garden
What has four legs but cannot walk?;a table;a cat
What has ears but cannot hear?;the corn;a stone
What grows when you take more away?;a hole;a tree
What falls all day but is never hurt?;the snow;a leaf""")
WORDS = """apple ball bear bed bee bell bird boat book bread bridge bun cake cart cat clock cloud coat
cow cup dog door drum duck egg fire fish frog gate goat hat hen hill horse house key kite lamp leaf
letter map milk moon mouse mud nut pear plum pond rain ring river road salt seed sheep ship shoe
snow soup spoon star stone sun table tree wall wind""".split()
FOLK = {"girl": "she", "boy": "he", "farmer": "he", "baker": "she", "sailor": "he", "singer": "she"}
ACTS = listed("""sing songs|bake bread|tell stories|ring the bell|light the lamps|dance in the road
feed the ducks|count the boats""")
PETS = "cat dog bird frog duck goose mouse hen".split()
PET_ACTS = listed("listen|sleep all day|look up|hide in the grass|play in the sun")
PLURALS = {"mouse": "mice", "goose": "geese"}
VERBS = {"be": ("is", "are"), "was": ("was", "were"), "have": ("has", "have")}

ENGLISH_RULES = """
once := [One [morning|evening|day]|Last [summer|winter|week]|After lunch|Long ago],

acalled := [called {A}|{A} called]

bcalled := [called {B}|{B} called]

asaid := [said {A}|said {A}|{A} said]

bsaid := [said {B}|said {B}|{B} said]

aasked := [asked {A}|{A} asked]

basked := [asked {B}|{B} asked]
"""

ENGLISH_PLOTS = """
lost := <once> {A} [could not find|lost] {his} {obj}. {he} looked {hide1}, but it was not there.
  ["Have you seen my {obj}?" {he} asked {B}.|{he} asked {B}, "Have you seen my {obj}?"] ["Here is
  your {obj}," <bsaid>.|"Your {obj} is {hide2}," <bsaid>.]

found := <once> {A} found {obj:a} {hide1}. It was not {own}. "Who can have lost this {obj}?" {he}
  asked. "I lost my {obj}," <bsaid>. So {A} gave the {obj} to {B}.

give := <once> {A} and {B} [went to {place}|sat {out1}]. {A} had {obj:a}. [{A} gave the {obj} to
  {B}. "Thank you, {A}," <bsaid>.|"May I have the {obj}?" asked {B}. So {A} gave the {obj} to
  {B}.] [{B} was very happy.|]

trade := {A} had {obj:a}, and {B} had {obj2:a}. "I will give you my {obj} for your {obj2},"
  <asaid>. So {A} took the {obj2}, and {B} took the {obj}.

quarrel := {A} and {B} both wanted the {obj}. "{~It is mine}," <asaid>. "No, {~it is mine},"
  <bsaid>. [Then it began to rain|The sun went down], and they took the {obj} to the house of {A}.

farm := The {goose:s} that {belong:v} to {A} {be:v} very [loud|proud]. When the sun comes up,
  {they:s} {call:v}, and the {pet:s} [behind the barn|by the gates] {wake:v} up. "Your {goose:s}
  {make:v} more noise than [the wind|ten bells]," {B:s} {say:v}.

village := The {folk:s} who {live:v} near {place} {act:v} every [morning|evening|day]. The {pet:s}
  [under the old trees|near the wells] {petact:v}. {A:s} {walk:v} by and {smile:v}. "May I help?"
  {he:s} {ask:v}. "You may," the {folk:s} {say:v}.

song := {A} sang [in the garden|by the window]: / "{song}." / {B} [heard it from far away|stopped
  to listen] and sang it again: / "{song}."

riddle := {A} knew a riddle. "{question}" "Is it {wrong}?" asked {B}. "No, it is not {wrong},"
  <asaid>. "I know it! It is {answer}," <bsaid>. "Yes, it is {answer}," <asaid>.

hide := {A} closed {his} eyes. "One, two, three. {~Here I come}!" {A} looked {hide1}. {B} {~was
  not there}. {he} looked {hide2}. {C} {~was not there}, but {B} was. "Found you, {B}!" <asaid>.
  Then {B} closed {his2} eyes. "One, two, three. {~Here I come}!"

name := <once> {A} met someone new {out1}. "What is your name?" <aasked>. "My name is {B},"
  <bsaid>. "My name is {A}," <asaid>. So {A} and {B} went to {place}.

echo := {A} and {B} stood near {place}. "{words}!" <acalled>. "{words}!" the hill called back.
  "{words2}!" <bcalled>. "{words2}!" the hill called back.

pack := <once> {A} packed a bag ({words}). "Did you pack {words2}?" <basked>. "No, but I have
  {words}," <asaid>.

shop := <once> {A} [bought many things|found many things|had a bag] ({words}). {B} [bought other
  things|had a box|found a bag] ({words2}). "I have {words}," <asaid>.

draw := {A} drew a [big|little] picture ({words}). {B} drew a [big|little] picture ({words2}).
  [{A} gave the picture ({words}) to {B}|{B} gave the picture ({words2}) to {A}].

sign := A sign near {place} said '{words}'. "What does it say?" <aasked>. "It says '{words}',"
  <bsaid>. [Later it said '{words2}'.|]

parrot := {A} had a [green|yellow|blue] parrot. "{words}," <asaid>. "{words}," said the parrot.
  "{words2}," <bsaid>. "{words2}," said the parrot. [Then it said "{words}" again.|]
"""

# Korean words.

KOREAN_NAMES = ("나리 소미 지우 수아 수민 지안 나은 민지".split(), "토끼 여우 곰 오리".split())
KOREAN_LOOKS = "빨간 파란 노란 작은".split()
KOREAN_THINGS = "공 모자 가방 우산 연".split()
KOREAN_HIDES = listed("나무 아래|집 뒤|문 옆|꽃 옆|산길|나무 뒤|강 옆")
KOREAN_PLACES = "산 강 바다".split()
KOREAN_FOODS = "사과 떡 밤".split()
KOREAN_SONGS = listed("""달아 달아, 나와 놀자.
비야 비야, 그만 오고 해야 해야, 나와라.
바람아 바람아, 같이 산으로 가자.
새야 새야, 우리 집에 놀러 와.
나무야 나무야, 하늘까지 자라라.""")
KOREAN_RIDDLES = listed("""밤에 나와서 아침에 가는 것은?;달;새
산에서 나와서 바다로 가는 것은?;강;바람
비가 와야 나가서 노는 것은?;우산;나무
집에서는 자고 하늘에서는 노는 것은?;연;새
손이 없지만 문을 여는 것은?;바람;해
물을 먹고 하늘로 자라는 것은?;나무;새""")
KOREAN_WORDS = """감 강 공 구름 꽃 꿀 나무 나비 노래 달 떡 모자 문 물 바다 바람 밤 배 별 북 비 빵 사과 산 새 손
연 우산 의자 이불 종 집 책 컵 콩 편지 해 가방 길 눈 돌 말""".split()
KOREAN_VERBS = {"주다": ("주었어요", "주셨어요"), "말하다": ("말했어요", "말씀하셨어요"),
                "오다": ("왔어요", "오셨어요"), "웃다": ("웃었어요", "웃으셨어요")}
PARTICLES = {"은": ("는", "은"), "이": ("가", "이"), "을": ("를", "을"), "과": ("와", "과"),
             "아": ("야", "아"), "이야": ("야", "이야"), "으로": ("로", "으로")}

KOREAN_RULES = """
once := [어느 날|아침에|어느 날 아침|해가 질 때]
"""

KOREAN_PLOTS = """
lost := <once> {A:은} {obj:을} 잃어버렸어요. {hide1:을} 보아도 없었어요. "{B:아}, 내 {obj} 못 봤어?" {A:이} 물었어요.
  "{hide2:을} 봐." {B:이} 말했어요. {obj:은} 바로 거기에 있었어요.

found := <once> {A:은} {hide1}에서 {obj:을} 보았어요. "이 {obj:은} 내 것이 아니야." {A:이} 말했어요. "내 {obj:을} 잃어버렸어."
  {B:이} 말했어요. {A:은} {obj:을} {B}에게 주었어요.

share := {A}에게는 {food:이} 두 개 있었어요. {B:은} 하나도 없었어요. "하나는 네 거야." {A:이} 말했어요. 둘은 [나무 아래|꽃 옆]에 앉아서
  {food:을} 먹었어요. [새에게도 조금 주었어요.|]

riddle := "{question}" {A:이} 물었어요. "{wrong:이야}?" {B:이} 말했어요. "아니야, {wrong:은} 아니야." "그러면
  {answer:이야}!" "그래, {answer:이야}." {A:은} 웃었어요.

song := {A:은} [{place:으로} 가면서|{hide1}에 앉아서] 노래했어요. / "{song}" / {B:이} 그 노래를 들었어요. 둘은 다시 노래했어요. /
  "{song}"

rain := <once> 비가 왔어요. {A:은} 우산이 없었어요. 그때 {giver:s} {A}에게 {말하다:v}. "이 우산을 가지고 가." 그리고 {giver:s}
  {A}에게 {obj2:을} {주다:v}. {giver:s} {A:을} 보고 {웃다:v}.

visit := <once> {giver:s} {A}의 집에 {오다:v}. 그리고 {A:을} 보고 {말하다:v}. "{A:아}, 이 {toy:을} 가지고 놀아." {A:은}
  밤까지 {toy:을} 가지고 놀았어요. {giver:s} {A:을} 보고 {웃다:v}.

quarrel := {A:과} {B:은} {obj:을} 잡고 놓지 않았어요. "{~내 거야}." {A:이} 말했어요. "아니야, {~내 거야}." {B:이} 말했어요. 이제
  {obj:은} 둘의 것이에요.

echo := {A:과} {B:은} {place:으로} 갔어요. "{words}!" {A:이} 외쳤어요. "{words}!" 산이 다시 외쳤어요. "{words2}!"
  {B:이} 외쳤어요. "{words2}!" 산이 다시 외쳤어요.

pack := <once> {A:은} 가방을 열었어요 ({words}). "{words2}, 있어?" {B:이} 물었어요. "없어. {words}, 있어." {A:이}
  말했어요.

draw := {A:은} [노래를 하면서|나무 아래에서] 그렸어요 ({words}). {B}도 그렸어요 ({words2}). [{A:은} 그것을 ({words}) {B}에게
  주었어요.|{B:은} 그것을 ({words2}) {A}에게 주었어요.]

sign := {hide1}에 글이 있었어요. '{words}'. "뭐라고 써 있어?" {A:이} 물었어요. "'{words}'." {B:이} 말했어요.

bird := {A}에게는 말하는 새가 있었어요. "{words}." {A:이} 말했어요. "{words}." 새가 말했어요. "{words2}." {B:이} 말했어요.
  "{words2}." 새가 말했어요. [새는 다시 "{words}" 하고 말했어요.|]
"""

# Random choices and casts.


class Dice:
    """Random choices built on random() alone, whose sequence no Python version changes."""

    def __init__(self, seed):
        self._random = random.Random(seed).random

    def chance(self, probability):
        return self._random() < probability

    def pick(self, items):
        return items[int(self._random() * len(items))]

    def draw(self, items, count):
        """Picks `count` different items."""
        pool = list(items)
        return [pool.pop(int(self._random() * len(pool))) for _ in range(count)]


class Cast:
    """What one story is about. Names and phrases are annotated when they return, words are not."""

    def __init__(self, names, phrases, words):
        self.names, self.phrases, self.words = names, phrases, words

    def kind(self, key):
        return NAME if key in self.names else PHRASE if key in self.phrases else None

    def get(self, key):
        for values in (self.names, self.phrases, self.words):
            if key in values:
                return values[key]
        raise KeyError(f"no cast for {{{key}}}")

    def __contains__(self, key):
        return key in self.names or key in self.phrases or key in self.words


def cast_people(dice):
    """Two friends, one she and one he so that pronouns stay clear, and a third who has none."""
    animals = dice.chance(0.3)
    women, men = (SHE_ANIMALS, HE_ANIMALS) if animals else (WOMEN, MEN)
    (she, third), (he, fourth) = dice.draw(women, 2), dice.draw(men, 2)
    a_is_she = dice.chance(0.5)
    names = dict(zip("AB", (she, he) if a_is_she else (he, she)))
    names["C"] = dice.pick((third, fourth))
    words = dict(PRONOUNS["she" if a_is_she else "he"])
    other = PRONOUNS["he" if a_is_she else "she"]
    words.update({key + "2": value for key, value in other.items()})
    return names, words


def word_lists(dice, words):
    """Two lists of words that nobody can guess: they return, so that a head must look them up."""
    return {key: " ".join(dice.draw(words, 3 + dice.pick(range(3)))) for key in ("words", "words2")}


def cast_english(dice):
    names, words = cast_people(dice)
    things = [f"{dice.pick(LOOKS)} {thing}" for thing in dice.draw(THINGS, 2)]
    phrases = dict(zip(("obj", "obj2"), things))
    phrases.update(zip(("hide1", "hide2"), dice.draw(INDOORS + OUTDOORS, 2)))
    phrases.update(place="the " + dice.pick(PLACES), out1=dice.pick(OUTDOORS))
    phrases.update(song=dice.pick(SONGS), pet=dice.pick(PETS), **word_lists(dice, WORDS))
    words["question"], phrases["answer"], phrases["wrong"] = dice.pick(RIDDLES).split(";")
    words.update(folk=dice.pick(list(FOLK)), act=dice.pick(ACTS), petact=dice.pick(PET_ACTS))
    return Cast(names, phrases, words)


def cast_korean(dice):
    names = dict(zip("AB", dice.draw(dice.pick(KOREAN_NAMES), 2)))
    look = dice.pick(KOREAN_LOOKS)
    phrases = {
        "obj": f"{look} {dice.pick(KOREAN_THINGS)}",
        "obj2": f"{look} 우산",
        "toy": f"{look} {dice.pick(('공', '연'))}",
        "place": dice.pick(KOREAN_PLACES),
        "food": dice.pick(KOREAN_FOODS),
        "song": dice.pick(KOREAN_SONGS),
    }
    phrases.update(zip(("hide1", "hide2"), dice.draw(KOREAN_HIDES, 2)))
    phrases.update(word_lists(dice, KOREAN_WORDS))
    question, phrases["answer"], phrases["wrong"] = dice.pick(KOREAN_RIDDLES).split(";")
    elder = dice.pick(("할머니", "할아버지")) if dice.chance(0.6) else ""
    return Cast(names, phrases, {"question": question, "elder": elder})


# Generation of stories from plots.

SUBJECT, VERB, NAME, PHRASE = "svnp"
OPEN, CLOSE = "\x01", "\x02"
MALFORMED = re.compile(r"  |\n\n| [.,!?)]|[\[\]{}<>|/~*]|\d")
CHOICE = re.compile(r"\[([^\[\]]*)\]|<(\w+)>")
SLOT = re.compile(r"\{([^{}]+)\}")
SENTENCE_START = re.compile(rf'((?:^|[.!?]\)? |\." |\n)"?(?:{OPEN}.)*)([a-z])')


def mark(kind, text):
    """Wraps text in the marks that take_marks() turns into a span."""
    return f"{OPEN}{kind}{text}{CLOSE}" if kind else text


def take_marks(marked):
    """Returns the text without marks, and its (kind, start, end) spans in order of their start."""
    text, spans, stack = [], [], []
    symbols = iter(marked)
    for symbol in symbols:
        if symbol == OPEN:
            stack.append((next(symbols), len(text)))
        elif symbol == CLOSE:
            spans.append((*stack.pop(), len(text)))
        else:
            text.append(symbol)
    return "".join(text), sorted(spans, key=lambda span: span[1])


class Teller:
    """Tells one plot with one cast; remembers which subject the next verb must agree with."""

    def __init__(self, dice, rules, cast):
        self.dice, self.rules, self.cast = dice, rules, cast
        self.form = 0  # form of the latest subject: 0 singular or plain, 1 plural or honoured
        self.pronoun = "it"
        self.forms = {}  # a subject that occurs twice in a story keeps its form

    def tell(self, plot):
        text = self.rules[plot]
        while CHOICE.search(text):
            text = CHOICE.sub(self.choose, text)
        text = re.sub(r" +", " ", SLOT.sub(self.fill, text).replace(" / ", "\n")).strip()
        return SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)

    def choose(self, match):
        options, rule = match.groups()
        return self.rules[rule] if rule else self.dice.pick(options.split("|"))

    def fill(self, match):
        word, _, how = match[1].partition(":")
        if word[0] == "~":
            return mark(PHRASE, word[1:])
        if how == "s":
            return mark(SUBJECT, self.subject(word))
        if how == "v":
            return self.verb(self.cast.get(word) if word in self.cast else word)
        value = self.cast.get(word)
        return self.inflect(value, mark(self.cast.kind(word), value), how)


class EnglishTeller(Teller):
    def subject(self, word):
        if word in ("they", "he"):
            return "they" if self.form else self.pronoun
        if word in self.cast.names:
            self.form, self.pronoun = 0, self.cast.get("he")
            return mark(NAME, self.cast.get(word))
        self.form = self.forms.setdefault(word, int(self.dice.chance(0.5)))
        kind, noun = None, word
        if word in self.cast:
            kind, noun = self.cast.kind(word), self.cast.get(word)
        self.pronoun = FOLK.get(noun, "it")
        return mark(kind, PLURALS.get(noun, noun + "s") if self.form else noun)

    def verb(self, phrase):
        first, _, rest = phrase.partition(" ")
        singular, plural = VERBS.get(first) or (third_person(first), first)
        return mark(VERB, plural if self.form else singular) + (" " + rest if rest else "")

    def inflect(self, value, marked, how):
        if how == "a":
            return ("an " if value[0] in "aeiou" else "a ") + marked
        return marked


def third_person(verb):
    if re.search(r"(s|sh|ch|x|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


class KoreanTeller(Teller):
    def subject(self, word):
        elder = self.cast.get("elder")
        self.form = int(bool(elder))
        return elder + "께서" if elder else self.fill(SLOT.match("{B:이}"))

    def verb(self, phrase):
        return mark(VERB, KOREAN_VERBS[phrase][self.form])

    def inflect(self, value, marked, how):
        if not how:
            return marked
        final = (ord(value[-1]) - ord("가")) % 28  # 0 without a final consonant, 8 is rieul
        closed = final not in (0, 8) if how == "으로" else final != 0
        return marked + PARTICLES[how][closed]


# Annotation of spans.


def enclosures(text):
    """Returns {kind: pairs} of the quotes and brackets; fails if one is not closed properly."""
    pairs, stack = {"quote": [], "bracket": []}, []
    for at, symbol in enumerate(text):
        if symbol not in "\"'()":
            continue
        if symbol != "(" and stack and stack[-1][0] == symbol.replace(")", "("):
            opened = stack.pop()[1]
            pairs["bracket" if symbol == ")" else "quote"].append((opened, opened + 1, at, at + 1))
        elif symbol == ")" or any(symbol == other for other, _ in stack):
            raise ValueError(f"{symbol} at {at} closes nothing: {text}")
        else:
            stack.append((symbol, at))
    if stack:
        raise ValueError(f"{stack[0][0]} at {stack[0][1]} is never closed: {text}")
    return pairs


def agreements(spans):
    """Pairs every verb with the subject it was conjugated for, the latest one before it."""
    pairs, subject = [], None
    for kind, start, end in spans:
        if kind == SUBJECT:
            subject = (start, end)
        elif kind == VERB:
            pairs.append((*subject, start, end))
    return pairs


def returns(text, spans, wanted, to_first):
    """Pairs every repeated span of one kind with its first, or else its latest, occurrence."""
    pairs, seen = [], {}
    for kind, start, end in spans:
        if kind != wanted:
            continue
        words = text[start:end]
        if words in seen:
            pairs.append((*seen[words], start, end))
        if words not in seen or not to_first:
            seen[words] = (start, end)
    return pairs


def find_pairs(text, spans):
    """Returns {kind: [(earlier start, earlier end, later start, later end)]} in characters."""
    pairs = enclosures(text)
    pairs["agreement"] = agreements(spans)
    pairs["name"] = returns(text, spans, NAME, to_first=False)
    pairs["phrase"] = returns(text, spans, PHRASE, to_first=True)
    return {kind: sorted(found, key=lambda pair: pair[2]) for kind, found in pairs.items() if found}


def byte_offsets(text):
    """Returns the UTF-8 offset of every character of the text, and of its end."""
    offsets = [0]
    for symbol in text:
        offsets.append(offsets[-1] + len(symbol.encode()))
    return offsets


# The whole corpus.


def parse_rules(grammar):
    """Reads blocks of "name := text" separated by blank lines."""
    blocks = (block.partition(" := ") for block in re.split(r"\n\s*\n", grammar.strip()))
    return {name: re.sub(r"\s*\n\s*", " ", text) for name, _, text in blocks}


class Language:
    """One language's grammar, and a deck of its plots so that each is told equally often."""

    def __init__(self, plots, rules, make_cast, teller):
        self.plots = parse_rules(plots)
        self.rules = {**self.plots, **parse_rules(rules)}
        self.make_cast, self.teller = make_cast, teller
        self.deck = []

    def story(self, dice):
        """Returns a new story as (plot, text, spans)."""
        if not self.deck:
            often = [plot for plot in self.plots if "{words}" in self.plots[plot]] * (OFTEN - 1)
            plots = [*self.plots, *often]
            self.deck = dice.draw(plots, len(plots))
        plot = self.deck.pop()
        marked = self.teller(dice, self.rules, self.make_cast(dice)).tell(plot)
        text, spans = take_marks(marked)
        if not MIN_CHARS <= len(text) <= MAX_CHARS or MALFORMED.search(text):
            raise ValueError(f"bad story from plot {plot}: {text}")
        return plot, text, spans


def annotate(text, spans, start):
    """Returns the story's place and pairs, in characters and in bytes; start is (chars, bytes)."""
    pairs, offsets = find_pairs(text, spans), byte_offsets(text)
    in_bytes = {k: [[offsets[at] for at in pair] for pair in v] for k, v in pairs.items()}
    return {"char": {"start": start[0], "length": len(text), **pairs},
            "byte": {"start": start[1], "length": offsets[-1], **in_bytes}}


def make_corpus():
    """Returns the contents of the text file and of the annotation file."""
    english = Language(ENGLISH_PLOTS, ENGLISH_RULES, cast_english, EnglishTeller)
    korean = Language(KOREAN_PLOTS, KOREAN_RULES, cast_korean, KoreanTeller)
    dice, stories, lines, start = Dice(SEED), {}, [], (0, 0)
    while len(stories) < STORIES:
        lang, language = ("ko", korean) if dice.chance(KOREAN_SHARE) else ("en", english)
        plot, text, spans = language.story(dice)
        if text in stories:
            continue
        record = {"id": len(stories), "lang": lang, "plot": plot, **annotate(text, spans, start)}
        lines.append(json.dumps(record, separators=(",", ":")))
        stories[text] = plot
        start = tuple(record[unit]["start"] + record[unit]["length"] + 2 for unit in ("char", "byte"))
    return "\n\n".join(stories) + "\n", "\n".join(lines) + "\n"


def summary(corpus, annotations):
    """Describes the corpus in the figures that matter for training on it."""
    texts = corpus.rstrip("\n").split("\n\n")
    records = [json.loads(line) for line in annotations.splitlines()]
    korean = sum(record["lang"] == "ko" for record in records)
    lengths = sorted(map(len, texts))
    p5, p50, p95 = (lengths[int(len(lengths) * share)] for share in (0.05, 0.5, 0.95))
    hangul = {symbol for symbol in corpus if "가" <= symbol <= "힣"}
    pairs = Counter()
    for record in records:
        pairs.update({k: len(v) for k, v in record["char"].items() if isinstance(v, list)})
    return f"""\
size          {len(corpus.encode())} bytes, {len(corpus)} characters
annotations   {len(annotations.encode())} bytes
stories       {len(texts)}, {korean} Korean, {len(texts) - len(set(texts))} duplicates
alphabet      {len(set(corpus))} characters, {len(hangul)} Hangul syllables
words         {len(set(re.findall("[a-z]+", corpus.lower())))} distinct English words
story length  p5 {p5}, p50 {p50}, p95 {p95}, max {lengths[-1]} characters
pairs         {", ".join(f"{kind} {count}" for kind, count in sorted(pairs.items()))}"""


def stale_files(contents):
    """Returns the paths whose file is missing or differs from what the generator makes."""
    same = {path: path.is_file() and path.read_bytes() == text.encode() for path, text in contents}
    return [path for path, is_same in same.items() if not is_same]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = Path(__file__).resolve().parent.parent / "data"
    parser.add_argument("--out", type=Path, default=data, help="folder of the two files")
    parser.add_argument("--check", action="store_true", help="only compare, fail on a difference")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random stories")
    args = parser.parse_args()
    corpus, annotations = make_corpus()
    contents = [(args.out / TEXT_FILE, corpus), (args.out / PAIRS_FILE, annotations)]
    if args.check:
        stale = stale_files(contents)
        for path in stale:
            print(f"{path}: differs from what {Path(__file__).name} makes", file=sys.stderr)
        return 1 if stale else 0
    args.out.mkdir(parents=True, exist_ok=True)
    for path, text in contents:
        path.write_bytes(text.encode())
    print(summary(corpus, annotations))
    for story in random.sample(corpus.rstrip("\n").split("\n\n"), args.show):
        print("\n" + story)
    return 0


if __name__ == "__main__":
    sys.exit(main())
