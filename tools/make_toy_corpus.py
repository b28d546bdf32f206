#!/usr/bin/env python3
"""Make data/toy.txt, the small story corpus that Headlight trains on, and its side file.

The corpus is for a GPT of under a million parameters that trains for a minute on a CPU, on words
or on characters: the words are few, so that it learns to spell them all, and every story holds structure
for an attention head to find. Names come back, quotes and brackets close, verbs agree with distant
subjects, songs are sung twice and lost things are given back. The side file
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
STORIES = 1500
KOREAN_SHARE = 0.18
MIN_CHARS, MAX_CHARS = 80, 639
TEXT_FILE, PAIRS_FILE = "toy.txt", "toy.annotations.jsonl"


def listed(text):
    """Splits a list of entries written with bars and line breaks between them."""
    return re.split(r"[|\n]", text)


# English words.

WOMEN = "Mina Anna Lily Rosa Nora Ella Ivy Hana Dora June".split()
MEN = "Tom Ben Leo Max Sam Finn Jack Noah Theo Oscar".split()
SHE_ANIMALS = "Owl Hare Deer Lark Wren Otter".split()
HE_ANIMALS = "Fox Bear Mole Toad Crow Pig".split()
PRONOUNS = {
    "she": {"he": "she", "his": "her", "him": "her", "own": "hers"},
    "he": {"he": "he", "his": "his", "him": "him", "own": "his"},
}
LOOKS = "red blue green yellow little old tiny orange white round".split()
THINGS = "kite drum bell ball hat cup lamp key book map spoon scarf basket box".split()
INDOORS = listed("under the bed|behind the door|under the stairs|in the kitchen|under the table")
OUTDOORS = listed("""in the tall grass|under the big tree|behind the barn|next to the well
by the garden gate|behind the old wall|by the pond|near the little bridge""")
PLACES = "hill lake mill village market farm forest river garden sea".split()
FOODS = listed("apple|pear|plum|bun|nut|cookie|pancake|honey cake|egg|orange")
GREENS = listed("three carrots|two onions|a bag of peas|some beans|four potatoes|an ear of corn")
NUMBERS = "zero one two three four five six seven eight nine ten".split()
CROWDS = listed("""ducks on the pond|birds in the apple tree|frogs by the pond|boats on the lake
sheep on the hill|cows by the gate|cats on the roof""")
STUCK = listed("""big turnip;in the ground|giant carrot;in the ground|old cart;in the mud
little boat;in the sand|brown donkey;in the mud""")
NOISES = listed("Tap, tap, tap|Knock, knock, knock|Tick, tick, tick")
HARMS = listed("fell into the mud;cleaned|fell into the pond;dried|fell into the river;dried")
DREAMS = listed("""flying on a white cloud|sailing over the moon|riding on a giant goose
walking on the sky""")
SONGS = listed("""Row, row, little boat, row me over the sea
Shine, shine, little moon, shine till I am home
Round and round the old mill goes, and where it stops nobody knows
Step by step and stone by stone, no one has to walk alone
One for you and one for me, and two for the bird in the apple tree
Rain, rain, fall on the hill, fill the river and turn the mill
Blow, wind, blow, over the snow, and tell me where the wild geese go
Sleep, little star, the night is long, so close your eyes and hear my song""")
SPELLS = listed("""Grow, little seed, grow
Wake up, little seed, the sun is here
Up, up, up, little seed""")
RIDDLES = listed("""What has hands but cannot hold a cup?;a clock;a bear
What runs all day but is never tired?;a river;a horse
What has a neck but no head?;a bottle;a goose
What has many leaves but is not a tree?;a book;a garden
What has four legs but cannot walk?;a table;a cat
What has ears but cannot hear?;the corn;a stone
What grows when you take more away?;a hole;a tree
What falls all day but is never hurt?;the snow;a leaf""")
SIGNS = listed("""Do not ring the bell;rang the bell;Ten hungry ducks came, for the bell meant lunch
Do not shake the tree;shook the tree;Ten apples fell down and rolled over the road
Do not open the box;opened the box;A hundred green frogs jumped out and ran away
Do not wake the cat;woke the cat;The cat sat down on the road and did not move
Do not feed the goose;fed the goose;The goose walked home with them and never left""")
FOLK = {
    "girl": "she",
    "boy": "he",
    "farmer": "he",
    "baker": "she",
    "sailor": "he",
    "singer": "she",
}
ACTS = listed("""sing songs|bake bread|tell stories|ring the bell|light the lamps|dance in the road
feed the ducks|count the boats""")
PETS = "cat dog bird frog duck goose mouse hen".split()
PET_ACTS = listed("listen and wait|sleep and dream|look up|hide in the grass|play in the sun")
PLURALS = {"mouse": "mice", "goose": "geese"}
VERBS = {"be": ("is", "are"), "was": ("was", "were"), "have": ("has", "have")}

ENGLISH_RULES = """
once := [One [morning|evening|day|summer day|windy day|winter day|Sunday]|Last
  [spring|summer|winter|week]|After [lunch|the rain|school]|Early in the morning|Long ago],

tonight := [One [cold|windy|summer|winter] night|Late in the evening|One night|Last night],

asaid := [said {A}|said {A}|{A} said]

bsaid := [said {B}|said {B}|{B} said]

csaid := [said {C}|said {C}|{C} said]

aasked := [asked {A}|asked {A}|{A} asked]

basked := [asked {B}|asked {B}|{B} asked]

casked := [asked {C}|asked {C}|{C} asked]

together := [Together they|The two friends|So they both|They]

end := [That night they both slept well.|From that day on, {A} and {B} were [good|best]
  friends.|Then they went home for supper.|It was a good day.|They laughed all the way home.|{B}
  smiled, and {A} smiled too.|And that was the end of it.|||||]

thanks := [Two see more than one.|You are a true friend.|I was so sad without it.|You have good
  eyes.|I knew you would find it.]

truth := [(They are still friends.)|(It is all true.)|(Ask {C} if you do not believe it.)||]
"""

ENGLISH_PLOTS = """
lost := <once> {A} [could not find|lost] {his} {obj}. {he} looked {hide1} and {hide2}, but [the
  {obj} was not there|there was no {obj}|{he} found only [an old shoe|a sleeping cat|some
  leaves]]. ["Have you seen my {obj}?" {he} asked {B}.|{he} asked {B}, "Have you seen my {obj}?"]
  "[No|Not today|Not yet], but [I will help you look|let us look together]," <bsaid>. <together>
  looked {hide3}, and there [it was|was the {obj}]! [It was a little wet, but it was not
  broken.|It was full of [sand|leaves|snow], but {A} did not mind.|A small [mouse|cat|bird] was
  sleeping next to it.|] "Thank you, {B}," <asaid>. "<thanks>" <end>

found := <once> {A} found {obj:a} {hide1}. {he} [liked it very much|wanted to keep it], but it was
  not {own}. ["Someone must miss this {obj}," {he} thought.|"Who can have lost this {obj}?" {he}
  asked.] So {A} [walked all the way to|asked everyone near] {place}. [Nobody knew.|"It is not
  mine," said the [baker|farmer|sailor].|] At last {he} met {B}, who [looked very sad|was looking
  under every stone|was sitting {hide2}]. "I lost my {obj}," <bsaid>[ ({he2} was almost crying)|].
  "Then this is yours," <asaid>, and gave the {obj} back. {B} was so happy that {he2} [danced all
  the way home|sang a song|gave {him} {food:a}]. <end>

race := {A} and {B} ran a race to {place}. "[One, two, three, go|Ready, steady, go]!" <csaid>. {A}
  ran like the wind and [never looked back|was soon far ahead]. {B} [was slow, but {he2} did not
  stop|ran slowly, step by step]. [Near {place2}, {A} [lay down to sleep|stopped to eat
  {food:a}|sat down to look at a [frog|bee|cloud]]. When {he} looked up, {B} was already at
  {place}. "How did you win?" <aasked>. "[Step by step|I did not stop|I only looked at the road],"
  <bsaid>.|Then {A} fell over a stone. {B} [stopped and|came and] helped {him} up, and they
  [walked|ran] the rest of the way together. "Who won the race?" <casked>. "We both did," said
  [{A} and {B}|{B} and {A}].] [Then all three had {~a big lunch}. (It was {~a big lunch}, for
  running makes you hungry.)||]

quarrel := <once> {A} and {B} both wanted the {obj}. "{~It is mine}," <asaid>. "No, {~it is
  mine}," <bsaid>. They pulled and pulled until the {obj} {harm}. [Nobody said a word.|They went
  home and did not speak all day.|It was very quiet then.|For a long time they only looked at it.]
  [The sun went down.|It began to rain.|] "{~I am sorry}," <asaid>. "{~I am sorry} too," <bsaid>.
  So they {repair} it together, and now the {obj} [is for both of them|belongs to both of them]
  ([{B} has it on Sundays|{A} has it on rainy days|they take turns]).

soup := {A} made a pot of soup. {he} tasted it and [shook {his} head|was not happy]. "It needs
  something," {he} said. {B} came with {green}, and {C} came with {green2}. In went {green}. In
  went {green2}. [(In went a little salt too.)|] [The soup sang in the pot.|Soon the whole house
  smelled good.|They waited and told stories.] Then they all sat down [by the fire|at the
  table|{out1}] and ate. "This is the best soup in the world," <bsaid>. ["That is because we made
  it together," <asaid>.|"The {green3} did it," <csaid>.|"It only needed friends," <asaid>.]

letter := [One morning|On Sunday|One winter day|Last week] a letter came for {A}. / "Dear {A}, [I
  miss you.|I think of you every day.|how are you?] [Now I live near {place}.|I have a new house
  near {place}.] Please come and see me. (Bring {food:a} if you can.) Your friend, {B}" / {A}
  [read it twice|smiled and read it again|put on {his} best hat]. Then {he} took {food:a} and
  walked to {place}. {B} was waiting [by the gate|at the door|on the road]. ["You got my letter!"
  <bsaid>.|"At last!" <bsaid>. "Did you get my letter?"] "Yes, and here is the {food}," <asaid>.
  <end>

riddle := ["I have a riddle for you," <asaid>.|{A} knew a riddle. "Listen," {he} said.]
  "{question}" {B} [thought for a long time|looked at the sky and thought|shook {his2} head]. "Is
  it {wrong}?" [asked {B}|{he2} asked]. "No, it is not {wrong}," <asaid>. "[Think again|Try
  again]." [They walked to {place} and back.|{B} ate {food:a} and thought some more.|{B} asked
  {C}, but {C} did not know.|] "[Now I know|I know it|I have it]!" <bsaid>. "It is {answer}!"
  "Yes, it is {answer}," <asaid>. [Then it was time for {B} to ask.|"You are as wise as an old
  tree."|They laughed until the moon came up.|]

count := {A} and {B} [sat down|stopped to rest] near {place}. "How many {crowd} can you see
  {there}?" <aasked>. {B} [counted the {crowd}|looked and looked]. "{row}," <bsaid>. "There are
  {n} {crowd}." [Just then|After a while|Then] [{more} more came. "{n} and {more} make {sum},"
  <asaid>. "Now there are {sum} {crowd}."|two of them went away. "{n} take away two leaves
  {rest}," <asaid>. "Now there are {rest} {crowd}."] [({B} counted them again, just to be
  sure.)|They counted [until supper|all day].|Then they went home and counted the stars.|]

village := The {folk:s} who {live:v} [near {place}|in the house by {place}|not far from {place}]
  {act:v} every [morning|evening|day]. [People say that {they:s} never {stop:v}, not even when it
  rains.|On Sundays {they:s} {act2:v} too.|] The {pet:s} [under the old trees|by the red
  gates|near the wells|on the roof] {petact:v}. {A:s} {walk:v} by and {smile:v}. "May I help?"
  {he:s} {ask:v}. "[Yes, please|Please do|You may]," the {folk:s} {say:v}. So {A:s}, who {have:v}
  [two strong arms|a good heart|time for friends], {stay:v} until the [moon|stars] can be seen
  over {place}.

weather := [Dark clouds hang|A dark cloud hangs] over {place}, and the wind is cold. The {boat:s}
  [near the rocks|by the long bridges|behind the stones] {rock:v} up and down. The {folk:s} who
  {work:v} [by the old walls|near {place2}] {run:v} home, and the {pet:s} {hide:v} [under the
  table|behind the barn]. "Will it ever stop?" {A:s} {ask:v}. "It always does," {B:s} {say:v}.
  [They sit by the fire and wait.|They drink warm milk and wait.|] And it does! In the
  [evening|morning] the {pet:s} {come:v} out again, and the {folk:s} [by the windows|at the
  doors|under the trees] {sing:v} [for joy|a song].

farm := The {goose:s} that {belong:v} to {A} {be:v} very [loud|proud]. When the sun comes up,
  {they:s} {call:v} until all the [boys and girls|farmers] {~are awake}. The {hen:s} [behind the
  fences|under the apple trees] {be:v} quiet, and the {pet2:s} [in the barn|by the wells]
  {sleep:v}. "Your {goose:s} {make:v} more noise than [the wind|ten bells]," {B:s} {say:v}. {A:s},
  who {love:v} all the birds on the farm, [{laugh:v}|{smile:v}] and {say:v}, "The {goose:s}
  {know:v} that breakfast comes when we {~are awake}."

key := <once> the {key:s} to the old [boxes|doors|gates] {was:v} gone. {A} looked {hide1}. The
  {spoon:s} [in the cups|with the plates|next to the lamps] {was:v} there, but the {key:s} {was:v}
  not. {B} looked {hide2}. The {hat:s} that {was:v} lost last [winter|summer|week] {was:v} there,
  but the {key:s} {was:v} not. Then {C} began to laugh. "{A}, look [in your bag|under your hat|in
  your shoe]," <csaid>. The {key:s} that [they wanted|everyone looked for] {was:v} there all the
  time.

lamp := Every evening {A:s}, who {live:v} [near {place} with two cats|behind the hills|in a house
  with ten windows], {light:v} {his} {obj2}. The {sailor:s} far out on the waves {see:v} it and
  {know:v} the way home. [But one|One] night {A:s} {be:v} ill, and the {obj2} {~stays dark}. "The
  {obj2} {~stays dark}," the {sailor:s} {say:v}. So {B:s}, who {hear:v} this, {run:v} up the
  [stairs|hill] and {light:v} it. [(It is a long way up.)|] The {ship:s} [behind the rocks|between
  the waves|in the dark] {turn:v} and {come:v} home. [In the morning {A:s} {thank:v} {B}.|{A:s}
  {sleep:v} well that night.|]

song := {A} sang [in the garden|on the way to {place}|by the window|while {he} worked]: /
  "{song}." / {B} [was on the road and heard it|heard it from far away|stopped to listen]. "[What
  a fine song|I like that song|That is a good song]!" <bsaid>. "Teach it to me." <together>
  [walked home|sat down {out1}|went to {place2}] and sang it again: / "{song}." / [Soon {C} could
  sing it too.|The birds were quiet and listened.|They sang until the stars came out.|(The birds
  sang it too, but without words.)]

seed := {A} put a seed in the ground {out1}. "{spell}," {he} said. [Nothing came up.|One day
  passed, and two, and three.|The ground was as brown as before.] "[It is only sleeping|You must
  wait|Seeds are slow]," <bsaid>. Every morning {A} [gave it water and|sat next to it and] said,
  "{spell}." [Then the rain came, and then the sun.|The nights were cold, but {he} did not
  stop.|{B} came too, and brought {food:a}.] On the [fifth|sixth|seventh] day there was a [green
  leaf|yellow flower|little white flower]. "[Good morning|Here you are]," <asaid> ([{he} was very
  happy|it was still very small|{he} said it softly]).

pull := <once> the {stuck} was stuck {where}. {A} pulled and pulled, but the {stuck} {~did not
  move}. "[Help me|Come and help me], {B}!" <asaid>. {A} and {B} pulled and pulled, but the
  {stuck} {~did not move}. "Help us, {C}!" <bsaid>. {A} and {B} and {C} pulled and pulled, and
  [pop! Out came|at last out came] the {stuck}! They all fell [into the grass|on top of each
  other|over] and laughed. [(Even the {stuck} looked happy.)|(It took three to do it.)|Then they
  went to {place} and ate {food2}.||]

night := <tonight> {A} heard a small sound {hide1}. "{noise}." "What is that?" <aasked>. "It is
  only the [rain|wind|river|old house]," <bsaid>. [But there it was again.|They listened.|But soon
  they heard it again.] "{noise}." [They took the {obj2} and went to look.|{B} took the {obj2},
  and {A} opened the door.] It was a little [bird|mouse|frog], cold and wet. (It was [more afraid
  than they were|just as afraid as they were].) {A} gave it some bread, and {B} [gave it a warm
  bed in {his2} hat|sang it to sleep|gave it {food:a}]. [In the morning the sun was out.|Then all
  was quiet.|That night they all slept well.]

sign := There was a sign on the gate near {place}. It said '{sign}'. "Why not?" <aasked>. ["I do
  not know," <bsaid>, "but it says '{sign}'."|{B} read it too. "I do not know why," <bsaid>, "but
  it says '{sign}'."] {A} waited [a little|for a long time|until {B} looked away]. Then {he}
  {did}. {result}. "Now we know why," <bsaid>. [They made the sign bigger (and painted it
  red).|(From then on {A} read every sign twice.)|{A} said nothing at all.]

gift := It was a big day for {B}. {A} came with a [big|small|blue] bag. "What is in the bag?"
  <basked>. "[Guess|You must guess|Three guesses]," <asaid>. "Is it {obj3:a}?" "No, it is not
  {obj3:a}." "Is it {food:a}?" "No, [it is not|you cannot eat it, so it is not] {food:a}." {B}
  opened the bag ([very slowly|{he2} closed {his2} eyes first]), and there was {obj:a}! "I made
  the {obj} for you," <asaid>. [{B} held it all day.|"It is just what I wanted!" <bsaid>.|{B} did
  not know what to say.]

trade := {A} had {obj:a}, and {B} had {obj3:a}. ["I will give you my {obj} for your {obj3},"
  <asaid>.|"Your {obj3} is better than my {obj}," <asaid>.|{A} wanted the {obj3}, and {B} wanted
  the {obj}.] So {A} took the {obj3}, and {B} took the {obj}. [But that night neither of them
  could sleep.|But on the way home they both felt sad.|For a day or two they were happy.] "I miss
  my {obj}," <asaid>. "And I miss my {obj3}," <bsaid>. [So {A} gave the {obj3} back, and {B} gave
  the {obj} back.|The next day {A} gave back the {obj3}, and {B} gave back the {obj}.|They met
  near {place} and traded again: the {obj} for the {obj3}.] <truth>

moon := <tonight> {A} looked into the [pond|well|water] and saw the moon. "{~The moon has fallen
  in}!" <asaid>. {he} ran to {place}. "Come quickly, {B}! {~The moon has fallen in}!" {B} [came
  with|took] {obj:a}, and they tried to catch the moon with the {obj}. They only [caught a
  [fish|frog|shoe]|got wet]. Then {B} looked up. "[There it is|Look up, {A}]," <bsaid>. "[Someone
  put it back|It has jumped out again|It was faster than we were]." [(They felt very proud.)|They
  looked at it for a long time.|<truth>]

mother := [A little {pet} was lost near {place}.|A small {pet} sat alone near {place}.|<once> a
  little {pet} came to {place} alone.] "{~Have you seen my mother}?" it asked {A}. "No," <asaid>,
  "but ask {B}." So the {pet} ran to {B}. "{~Have you seen my mother}?" it asked. ["What is she
  like?" <basked>.|"Tell me about her," <bsaid>.] "She is [warm and soft|big and kind|the best in
  the world]," said the {pet}. {B} thought [and thought|for a while]. "[Look {out1}|Someone is
  calling you {out1}]," <bsaid>. And there she was! (She [had looked everywhere|was very happy|was
  crying a little].)

snow := [One winter day|Last winter|One cold morning], it snowed and snowed. {A} and {B} made a
  snowman [{out1}|near {place}]. [They gave him {obj3:a} and two [black stones|nuts] for eyes.|{A}
  gave him {obj3:a}, and {B} found two [black stones|nuts] for his eyes.|He was taller than {A},
  and he held {obj3:a}.] "{~Good night, snowman}," <asaid>. "{~Good night, snowman}," <bsaid>. But
  [in the night it rained|the next day was warm], and only the {obj3} was left. "Where did he go?"
  <aasked>. "[He went to the sea|He went home|He is in the river now]," <bsaid>, "but [he will
  come back for his {obj3}|we will keep his {obj3} until he comes back]."

hide := ["You hide, and I will count," <asaid>.|{A} and {B} played in the garden. {A} was first to
  count.] {he} closed {his} eyes. "{row}. {~Here I come}!" {A} looked {hide1}. {B} {~was not
  there}. {he} looked {hide2}. {B} {~was not there}, but {C} was (eating {food:a}). [{C} pointed
  the other way.|"I saw nothing," <csaid>.|"You are warm," <csaid>.] Then someone began to laugh
  {hide3}. "Found you, {B}!" <asaid>. "Now it is time for you to count." {B} closed {his2} eyes.
  "{row}. {~Here I come}!"

dream := <tonight> {A} had a dream. {he} was {dreamt}. [Far below {he} saw {place}.|It was very
  quiet up there.] "{~Do not wake up}," said {obj:a}, "for we are almost there." (In a dream
  {obj:a} can speak.) [Then|But] the sun came in at the window. [{A} told {B} all about it.|At
  breakfast {A} told {B} everything.] "[Where did you go|Where were you going]?" <basked>. "I do
  not know," <asaid>. "Next time the {obj} says '{~Do not wake up}', I will [listen|stay asleep]."

pack := {A} and {B} wanted to [sail|walk|go] to {place}. {A} packed {obj:a}. {B} packed some
  {food2}. "Do we need {obj3:a}?" <aasked>. "[We always need {obj3:a}|It is good to have
  {obj3:a}]," <bsaid>. So they packed {obj3:a} too. [Then the bag was too full to close.|(Now the
  bag was very heavy.)] At {place} they opened the bag. There was the {obj}. There was the {obj3}.
  But where were the {food2}? [{C} had eaten them.|They were still on the table at home.] "Next
  time," <asaid>, "we pack the {food2} first."

name := <once> {A} met someone new {out1}. ["Who are you?" <aasked>.|"Hello! What is your name?"
  <aasked>.] "My name is {B}," <bsaid>. "[I have just come from {place}|My house is near {place}],
  and I do not know anyone." "Now you know me," <asaid>. "My name is {A}." {B} smiled. "Do you
  like [{food2}|songs|long walks]?" "[Very much|I do]," <asaid>. ({A} had never met anyone who did
  not.) So {A} and {B} went to {place2}, and [that was the start of it|they talked all day|they
  came back as friends].
"""

# Korean words.

KOREAN_NAMES = ("나리 소미 지우 수아 수민 지안 나은 민지".split(), "토끼 여우 곰 오리".split())
KOREAN_LOOKS = "빨간 파란 노란 작은".split()
KOREAN_THINGS = "공 모자 가방 우산 연".split()
KOREAN_HIDES = listed("나무 아래|집 뒤|문 옆|꽃 옆|산길|나무 뒤|강 옆")
KOREAN_PLACES = "산 강 바다".split()
KOREAN_FOODS = "사과 떡 밤".split()
KOREAN_CROWDS = "새 나비".split()
KOREAN_COUNTS = (("세", "하나, 둘, 셋", "다섯", "두"), ("네", "하나, 둘, 셋, 넷", "여섯", "세"))
KOREAN_SONGS = listed("""달아 달아, 나와 놀자.
비야 비야, 그만 오고 해야 해야, 나와라.
바람아 바람아, 같이 산으로 가자.
새야 새야, 우리 집에 놀러 와.
나무야 나무야, 하늘까지 자라라.""")
KOREAN_SPELLS = listed("""자라라, 자라라, 작은 나무야.
나무야, 나무야, 꽃을 피워라.
물을 먹고 하늘까지 자라라.""")
KOREAN_RIDDLES = listed("""밤에 나와서 아침에 가는 것은?;달;새
산에서 나와서 바다로 가는 것은?;강;바람
비가 와야 나가서 노는 것은?;우산;나무
집에서는 자고 하늘에서는 노는 것은?;연;새
손이 없지만 문을 여는 것은?;바람;해
물을 먹고 하늘로 자라는 것은?;나무;새""")
KOREAN_VERBS = {
    "주다": ("주었어요", "주셨어요"),
    "말하다": ("말했어요", "말씀하셨어요"),
    "오다": ("왔어요", "오셨어요"),
    "웃다": ("웃었어요", "웃으셨어요"),
}
PARTICLES = {
    "은": ("는", "은"), "이": ("가", "이"), "을": ("를", "을"), "과": ("와", "과"),
    "아": ("야", "아"), "이야": ("야", "이야"), "으로": ("로", "으로"),
}  # fmt: skip

KOREAN_RULES = """
once := [어느 날|아침에|어느 날 아침|해가 질 때]

end := [둘은 같이 웃었어요.|둘은 손을 잡고 집으로 갔어요.|아주 좋은 날이었어요.|둘은 아주 좋은
  친구예요.|하늘에는 달이 나와 있었어요.||]
"""

KOREAN_PLOTS = """
lost := <once> {A:은} {obj:을} 잃어버렸어요. [{hide1:을} 보아도 없고 {hide2:을} 보아도
  없었어요.|{hide1}에도 {hide2}에도 없었어요.] "{B:아}, 내 {obj} 못 봤어?" {A:이} 물었어요. "못
  봤어. [하지만 같이 찾아보자|우리 같이 찾아보자]." {B:이} 말했어요. 둘은 {hide3:으로} 갔어요.
  {obj:은} 바로 거기에 있었어요. "고마워, {B:아}." {A:은} [웃었어요|아주 좋아했어요|노래를
  했어요]. <end>

found := <once> {A:은} {hide1}에서 {obj:을} 보았어요. "이 {obj:은} 내 것이 아니야." {A:이}
  말했어요. [길에서|문 옆에서|집 뒤에서] {B:이} 울고 있었어요. "왜 울어?" {A:이} 물었어요. "내
  {obj:을} 잃어버렸어." {A:은} {obj:을} {B}에게 주었어요. "[네 거지?|이 {obj}, 네 거지?]" "내
  거야! 고마워." {B:은} [{A}에게 {food:을} 하나 주었어요|웃으면서 집으로 갔어요|{A}의 손을
  잡았어요]. <end>

share := {A}에게는 {food:이} 두 개 있었어요. {B:은} 하나도 없었어요. "하나는 네 거야." {A:이}
  말했어요. "[왜 나에게 주니?|나에게 주는 거야?]" {B:이} 물었어요. "우리는 친구야. 같이 먹자."
  둘은 [나무 아래|꽃 옆|문 옆]에 앉아서 {food:을} 먹었어요. [(새에게도 조금 주었어요.)|바람이 아주
  좋았어요.|] {food:은} 아주 맛있었어요. <end>

race := {A:과} {B:은} {place}까지 달리기를 했어요. "하나, 둘, 셋!" {A:은} 바람같이 달렸어요.
  {B:은} [쉬지 않고|조금도 쉬지 않고] 갔어요. {A:은} [나무 아래|꽃 옆|길 옆]에서 잠이 들었어요.
  (조금만 쉬고 싶었어요.) 해가 질 때 {A:은} {place}에 갔어요. {B:은} 거기에 앉아 있었어요. "내가
  졌어." {A:이} 말했어요. "[다시 달리자|이제 같이 달리자|집에 같이 가자]." {B:이} 웃었어요.

riddle := "우리 수수께끼 놀이를 하자." {A:이} 말했어요. "{question}" {B:은} [하늘을 보고|나무
  아래에 앉아서|웃으면서] 말했어요. "{wrong:이야}?" "아니야, {wrong:은} 아니야. 다시 말해 봐."
  "그러면 {answer:이야}!" "그래, {answer:이야}." {A:은} 웃었어요. [둘은 달이 질 때까지 수수께끼
  놀이를 했어요.|이제 {B:이} 물을 때예요.|]

song := {A:은} [{place:으로} 가면서|꽃에 물을 주면서|{hide1}에 앉아서] 노래했어요. / "{song}" /
  {B:이} 그 노래를 들었어요. "[아주 좋은 노래야|그 노래 좋아]. 나도 같이 하자." 둘은 [손을
  잡고|웃으면서|나무 아래에서] 다시 노래했어요. / "{song}" / [나무도 새도 그 노래를 들었어요.|해가
  질 때까지 쉬지 않고 노래했어요.|꽃도 웃고 새도 웃었어요.]

rain := <once> 비가 왔어요. {A:은} 우산이 없었어요. 그때 {giver:s} {A}에게 {말하다:v}. "이 우산을
  가지고 가." 그리고 {giver:s} {A}에게 {obj2:을} {주다:v}. [해가 나올 때|아침에] {A:은} {to}
  {obj2:을} 다시 가지고 갔어요. ({food}도 하나 {gave}.) {giver:s} [문 옆에서|{A:을} 보고|{obj2:을}
  보고] {웃다:v}.

visit := <once> {giver:s} {A}의 집에 {오다:v}. 그리고 {A:을} 보고 {말하다:v}. "{A:아}, 이 {toy:을}
  가지고 놀아." {A:은} [밤까지|해가 질 때까지] {toy:을} 가지고 놀았어요. 밤에 {giver:s} {A}에게
  {food:을} {주다:v}. {A:은} {food:을} 먹고 잠이 들었어요. ({giver:s} 그것을 보고 {웃다:v}.)

letter := <once> {A}에게 편지가 왔어요. / "{A}에게. [보고 싶어.|같이 놀고 싶어.|] 내 집은 이제
  {place} 옆에 있어. [놀러 와.|우리 집에 놀러 와.] ({food:을} 가지고 오면 더 좋아!) 친구 {B}" /
  {A:은} {food:을} 가지고 {place:으로} 갔어요. {B:은} [문 옆|나무 아래|길]에서 기다리고 있었어요.
  "[보고 싶었어|내 편지를 봤구나]!" {B:이} 말했어요. 둘은 같이 {food:을} 먹었어요. <end>

tree := {A:은} 작은 나무에 물을 주었어요. "{spell}" {A:이} 말했어요. 하지만 나무는 자라지
  않았어요. "[조금 더 기다리자|나무는 자고 있어]." {B:이} 말했어요. {A:은} 날마다 물을 주고
  말했어요. "{spell}" [비가 오고 해가 나왔어요.|밤이 가고 아침이 왔어요.] 어느 날 아침, 나무에
  [빨간|노란|작은] 꽃이 피었어요. (아주 작은 꽃이었어요.) <end>

count := [나무 아래|강 옆|꽃 옆]에 {crowd:이} {n} 마리 있었어요. "{row}." {A:이} 말했어요.
  "{crowd:이} {n} 마리야." 그때 [두 마리가 더 왔어요. "이제 {sum} 마리야." {B:이} 말했어요.|한
  마리가 하늘로 날아갔어요. "이제 {rest} 마리야." {B:이} 말했어요.] 둘은 {crowd:을} [보고|보면서]
  노래했어요. <end>

quarrel := {A:과} {B:은} {obj:을} 잡고 놓지 않았어요. "{~내 거야}." {A:이} 말했어요. "아니야, {~내
  거야}." {B:이} 말했어요. 그때 {obj:이} [물|강]에 빠졌어요. 둘은 [밤까지 말을 하지 않았어요|말도
  하지 않고 집으로 갔어요]. [밤|아침]에 {A:이} {B}에게 갔어요. "{~미안해}." {A:이} 말했어요. "나도
  {~미안해}." {B:이} 말했어요. 이제 {obj:은} 둘의 것이에요.

moon := [밤에|어느 날 밤] {A:이} 물을 보고 말했어요. "{~달이 물에 빠졌어}!" {A:은} {B}에게 갔어요.
  "{B:아}, {~달이 물에 빠졌어}!" {B:은} {obj:을} 가지고 왔어요. 하지만 {obj:으로} 달을 잡지는
  못했어요. 그때 {B:이} 하늘을 보고 웃었어요. "{A:아}, 하늘을 봐. 달은 하늘에 있어." <end>
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


def cast_sums(dice):
    """Numbers for a counting story, with the right sums."""
    n, more = 3 + dice.pick(range(4)), 2 + dice.pick(range(3))
    crowd, there = dice.pick(CROWDS).split(" ", 1)
    row = ", ".join(NUMBERS[1 : n + 1]).capitalize()
    numbers = {"n": n, "more": more, "sum": n + more, "rest": n - 2}
    words = {key: NUMBERS[number] for key, number in numbers.items()}
    return {"crowd": crowd, "row": row}, {**words, "there": there}


def cast_english(dice):
    names, words = cast_people(dice)
    phrases, numbers = cast_sums(dice)
    words.update(numbers)
    things = [f"{dice.pick(LOOKS)} {thing}" for thing in dice.draw(THINGS, 3)]
    phrases.update(zip(("obj", "obj3"), things))
    phrases.update(zip(("hide1", "hide2", "hide3"), dice.draw(INDOORS + OUTDOORS, 3)))
    phrases.update(zip(("place", "place2"), ("the " + place for place in dice.draw(PLACES, 2))))
    phrases.update(zip(("green", "green2"), dice.draw(GREENS, 2)))
    phrases.update(food=dice.pick(FOODS), food2=dice.pick(FOODS) + "s", out1=dice.pick(OUTDOORS))
    phrases.update(song=dice.pick(SONGS), spell=dice.pick(SPELLS), pet=dice.pick(PETS))
    phrases["noise"] = dice.pick(NOISES)
    phrases["obj2"] = dice.pick(("lamp", "little lamp", "old lamp"))
    phrases["stuck"], words["where"] = dice.pick(STUCK).split(";")
    words["question"], phrases["answer"], phrases["wrong"] = dice.pick(RIDDLES).split(";")
    phrases["sign"], words["did"], words["result"] = dice.pick(SIGNS).split(";")
    words["harm"], words["repair"] = dice.pick(HARMS).split(";")
    words["green3"] = phrases["green"].split()[-1]
    words["dreamt"] = dice.pick(DREAMS)
    words["folk"], words["pet2"] = dice.pick(list(FOLK)), dice.pick(("cat", "dog", "mouse"))
    words["act"], words["act2"] = dice.draw(ACTS, 2)
    words["petact"] = dice.pick(PET_ACTS)
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
        "crowd": dice.pick(KOREAN_CROWDS),
        "song": dice.pick(KOREAN_SONGS),
        "spell": dice.pick(KOREAN_SPELLS),
    }
    phrases.update(zip(("hide1", "hide2", "hide3"), dice.draw(KOREAN_HIDES, 3)))
    question, phrases["answer"], phrases["wrong"] = dice.pick(KOREAN_RIDDLES).split(";")
    n, row, total, rest = dice.pick(KOREAN_COUNTS)
    elder = dice.pick(("할머니", "할아버지")) if dice.chance(0.6) else ""
    words = {"question": question, "n": n, "row": row, "sum": total, "rest": rest, "elder": elder}
    words["to"] = elder + "께" if elder else names["B"] + "에게"
    words["gave"] = "드렸어요" if elder else "주었어요"
    return Cast(names, phrases, words)


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
            self.deck = dice.draw(self.plots, len(self.plots))
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
    return {
        "char": {"start": start[0], "length": len(text), **pairs},
        "byte": {"start": start[1], "length": offsets[-1], **in_bytes},
    }


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
        start = tuple(
            record[unit]["start"] + record[unit]["length"] + 2 for unit in ("char", "byte")
        )
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
