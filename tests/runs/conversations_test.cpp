#include "runs/conversations.h"

#include <algorithm>

#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/text/bpe_tokenizer.h"
#include "io/temporary_folder.h"
#include "support/catch.h"

namespace conversations_test {

using namespace headlight;
using namespace headlight::test;

namespace {

using Ids = std::vector<std::int32_t>;

// All bytes and the tokens of ChatML.
std::unique_ptr<Tokenizer> chat_tokenizer(const std::string& chat_template) {
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.resize(260);
  vocabulary.special = {
      {"<|endoftext|>", 256}, {"<|im_start|>", 257}, {"<|im_end|>", 258}, {"</s>", 259}};
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(vocabulary));
  tokenizer->set_chat_template(read_chat_template(chat_template));
  return tokenizer;
}

// Returns the text of tokens, with the context in braces and ## between the answers of a pair.
std::string marked(const Ids& tokens, const Tokenizer& tokenizer) {
  std::string text;
  bool is_context = false;
  for (const std::int32_t token : tokens) {
    if (token == kPairBreak) {
      text += is_context ? "}##" : "##";
      is_context = false;
      continue;
    }
    if (is_context != !is_learned(token)) {
      is_context = !is_context;
      text += is_context ? "{" : "}";
    }
    const auto id = id_of(token);
    const std::string name(tokenizer.special_name(id));
    text += name.empty() ? tokenizer.decode(Ids{id}) : name;
  }
  return text + (is_context ? "}" : "");
}

struct Reading {
  std::vector<std::string> texts;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

Reading read(const std::string& content, const ConversationOptions& options = {},
             const std::string& name = "data.jsonl", const std::string& chat_template = "chatml") {
  const TemporaryFolder folder;
  const TextFile file{.path = folder.path() / name};
  write_bytes(file.path, content);
  const auto tokenizer = chat_tokenizer(chat_template);
  const ChatFormat format(tokenizer->chat_template(), *tokenizer);
  REQUIRE(kind_of_conversations(file, options.key) != ConversationKind::none);
  Reading reading;
  const TokenDataset dataset =
      read_conversations(file, options, format, *tokenizer, reading.notes, reading.warnings);
  CHECK(dataset.documents);
  for (const TokenSequence& sequence : dataset.sequences) {
    reading.texts.push_back(marked(sequence.tokens(0, sequence.size()), *tokenizer));
  }
  return reading;
}

constexpr const char* kTwoTurns =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"},)"
    R"( {"role": "user", "content": "d"}, {"role": "assistant", "content": "e"}]})";

// Returns the conversation of kTwoTurns with a template that is the text `source`.
std::string two_turns_in(const std::string& source, const ConversationOptions& options = {}) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "own.jinja", source);
  return read(kTwoTurns, options, "data.jsonl", (folder.path() / "own.jinja").string()).texts.at(0);
}

// Returns the text of a template of tests/formats/chat_templates.
std::string model_template(const std::string& name) {
  return HEADLIGHT_SOURCE_DIR "/tests/formats/chat_templates/" + name + ".jinja";
}

}  // namespace

TEST_CASE("answers are learned with the end of their turns", "[conversations]") {
  const Reading reading = read(kTwoTurns);
  CHECK(reading.texts ==
        std::vector<std::string>{
            "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}bc<|im_end|>\n"
            "{<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n}e<|im_end|>\n"});
  CHECK_THAT(reading.notes.at(0), contains_text("1 conversations, 2 answers; "));
}

TEST_CASE("all tokens or only the last answer can be learned", "[conversations]") {
  CHECK_THAT(read(kTwoTurns, {.learn = Learn::all}).texts.at(0), !contains_text("{"));
  CHECK_THAT(
      read(kTwoTurns, {.learn = Learn::last}).texts.at(0),
      contains_text("bc<|im_end|>\n<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n}e"));
}

TEST_CASE("other shapes of records are the same conversations", "[conversations]") {
  const std::string one = "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n";
  const auto [name, record] = GENERATE(table<std::string, std::string>(
      {{"x.jsonl", R"({"conversations": [{"from": "human", "value": "a"},)"
                   R"( {"from": "gpt", "value": "b"}]})"},
       {"x.jsonl", R"({"prompt": [{"role": "user", "content": "a"}],)"
                   R"( "completion": [{"role": "assistant", "content": "b"}]})"},
       {"x.jsonl", R"({"instruction": "a", "input": "", "output": "b"})"},
       {"x.json", R"([{"instruction": "a", "output": "b"}])"}}));
  INFO(record);
  CHECK(read(record, {}, name).texts.at(0) == one);
}

TEST_CASE("a prompt and a completion are joined without a template", "[conversations]") {
  CHECK(read(R"({"prompt": "1+1=", "completion": "2"})").texts.at(0) ==
        "{<|endoftext|>1+1=}2<|endoftext|>");
}

TEST_CASE("rows of a table are records", "[conversations]") {
  const Reading lines = read(R"({"instruction": "a, b", "output": "c"})");
  const Reading table = read("output,instruction\nc,\"a, b\"\n", {}, "data.csv");
  CHECK(table.texts == lines.texts);
  CHECK(read("prompt\tcompletion\na\tb\n", {}, "data.tsv").texts ==
        read(R"({"prompt": "a", "completion": "b"})").texts);
}

TEST_CASE("a list under another key is chosen with that key", "[conversations]") {
  const std::string record = R"({"chat": [{"role": "assistant", "content": "b"}]})";
  CHECK_THAT(read(record, {.key = "chat"}).texts.at(0), contains_text("}b<|im_end|>"));
}

TEST_CASE("names of special tokens in messages stay text", "[conversations]") {
  const Reading reading = read(R"({"messages": [{"role": "user", "content": "<|im_end|>"},)"
                               R"( {"role": "assistant", "content": "b"}]})",
                               {.learn = Learn::all});
  const auto tokenizer = chat_tokenizer("chatml");
  const ChatFormat format(tokenizer->chat_template(), *tokenizer);
  const Ids tokens =
      format.encode_for_training({{"user", "<|im_end|>"}, {"assistant", "b"}}, Learn::all);
  CHECK(std::ranges::count(tokens, 258) == 2);
}

TEST_CASE("spelled special tokens and decomposed Hangul in messages get a warning",
          "[conversations]") {
  const Reading reading = read(R"({"messages": [{"role": "user", "content": "<|im_end|>"},)"
                               R"( {"role": "assistant", "content": "b"}]})"
                               "\n"
                               R"({"prompt": "a", "completion": "\u1112\u1161\u11ab"})");
  REQUIRE(reading.warnings.size() == 2);
  CHECK_THAT(reading.warnings[0],
             contains_text("names of special tokens are read as plain text: '<|im_end|>' (1); "
                           "--special_tokens on reads them as tokens"));
  CHECK_THAT(reading.warnings[1], contains_text("contains decomposed Hangul (NFD)"));
  CHECK(read(kTwoTurns).warnings.empty());
}

TEST_CASE("long conversations are cut at the end and counted", "[conversations]") {
  const Reading reading = read(kTwoTurns, {.block_size = 40});
  CHECK_THAT(reading.warnings.at(0),
             contains_text("1 of 1 conversations are longer than 40 tokens (block_size): cut at"));
  const std::string both = std::string(kTwoTurns) + "\n" +
                           R"({"messages": [{"role": "user", "content": "only a question"}]})";
  CHECK_THAT(read(both).warnings.at(0),
             contains_text("1 of 2 conversations have nothing to learn: left out"));
}

TEST_CASE("a bad record is named with its line and key", "[conversations]") {
  const auto [record, message] = GENERATE(table<std::string, std::string>(
      {{R"({"messages": [{"role": "user"}]})", "line 2: message 1: key \"content\" is missing"},
       {R"({"messages": [{"role": "user", "content": 3}]})",
        "line 2: message 1: \"content\" must be a string, got number"},
       {R"({"messages": [3]})", "line 2: message 1: expected an object, got number"},
       {R"({"other": 1})", "line 2: expected \"messages\", \"conversations\""},
       {"{", "line 2"},
       {R"({"prompt": "a", "completion": ["b"]})",
        "line 2: \"completion\" must be a string, got array"}}));
  INFO(record);
  CHECK_THROWS_WITH(read(std::string(kTwoTurns) + "\n" + record), contains_text(message));
}

TEST_CASE("chosen and rejected texts are a pair with one prompt", "[conversations]") {
  const Reading reading =
      read(R"({"prompt": "1+1=", "chosen": "2", "rejected": "3"})"
           "\n"
           R"({"chosen": "Q: a A: no", "rejected": "Q: a A: yes", "messages": []})");
  CHECK(reading.texts ==
        std::vector<std::string>{
            "{<|endoftext|>1+1=}2<|endoftext|>##{<|endoftext|>1+1=}3<|endoftext|>",
            "{<|endoftext|>Q: a A: }no<|endoftext|>##{<|endoftext|>Q: a A: }yes<|endoftext|>"});
  CHECK_THAT(reading.notes.at(0),
             contains_text("data.jsonl: 2 pairs of answers; 27 % of 41 tokens are learned"));
  CHECK(reading.warnings.empty());
}

TEST_CASE("a table has pairs of answers in its columns", "[conversations]") {
  CHECK(read("prompt,chosen,rejected\n1+1=,2,3\n", {}, "x.csv").texts.at(0) ==
        "{<|endoftext|>1+1=}2<|endoftext|>##{<|endoftext|>1+1=}3<|endoftext|>");
}

TEST_CASE("a pair of messages has an explicit or implicit prompt", "[conversations]") {
  const std::string start = "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}";
  const std::string expected = start + "b<|im_end|>\n##" + start + "cd<|im_end|>\n";
  const std::string user = R"({"role": "user", "content": "a"})";
  const std::string good = R"({"role": "assistant", "content": "b"})";
  const std::string bad = R"({"role": "assistant", "content": "cd"})";
  const std::string whole =
      "\"chosen\": [" + user + ", " + good + "], \"rejected\": [" + user + ", " + bad + "]";
  const std::string record = GENERATE_COPY(
      "{\"prompt\": [" + user + "], \"chosen\": [" + good + "], \"rejected\": [" + bad + "]}",
      "{" + whole + "}", "{\"prompt\": \"a\", " + whole + "}");
  INFO(record);
  CHECK(read(record).texts.at(0) == expected);
  CHECK(read("[" + record + "]", {}, "x.json").texts.at(0) == expected);
}

TEST_CASE("answers are learned from the first token that differs on", "[conversations]") {
  const std::string user = R"({"role": "user", "content": "a"})";
  const auto answer = [](const std::string& text) {
    return R"({"role": "assistant", "content": ")" + text + "\"}";
  };
  const std::string begin = "[" + user + ", " + answer("one") + ", " + user + ", ";
  const std::string text = read("{\"chosen\": " + begin + answer("yes") +
                                "], \"rejected\": " + begin + answer("yet") + "]}")
                               .texts.at(0);
  CHECK_THAT(text, contains_text("one<|im_end|>\n<|im_start|>user"));
  CHECK_THAT(text, contains_text("assistant\nye}s<|im_end|>\n##{"));
  CHECK_THAT(text, contains_text("assistant\nye}t<|im_end|>\n"));
  CHECK(read(R"({"prompt": "", "chosen": "a", "rejected": "ab"})").texts.at(0) ==
        "{<|endoftext|>a}<|endoftext|>##{<|endoftext|>a}b<|endoftext|>");
}

TEST_CASE("pairs that are cut, equal or without an answer are counted", "[conversations]") {
  const std::string one = R"({"prompt": "abc", "chosen": "defg", "rejected": "x"})";
  const Reading cut = read(one, {.block_size = 5});
  CHECK(cut.texts.at(0) == "{<|endoftext|>abc}de##{<|endoftext|>abc}x<|endoftext|>");
  CHECK_THAT(cut.warnings.at(0), contains_text("1 of 1 pairs of answers are longer than 5 tokens"));
  const std::string left_out = GENERATE(
      R"({"prompt": "abc", "chosen": "same", "rejected": "same"})",
      R"({"chosen": [{"role": "user", "content": "a"}], "rejected": [{"role": "user", "content": "b"}]})");
  const Reading reading = read(one + "\n" + left_out);
  CHECK(reading.texts.size() == 1);
  CHECK_THAT(reading.warnings.at(0),
             contains_text("1 of 2 pairs of answers have nothing to learn: left out"));
  CHECK_THROWS_WITH(read(one, {.block_size = 3}), contains_text("something to learn"));
}

TEST_CASE("a bad pair is named with its line and key", "[conversations]") {
  const std::string good = R"({"chosen": "a", "rejected": "b"})";
  const auto [record, message] = GENERATE(table<std::string, std::string>(
      {{R"({"chosen": "a", "rejected": ["b"]})",
        "line 2: \"chosen\" and \"rejected\" must both be texts or both be lists of messages"},
       {R"({"chosen": 1, "rejected": 2})", "line 2: \"chosen\" must be a string, got number"},
       {R"({"chosen": "a", "rejected": null})", "line 2: \"rejected\" must be a string, got null"},
       {R"({"prompt": [], "chosen": "a", "rejected": "b"})",
        "line 2: \"prompt\" must be a string, got array"},
       {R"({"prompt": "q", "chosen": [{"role": "user", "content": "other"}], "rejected": []})",
        "line 2: \"chosen\" must contain the text of \"prompt\" as a message"},
       {R"({"chosen": [{"role": "user"}], "rejected": []})",
        "line 2: \"chosen\": message 1: key \"content\" is missing"},
       {R"({"prompt": [4], "chosen": [], "rejected": []})",
        "line 2: \"prompt\": message 1: expected an object, got number"},
       {R"({"chosen": "a"})", "line 2: expected \"messages\", \"conversations\""},
       {R"({"messages": []})", "line 2: expected a pair of answers"}}));
  INFO(record);
  CHECK_THROWS_WITH(read(good + "\n" + record), contains_text(message));
  CHECK_THROWS_WITH(read(std::string(kTwoTurns) + "\n" + good),
                    contains_text("line 2: expected a conversation, as in the records before"));
}

TEST_CASE("texts in JSON lines are no conversations", "[conversations]") {
  const TemporaryFolder folder;
  const TextFile file{.path = folder.path() / "a.jsonl"};
  write_bytes(file.path, R"({"text": "a", "prompt": "b", "completion": "c"})");
  CHECK(kind_of_conversations(file, "") == ConversationKind::none);
  write_bytes(file.path, "not JSON");
  CHECK(kind_of_conversations(file, "") == ConversationKind::none);
  CHECK(kind_of_conversations({.path = folder.path() / "none.jsonl"}, "") ==
        ConversationKind::none);
}

TEST_CASE("every named template marks exactly the answers", "[conversations]") {
  const std::string name = GENERATE(from_range(chat_template_names()));
  INFO(name);
  const auto tokenizer = chat_tokenizer(name);
  const ChatFormat format(tokenizer->chat_template(), *tokenizer);
  const std::string text = marked(format.encode_for_training({{"user", "first question"},
                                                              {"assistant", "first answer"},
                                                              {"user", "second question"},
                                                              {"assistant", "second answer"}},
                                                             Learn::assistant),
                                  *tokenizer);
  std::string learned;
  bool is_context = false;
  for (const char c : text) {
    is_context = c == '{' ? true : c == '}' ? false : is_context;
    learned += is_context ? "" : std::string(1, c);
  }
  INFO(text);
  CHECK_THAT(learned, contains_text("first answer"));
  CHECK_THAT(learned, contains_text("second answer"));
  CHECK_THAT(learned, !contains_text("question"));
  CHECK_THAT(learned, !contains_text("user"));
}

TEST_CASE("answers are learned if the template writes a last answer otherwise", "[conversations]") {
  CHECK(read(kTwoTurns, {}, "data.jsonl", model_template("qwen3")).texts.at(0) ==
        "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}bc<|im_end|>\n"
        "{<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n}"
        "<think>\n\n</think>\n\ne<|im_end|>\n");
  const std::string equal =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"},)"
      R"( {"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}]})";
  CHECK_THAT(read(equal, {}, "data.jsonl", model_template("qwen3")).texts.at(0),
             contains_text("<|im_start|>assistant\n}a<|im_end|>\n{<|im_start|>user\na<|im_end|>"));
}

TEST_CASE("thoughts that the template drops are not learned", "[conversations]") {
  const std::string record = R"({"messages": [{"role": "user", "content": "a"},)"
                             R"( {"role": "assistant", "content": "<think>\nx\n</think>\n\nb"},)"
                             R"( {"role": "user", "content": "c"},)"
                             R"( {"role": "assistant", "content": "<think>\ny\n</think>\n\nd"}]})";
  CHECK(read(record, {}, "data.jsonl", model_template("qwen3")).texts.at(0) ==
        "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n"
        "{<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n}"
        "<think>\ny\n</think>\n\nd<|im_end|>\n");
}

TEST_CASE("a turn may end with another special token than the last", "[conversations]") {
  CHECK(two_turns_in(
            "{% for m in messages %}{{ m.role[0] + ':' + m.content }}"
            "{{ '</s>' if loop.last and m.role == 'assistant' else '<|im_end|>' }}{% endfor %}"
            "{% if add_generation_prompt %}a:{% endif %}") ==
        "{u:a<|im_end|>a:}bc<|im_end|>{u:d<|im_end|>a:}e</s>");
}

TEST_CASE("questions are not learned if the template writes the last one otherwise",
          "[conversations]") {
  CHECK(two_turns_in("{% for m in messages %}{% if m.role == 'user' %}"
                     "[{{ 'be brief, ' if loop.last else '' }}{{ m.content }}]"
                     "{% else %}{{ m.content }}</s>{% endif %}{% endfor %}") ==
        "{[a]}bc</s>{[d]}e</s>");
}

TEST_CASE("a special token that the prompt does not have is learned", "[conversations]") {
  CHECK(two_turns_in("{% for m in messages %}{{ '<|im_end|>' if m.role == 'assistant' }}"
                     "{{ m.content }}{% endfor %}"
                     "{% if add_generation_prompt %}<|im_start|>{% endif %}") ==
        "{a}<|im_end|>bc{d}<|im_end|>e");
}

TEST_CASE("calls of tools are learned", "[conversations]") {
  const std::string call =
      R"({"role": "assistant", "content": null, "tool_calls": [{"type": "function",)"
      R"( "function": {"name": "now", "arguments": {"zone": "CET"}}}]})";
  const std::string tools =
      GENERATE(R"([{"type": "function", "function": {"name": "now"}}])",
               R"("[{\"type\": \"function\", \"function\": {\"name\": \"now\"}}]")");
  const std::string text =
      read("{\"tools\": " + tools + R"(, "messages": [{"role": "user", "content": "a"}, )" + call +
               R"(, {"role": "tool", "content": "10"}, {"role": "assistant", "content": "ten"}]})",
           {}, "data.jsonl", "hermes")
          .texts.at(0);
  CHECK_THAT(text, contains_text("<tools>"));
  CHECK_THAT(text, contains_text("<|im_start|>assistant\n}<tool_call>\n{\"name\": \"now\""));
  CHECK_THAT(text, contains_text("</tool_call><|im_end|>\n{<|im_start|>tool\n<tool_response>"));
  CHECK_THAT(text, contains_text("<|im_start|>assistant\n}ten<|im_end|>\n"));
  CHECK(read("tools,instruction,output\n,a,b\n", {}, "x.csv").texts ==
        read(R"({"tools": [], "instruction": "a", "output": "b"})").texts);
  CHECK_THROWS_WITH(read(R"({"tools": "now", "messages": []})"), contains_text("\"tools\""));
  CHECK_THROWS_WITH(read(R"({"tools": {"a": 1}, "messages": []})"),
                    contains_text("\"tools\" must be a list of functions, got object"));
}

}  // namespace conversations_test
