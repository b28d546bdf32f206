#include "base/json.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "support/models/published_templates.h"
#include "support/test.h"

namespace chat_tokens_test {
const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

Json json_of(const std::string& file) { return parse_json(file_contents(kTests / file), file); }

// Returns one of the small tokenizers, with more added tokens.
std::unique_ptr<Tokenizer> tokenizer_of(const Json& all, const Json& kind, const Json& added) {
  for (const Json& entry : all) {
    if (entry["kind"] == kind) {
      Json file = entry["tokenizer"];
      for (const Json& token : added) {
        file["added_tokens"].push_back(token);
      }
      return parse_tokenizer_json(file.dump(), "tokenizer.json");
    }
  }
  FAIL("no tokenizer " << kind.dump());
  return nullptr;
}

std::vector<ChatMessage> messages_of(const Json& list) {
  return mapped<ChatMessage>(list, [&](const Json& one) {
    return ChatMessage{one["role"].text(), one["content"].text()};
  });
}

// Returns the bytes of each token, with the ids before a colon.
std::string ranges_of(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<ByteRange> ranges;
  const Ids ids = tokenizer.encode_bytes(text, {.read_special = true, .ranges = &ranges});
  CHECK(ids == tokenizer.encode_bytes(text, {.read_special = true}));
  REQUIRE(ranges.size() == ids.size());
  std::string shown;
  for (const ByteRange& range : ranges) {
    REQUIRE(range.begin <= range.end);
    REQUIRE(range.end <= text.size());
    shown += "[" + text.substr(range.begin, range.end - range.begin) + "]";
  }
  return shown;
}

// tokens.jsonl is the output of tools/parity/check_chat_tokens.py --write.
TEST_CASE("a chat has the tokens of transformers, and learns those after its prompt") {
  const Json tokenizers = json_of("tokenizers/data/pipeline_tokenizers.json");
  for (const Json& entry : chat_lines("tokens.jsonl")) {
    INFO(entry["kind"].text() << " " << entry["template"].text() << " "
                              << entry["messages"].dump());
    const auto tokenizer = tokenizer_of(tokenizers, entry["kind"], entry["added"]);
    const ChatFormat chat(entry["template"].text(), *tokenizer);
    std::vector<ChatMessage> messages = messages_of(entry["messages"]);
    const Ids tokens = chat.encode_for_training(messages, Learn::last);
    CHECK(json_list(tokens, [](std::int32_t token) { return Json(id_of(token)); }) == entry["ids"]);
    CHECK(json_list(tokens, [](std::int32_t token) { return Json(is_learned(token)); }) ==
          entry["learned"]);
    messages.pop_back();
    CHECK(Json(chat.encode(messages)) == entry["prompt"]);
  }
}

TEST_CASE("blanks that a tokenizer drops at the end of a prompt are learned with the answer") {
  const Json tokenizers = json_of("tokenizers/data/pipeline_tokenizers.json");
  const auto tokenizer =
      tokenizer_of(tokenizers, Json("converted from SentencePiece"), Json::array());
  const ChatFormat chat("{% for m in messages %}{{ m.content + ' ' }}{% endfor %}", *tokenizer);
  const Ids prompt = chat.encode({{"user", "a"}});
  const Ids tokens =
      chat.encode_for_training({{"user", "a"}, {"assistant", "\u166d"}}, Learn::last);
  REQUIRE(tokens.size() > prompt.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    INFO(i);
    CHECK(is_learned(tokens[i]) == (i >= prompt.size()));
  }
}

TEST_CASE("names of special tokens in messages are the text that they are without tokens") {
  const Json tokenizers = json_of("tokenizers/data/pipeline_tokenizers.json");
  for (const Json& entry : tokenizers) {
    INFO(entry["kind"].text());
    const Json added = Json::array({{{"id", 9999},
                                     {"content", "<|x|>"},
                                     {"special", true},
                                     {"normalized", true},
                                     {"lstrip", true}}});
    const auto plain = tokenizer_of(tokenizers, entry["kind"], Json::array());
    const auto special = tokenizer_of(tokenizers, entry["kind"], added);
    const char* source = "{% for m in messages %}{{ m.content }}{% endfor %}";
    const std::vector<ChatMessage> chat{{"user", "a key <|x|>, there <|x|><|x|>"}};
    CHECK(ChatFormat(source, *special).encode(chat) == plain->encode(chat[0].content));
  }
}

TEST_CASE("each token has the bytes of the text that it stands for") {
  CHECK(ranges_of(ByteTokenizer(), "ab<|endoftext|>c") == "[a][b][<|endoftext|>][c]");
  CHECK(ranges_of(CharTokenizer({'a', 'b'}), "aé<|endoftext|>b") == "[a][é][<|endoftext|>][b]");
  const Json tokenizers = json_of("tokenizers/data/pipeline_tokenizers.json");
  const auto ranges = [&](const char* kind, const std::string& text) {
    const Json added = Json::array({{{"id", 9999},
                                     {"content", "<|x|>"},
                                     {"special", true},
                                     {"lstrip", true},
                                     {"rstrip", true}}});
    return ranges_of(*tokenizer_of(tokenizers, kind, added), text);
  };
  // The name alone, without the white space that the token takes.
  CHECK(ranges("Llama 2", "the <|x|> key") == "[t][he][<|x|>][][k][e][y]");
  CHECK(ranges("blank first", "the key<|x|>") == "[t][he][ ][key][<|x|>]");
  // Composed: one token for two characters.
  CHECK(ranges("Qwen2", "the e\u0301 key").starts_with("[t][he]"));
  CHECK(ranges("Qwen2", "the e\u0301 key").ends_with("[ key]"));
  CHECK(ranges("BERT", "The  naïve KEY").starts_with("[The][na"));
  CHECK(ranges("BERT", "The  naïve KEY").ends_with("[KEY]"));
  CHECK(ranges("Metaspace never, unknown", "the \u4e00\u4e01 key") ==
        "[t][he][ ][\u4e00\u4e01][ key]");
}
}  // namespace chat_tokens_test
