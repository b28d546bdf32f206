#include "runs/conversations/conversations.h"
#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "runs/conversations/template_use.h"
#include "support/models/byte_vocabulary.h"
#include "support/models/published_templates.h"
#include "support/rows.h"
#include "support/test.h"

// All bytes, the tokens of ChatML, and "zy" and "yq", of which the latter is joined first.
std::unique_ptr<Tokenizer> chat_tokenizer(const std::string& chat_template) {
  auto tokenizer = std::make_unique<BpeTokenizer>(byte_vocabulary(
      {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "</s>"}, {{"y", "q"}, {"z", "y"}}));
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

struct ReadOptions {
  ConversationOptions conversations = {};
  std::string name = "data.jsonl";
  std::string chat_template = "chatml";
  bool reads_names = false;
};

Reading read(const std::string& content, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  const TextFile file{.path = folder.path() / options.name};
  write_bytes(file.path, content);
  const auto tokenizer = chat_tokenizer(options.chat_template);
  tokenizer->set_reads_special(options.reads_names);
  const ChatFormat format(tokenizer->chat_template(), *tokenizer);
  const ConversationKind kind = kind_of_conversations(file, options.conversations.key);
  REQUIRE(kind != ConversationKind::none);
  Reading reading;
  const TokenDataset dataset = read_conversations(file, options.conversations, format, *tokenizer,
                                                  reading.notes, reading.warnings);
  CHECK(dataset.documents);
  for (const TokenSequence& sequence : dataset.sequences) {
    reading.texts.push_back(marked(sequence.tokens(0, sequence.size()), *tokenizer));
  }
  return reading;
}

// Returns the texts and warnings of a reading, or its error, in one line.
std::string shown(const std::string& content, const ReadOptions& options) {
  std::string text;
  const std::string error = error_of([&] {
    const Reading reading = read(content + "\n", options);
    for (const std::string& one : reading.texts) {
      text += (text.empty() ? "" : "; ") + one;
    }
    for (const std::string& warning : reading.warnings) {
      text += "; warning: " + warning;
    }
  });
  return error == "no error" ? text : error;
}

// Options of a group of records.txt, such as "x.jsonl block_size 40".
ReadOptions options_of(const std::string& group) {
  const Arguments words = split_words(group);
  ReadOptions options{.name = words[0]};
  ConversationOptions& conversations = options.conversations;
  if (words.size() > 1) {
    options.reads_names = words[1] == "reads";
    conversations.learn = words[2] == "all"    ? Learn::all
                          : words[2] == "last" ? Learn::last
                                               : Learn::assistant;
    conversations.key = words[1] == "key" ? words[2] : "";
    conversations.block_size = words[1] == "block_size" ? std::stol(words[2]) : 0;
  }
  return options;
}

TEST_CASE("records of every shape give their texts, warnings or errors") {
  check_rows("runs/conversations/records.txt",
             [](const Row& row) { return shown(row.given, options_of(row.group)); });
}

TEST_CASE("answers are learned whatever the chat template writes around them") {
  const TemporaryFolder folder;
  check_rows("runs/conversations/templates.txt", [&](const Row& row) {
    const bool is_source = row.group.find('{') != std::string::npos;
    const std::string source = is_source ? row.group : published_template(row.group);
    return shown(row.given, {.chat_template = folder.write("own.jinja", source)});
  });
}

TEST_CASE("the number of conversations, pairs and learned tokens is noted") {
  CHECK_THAT(read(R"({"question": "a", "answer": "b"})").notes.at(0),
             contains_text("1 conversations, 1 answers; "));
  CHECK_THAT(read(R"({"prompt": "1+1=", "chosen": "2", "rejected": "3"})"
                  "\n"
                  R"({"chosen": "Q: a A: no", "rejected": "Q: a A: yes", "messages": []})")
                 .notes.at(0),
             contains_text("data.jsonl: 2 pairs of answers; 27 % of 41 tokens are learned"));
  CHECK_THAT(read(R"({"prompt": "1+1=", "completion": "2"})").notes.at(0),
             contains_text("; each text begins with <|endoftext|> and ends with <|endoftext|>"));
}

TEST_CASE("answers that a record excludes are not learned") {
  const std::string no =
      GENERATE(R"("weight": 0)", R"("weight": 0.0)", R"("train": false)", R"("training": false)",
               R"("loss": false)", R"("trainable": 0)", R"("masked": true)");
  const auto turns = [](const std::string& first, const std::string& second) {
    return R"({"messages": [{"role": "user", "content": "a", "weight": 0},)"
           R"( {"role": "assistant", "content": "b", )" +
           first +
           R"(}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d", )" +
           second + "}]}";
  };
  INFO(no);
  const std::string yes = "\"weight\": 1";
  CHECK(read(turns(no, yes)).texts.at(0) ==
        "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc"
        "<|im_end|>\n<|im_start|>assistant\n}d<|im_end|>\n");
  CHECK_THAT(read(turns(yes, no)).texts.at(0), contains_text("assistant\n}b<|im_end|>\n{<|im_sta"));
  CHECK_THAT(read(turns(yes, no)).texts.at(0), contains_text("assistant\nd<|im_end|>\n}"));
  CHECK_THROWS_WITH(read(turns(yes, no), {{.learn = Learn::last}}), contains_text("to learn"));
  CHECK_THROWS_WITH(read(turns(yes, no), {{.learn = Learn::all}}),
                    contains_text("line 1: a message says that it is not learned"));
}

TEST_CASE("a message that ends with unknown characters is not called left out") {
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/tokenizers/data/pipeline_tokenizers.json");
  const auto kinds = json::parse(file);
  const auto kind = std::ranges::find_if(
      kinds, [](const auto& one) { return one["kind"] == "Metaspace never, unknown"; });
  const auto tokenizer = parse_tokenizer_json((*kind)["tokenizer"].dump(), "t.json");
  const ChatFormat format("{% for m in messages %}{{ m.content }}{% endfor %}", *tokenizer);
  TemplateUse use(format);
  const std::vector<ChatMessage> messages{{.role = "user", .content = "a"},
                                          {.role = "assistant", .content = "a☃"}};
  CHECK(tokenizer->encode("☃") == tokenizer->encode("☃#"));
  CHECK_NOTHROW(use.look(messages, ""));
  CHECK(use.unread().empty());
}

TEST_CASE("texts in JSON lines are no conversations") {
  const TemporaryFolder folder;
  const TextFile file{.path = folder.path() / "a.jsonl"};
  write_bytes(file.path, R"({"text": "a", "prompt": "b", "completion": "c"})");
  CHECK(kind_of_conversations(file, "") == ConversationKind::none);
  CHECK_THAT(warning_of_texts(file), contains_text("ignores the conversations beside them"));
  write_bytes(file.path, R"({"text": "a", "meta": "b"})");
  CHECK(warning_of_texts(file).empty());
  write_bytes(file.path, "not JSON");
  CHECK(kind_of_conversations(file, "") == ConversationKind::none);
  CHECK(kind_of_conversations({.path = folder.path() / "none.jsonl"}, "") ==
        ConversationKind::none);
}

TEST_CASE("every named template marks exactly the answers") {
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

TEST_CASE("calls of tools are learned") {
  const std::string call =
      R"({"role": "assistant", "content": null, "tool_calls": [{"type": "function",)"
      R"( "function": {"name": "now", "arguments": {"zone": "CET"}}}]})";
  const std::string tools =
      GENERATE(R"([{"type": "function", "function": {"name": "now"}}])",
               R"("[{\"type\": \"function\", \"function\": {\"name\": \"now\"}}]")");
  const std::string text =
      read("{\"tools\": " + tools + R"(, "messages": [{"role": "user", "content": "a"}, )" + call +
               R"(, {"role": "tool", "content": "10"}, {"role": "assistant", "content": "ten"}]})",
           {.chat_template = "hermes"})
          .texts.at(0);
  CHECK_THAT(text, contains_text("<tools>"));
  CHECK_THAT(text, contains_text("<|im_start|>assistant\n}<tool_call>\n{\"name\": \"now\""));
  CHECK_THAT(text, contains_text("</tool_call><|im_end|>\n{<|im_start|>tool\n<tool_response>"));
  CHECK_THAT(text, contains_text("<|im_start|>assistant\n}ten<|im_end|>\n"));
}
