#include "runs/conversations/conversations.h"
#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "runs/conversations/template_use.h"
#include "support/published_templates.h"
#include "support/test.h"

namespace conversations_test {
// All bytes, the tokens of ChatML, and "zy" and "yq", of which the latter is joined first.
std::unique_ptr<Tokenizer> chat_tokenizer(const std::string& chat_template) {
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.resize(260);
  vocabulary.tokens.emplace_back("yq");
  vocabulary.tokens.emplace_back("zy");
  vocabulary.merges = {{'y', 'q'}, {'z', 'y'}};
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
             const std::string& name = "data.jsonl", const std::string& chat_template = "chatml",
             bool reads_names = false) {
  const TemporaryFolder folder;
  const TextFile file{.path = folder.path() / name};
  write_bytes(file.path, content);
  const auto tokenizer = chat_tokenizer(chat_template);
  tokenizer->set_reads_special(reads_names);
  const ChatFormat format(tokenizer->chat_template(), *tokenizer);
  const ConversationKind kind = kind_of_conversations(file, options.key);
  REQUIRE(kind != ConversationKind::none);
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

// Returns the tokens of a record with a template that is the text `source`.
std::string text_in(const std::string& record, const std::string& source,
                    const ConversationOptions& options = {}) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "own.jinja", source);
  return read(record, options, "data.jsonl", (folder.path() / "own.jinja").string()).texts.at(0);
}

std::string two_turns_in(const std::string& source, const ConversationOptions& options = {}) {
  return text_in(kTwoTurns, source, options);
}

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
       {"x.jsonl", R"({"instruction": "a", "input": null, "system": null, "history": [],)"
                   R"( "output": "b"})"},
       {"x.jsonl", R"({"instruction": "a", "context": "", "response": "b"})"},
       {"x.jsonl", R"({"question": "a", "answer": "b"})"},
       {"x.jsonl", R"({"input": "a", "output": "b", "label": true})"},
       {"x.jsonl", R"({"interactions": [{"role": "user", "text": "a"},)"
                   R"( {"role": "assistant", "text": "b", "weight": 1}]})"},
       {"x.jsonl", R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},)"
                   R"( {"role": "assistant", "content": [{"type": "text", "text": ""},)"
                   R"( {"type": "text", "text": "b"}], "weight": 1.0, "name": null}]})"},
       {"x.json", R"([{"instruction": "a", "output": "b"}])"},
       {"x.json",
        "{\"instruction\": \"a\",\n \"output\": \"b\"}\n{\"question\": \"c\", "
        "\"answer\": \"d\"}\n"},
       {"x.json", R"({"version": "1", "data": [{"instruction": "a", "output": "b"}]})"},
       {"x.csv", "instruction;output\na;b\n"},
       {"x.csv",
        "id,messages\n1,\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"a\"\"}, "
        "{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"b\"\"}]\"\n"}}));
  INFO(record);
  CHECK(read(record, {}, name).texts.at(0) == one);
}

TEST_CASE("system texts and earlier turns of a record belong to its conversation",
          "[conversations]") {
  const std::string system = "{<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n";
  const auto [record, rest] = GENERATE(table<std::string, std::string>(
      {{R"({"instruction": "c", "input": "d", "output": "e", "system": "s",)"
        R"( "history": [["a", "b"]]})",
        "a<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n{<|im_start|>user\nc\n\nd<|im_end|>\n"
        "<|im_start|>assistant\n}e<|im_end|>\n"},
       {R"({"system_prompt": "s", "question": "a", "response": "b"})",
        "a<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n"},
       {R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}],)"
        R"( "system": "s"})",
        "a<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n"},
       {R"({"only_last": true, "system": "s", "messages": [{"role": "user", "content": "a"},)"
        R"( {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},)"
        R"( {"role": "assistant", "content": "d"}]})",
        "a<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
        "<|im_start|>assistant\n}d<|im_end|>\n"}}));
  INFO(record);
  CHECK(read(record).texts.at(0) == system + rest);
}

TEST_CASE("answers that a record excludes are not learned", "[conversations]") {
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
  CHECK_THROWS_WITH(read(turns(yes, no), {.learn = Learn::last}), contains_text("to learn"));
  CHECK_THROWS_WITH(read(turns(yes, no), {.learn = Learn::all}),
                    contains_text("line 1: a message says that it is not learned"));
}

TEST_CASE("keys that cannot be obeyed are refused by name", "[conversations]") {
  const std::string start = R"({"messages": [{"role": "user", "content": "a")";
  const std::string end = R"(}, {"role": "assistant", "content": "b"}]})";
  const auto [record, message] = GENERATE_COPY(table<std::string, std::string>(
      {{R"({"prompt": "a", "completion": "b", "label": false})",
        "line 1: \"label\": false marks an answer that must not be learned"},
       {R"({"instruction": "a", "output": "b", "kto_tag": false})", "\"kto_tag\": false marks"},
       {R"({"instruction": "a", "output": "b", "images": ["x.png"]})", "read text alone"},
       {R"({"instruction": "a", "output": "b", "weight": 0.5})", "weight of the whole record"},
       {R"({"instruction": "a", "output": "b", "functions": [{"name": "f"}]})", "write \"tools\""},
       {R"({"instruction": "a", "output": "b", "chat_template_kwargs": {"x": 1}})",
        "variables of the chat template"},
       {R"({"prompt": "a", "completion": "b", "system": "s"})", "\"system\" needs a chat template"},
       {start + R"(, "weight": 1)" + end,
        "message 1: \"weight\": 1 of a message with the role \"user\": only answers"},
       {start + R"(, "weight": 0.5)" + end, "message 1: \"weight\": expected 0 or 1"},
       {start + R"(, "train_detail": [{}])" + end, "\"train_detail\" chooses parts of an answer"},
       {start + R"(, "function_call": {"name": "f"})" + end, "write \"tool_calls\""},
       {R"({"messages": [{"role": "function_call", "content": "{}"}]})", "function_call"},
       {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
        "\"content\" is a list of parts"},
       {R"({"messages": [{"role": "assistant", "content": null, "tool_calls": []}]})",
        "must be a string, got null"}}));
  INFO(record);
  CHECK_THROWS_WITH(read(record), contains_text(message));
}

TEST_CASE("records of formats without conversations are refused by name", "[conversations]") {
  const auto [record, message] = GENERATE(table<std::string, std::string>(
      {{R"({"message_id": "1", "parent_id": null, "text": "a", "role": "prompter"})",
        "line 1: the record (with \"message_id\") is one message of Open Assistant"},
       {R"({"message_tree_id": "1", "prompt": {"text": "a", "replies": []}})", "Open Assistant"},
       {R"({"instruction": "a", "models": ["x"], "completions": []})", "UltraFeedback"},
       {R"({"prompt": "a", "completions": ["b"], "labels": [true]})", "single steps"},
       {R"({"segments": [{"label": true, "text": "a"}]})", "template-free"},
       {R"({"input_ids": [1], "labels": [1]})", "token ids"}}));
  INFO(record);
  CHECK_THROWS_WITH(read(record), contains_text(message));
}

TEST_CASE("keys without use are named once", "[conversations]") {
  const std::string record = R"({"id": 7, "source": "x", "note": "", "instruction": "a",)"
                             R"( "context": "c", "response": "b", "category": "qa"})";
  const Reading reading = read(record + "\n" + record);
  CHECK(reading.warnings == std::vector<std::string>{reading.warnings.at(0)});
  CHECK_THAT(reading.warnings.at(0),
             contains_text(": keys that are ignored: \"category\", \"id\", \"source\""));
  CHECK_THAT(reading.texts.at(0), contains_text("user\na\n\nc<|im_end|>"));
}

TEST_CASE("what the chat template leaves out is named", "[conversations]") {
  const std::string record =
      R"({"tools": [{"name": "f"}], "messages": [{"role": "system", "content": "s"},)"
      R"( {"role": "user", "content": "a", "name": "Ann"}, {"role": "assistant", "content": "b"}]})";
  const TemporaryFolder folder;
  const std::string source = (folder / "own.jinja").string();
  write_bytes(source,
              "{% for m in messages if m.role != 'system' %}{{ m.role[0] + ':' + m.content }}"
              "</s>{% endfor %}{% if add_generation_prompt %}a:{% endif %}");
  CHECK_THAT(read(record, {}, "data.jsonl", source).warnings.at(0),
             contains_text("the chat template leaves out: \"messages of the role system\", "
                           "\"messages: name\", \"tools\""));
  CHECK_THROWS_WITH(read(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant",)"
                         R"( "content": null, "tool_calls": [{"function": {"name": "f"}}]}]})",
                         {}, "data.jsonl", source),
                    contains_text("line 1: the chat template writes no \"tool_calls\""));
  write_bytes(source,
              "{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}"
              "{{ raise_exception('bad role') }}{% endif %}{{ m.content }}{% endfor %}");
  CHECK_THROWS_WITH(
      read(R"({"messages": [{"role": "critic", "content": "a"}]})", {}, "data.jsonl", source),
      contains_text("messages have the role \"critic\", which this template may not know"));
}

TEST_CASE("a completion of messages is learned from the first token that the prompt lacks",
          "[conversations]") {
  const TemporaryFolder folder;
  const std::string source = (folder / "own.jinja").string();
  write_bytes(source, "{% for m in messages %}{{ m.content }}{% endfor %}");
  const auto text = [&](const char* prompt, const char* completion) {
    const std::string record = concat_text(
        R"({"prompt": [{"role": "user", "content": ")", prompt,
        R"("}], "completion": [{"role": "assistant", "content": ")", completion, R"("}]})");
    return read(record, {}, "data.jsonl", source).texts.at(0);
  };
  CHECK(text("xzy", "!") == "{xzy}!");
  CHECK(text("xzy", "q") == "{x}zyq");  // "zy" of the prompt alone becomes "z" and "yq"
}

TEST_CASE("a message that ends with unknown characters is not called left out", "[conversations]") {
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/tokenizers/data/pipeline_tokenizers.json");
  const auto kinds = nlohmann::json::parse(file);
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

TEST_CASE("a completion is learned from the first token that the prompt lacks", "[conversations]") {
  CHECK(read(R"({"prompt": "xz", "completion": "y!"})").texts.at(0) ==
        "{<|endoftext|>x}zy!<|endoftext|>");
  CHECK(read(R"({"prompt": "z", "completion": "y"})").texts.at(0) ==
        "{<|endoftext|>}zy<|endoftext|>");
  CHECK(read(R"({"prompt": "z", "chosen": "yx", "rejected": "x"})").texts.at(0) ==
        "{<|endoftext|>}zyx<|endoftext|>##{<|endoftext|>}zx<|endoftext|>");
}

TEST_CASE("a completion with an end token gets no second one", "[conversations]") {
  const Reading reading = read(R"({"prompt": "1+1=", "completion": "2<|endoftext|>"})");
  CHECK(reading.texts.at(0) == "{<|endoftext|>1+1=}2<|endoftext|>");
  CHECK(reading.warnings.empty());
  CHECK_THAT(reading.notes.at(0), contains_text("; each text begins with <|endoftext|> and ends "
                                                "with <|endoftext|>"));
  CHECK(read(R"({"prompt": "a", "chosen": "b<|endoftext|>", "rejected": "c"})").texts.at(0) ==
        "{<|endoftext|>a}b<|endoftext|>##{<|endoftext|>a}c<|endoftext|>");
}

TEST_CASE("texts whose names are read as tokens have each end once", "[conversations]") {
  const auto text = [](const std::string& record) {
    return read(record, {}, "data.jsonl", "chatml", true).texts.at(0);
  };
  CHECK(text(R"({"prompt": "a", "completion": "b<|endoftext|>"})") ==
        "{<|endoftext|>a}b<|endoftext|>");
  CHECK(text(R"({"prompt": "<|endoftext|>a", "completion": "b"})") ==
        "{<|endoftext|>a}b<|endoftext|>");
  CHECK(text(R"({"prompt": "a", "chosen": "b<|endoftext|>", "rejected": "c"})") ==
        "{<|endoftext|>a}b<|endoftext|>##{<|endoftext|>a}c<|endoftext|>");
}

TEST_CASE("everything after a prompt of messages is learned", "[conversations]") {
  CHECK(read(R"({"prompt": [{"role": "user", "content": "a"}], "completion":)"
             R"( [{"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},)"
             R"( {"role": "assistant", "content": "d"}]})")
            .texts.at(0) ==
        "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}b<|im_end|>\n<|im_start|>user\nc"
        "<|im_end|>\n<|im_start|>assistant\nd<|im_end|>\n");
}

TEST_CASE("pairs of other programs have their question", "[conversations]") {
  const std::string start = "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}";
  const std::string record = GENERATE(
      R"({"question": "a", "chosen": "b", "rejected": "c"})",
      R"({"instruction": "a", "input": "", "chosen": "b", "rejected": "c"})",
      R"({"input": "a", "chosen": "b", "rejected": "c"})",
      R"({"prompt": "a", "chosen": [{"role": "assistant", "content": "b"}],)"
      R"( "rejected": [{"role": "assistant", "content": "c"}]})",
      R"({"conversations": [{"from": "human", "value": "a"}],)"
      R"( "chosen": {"from": "gpt", "value": "b"}, "rejected": {"from": "gpt", "value": "c"}})",
      R"({"input": {"messages": [{"role": "user", "content": "a"}], "tools": []},)"
      R"( "preferred_output": [{"role": "assistant", "content": "b"}],)"
      R"( "non_preferred_output": [{"role": "assistant", "content": "c"}]})");
  INFO(record);
  CHECK(read(record).texts.at(0) == start + "b<|im_end|>\n##" + start + "c<|im_end|>\n");
}

TEST_CASE("lists of Python in a table are refused", "[conversations]") {
  CHECK_THROWS_WITH(read("messages,id\n\"[{'role': 'user', 'content': 'a'}]\",1\n", {}, "x.csv"),
                    contains_text("holds a list in the notation of Python"));
}

TEST_CASE("prompts that fill block_size are the reason for nothing to learn", "[conversations]") {
  CHECK_THROWS_WITH(read(R"({"prompt": "abcdef", "completion": "g"})", {.block_size = 4}),
                    contains_text("1 have a prompt that fills the 4 tokens of block_size"));
  CHECK_THROWS_WITH(
      read(R"({"messages": [{"role": "User", "content": "a"}, {"role": "Bot", "content": "b"}]})"),
      contains_text("answers have the role \"assistant\", messages here also have \"Bot\", "
                    "\"User\""));
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
  CHECK_THAT(warning_of_texts(file), contains_text("ignores the conversations beside them"));
  write_bytes(file.path, R"({"text": "a", "meta": "b"})");
  CHECK(warning_of_texts(file).empty());
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
  CHECK(two_turns_in(published_template("qwen3")) ==
        "{<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n}bc<|im_end|>\n"
        "{<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n}"
        "<think>\n\n</think>\n\ne<|im_end|>\n");
  const std::string equal =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"},)"
      R"( {"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}]})";
  CHECK_THAT(text_in(equal, published_template("qwen3")),
             contains_text("<|im_start|>assistant\n}a<|im_end|>\n{<|im_start|>user\na<|im_end|>"));
}

TEST_CASE("thoughts that the template drops are not learned", "[conversations]") {
  const std::string record = R"({"messages": [{"role": "user", "content": "a"},)"
                             R"( {"role": "assistant", "content": "<think>\nx\n</think>\n\nb"},)"
                             R"( {"role": "user", "content": "c"},)"
                             R"( {"role": "assistant", "content": "<think>\ny\n</think>\n\nd"}]})";
  CHECK(text_in(record, published_template("qwen3")) ==
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

TEST_CASE("the name that follows a turn is not learned if it begins as the end of the text",
          "[conversations]") {
  // As Phi-3's template, which ends the last turn with another token, too.
  CHECK(two_turns_in(
            "{% for m in messages %}{{ ('<|im_start|>' if m.role == 'user' else '') + m.content"
            " + '<|im_end|>' }}{% endfor %}{% if not add_generation_prompt %}<|endoftext|>{% endif "
            "%}") ==
        "{<|im_start|>a<|im_end|>}bc<|im_end|>{<|im_start|>d<|im_end|>}e<|im_end|><|endoftext|>");
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
