#include "support/test.h"
#include "tokenizers/text_encoder.h"

namespace pipeline_tokenizer_test {
// Written by Hugging Face `tokenizers`: see tools/parity/make_tokenizer_data.py.
json all_kinds() {
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/tokenizers/data/pipeline_tokenizers.json");
  REQUIRE(file.is_open());
  return json::parse(file);
}

json kind(const std::string& name) {
  for (const json& entry : all_kinds()) {
    if (entry["kind"] == name) {
      return entry["tokenizer"];
    }
  }
  FAIL("no tokenizer " << name);
  return {};
}

std::unique_ptr<Tokenizer> tokenizer_of(const std::string& name) {
  return parse_tokenizer_json(kind(name).dump(), "t.json");
}

// Returns a byte-level tokenizer file like GPT-2's.
json gpt2_kind() {
  json file = kind("Qwen2");
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  file["post_processor"] = nullptr;
  return file;
}

std::string refusal(json file, const char* place, const json& value) {
  file[json::json_pointer(place)] = value;
  return error_of([&] { parse_tokenizer_json(file.dump(), "t.json"); });
}

TEST_CASE("ids and texts of tokenizers of other models are those of Hugging Face") {
  const json kinds = all_kinds();
  REQUIRE(kinds.size() == 15);
  for (const json& entry : kinds) {
    const auto tokenizer = parse_tokenizer_json(entry["tokenizer"].dump(), "t.json");
    const TextEncoder encoder(*tokenizer, true);
    for (const json& expected : entry["cases"]) {
      const auto ids = expected["ids"].get<Ids>();
      INFO(entry["kind"] << ": " << expected["text"]);
      CHECK(encoder.encode(expected["text"].get<std::string>()) == ids);
      if (!tokenizer->unknown()) {
        CHECK(tokenizer->decode(ids) == expected["decoded"].get<std::string>());
      }
    }
    INFO(entry["kind"]);
    Ids prompt = entry["prompt"].get<Ids>();
    if (entry["kind"] == "T5") {
      prompt.pop_back();  // </s>, which would end the text that a model continues
    }
    CHECK(tokenizer->encode_prompt("The end") == prompt);
  }
}

// Ids of Hugging Face `tokenizers` 0.23.3 with encode_special_tokens = True.
TEST_CASE("the name of the unknown token in a text belongs to the unknown characters around it") {
  const auto ids = [](const char* name, std::string_view text) {
    return tokenizer_of(name)->encode(text);
  };
  CHECK(ids("T5", "ほ<unk>\x0b") == Ids{6, 2});
  CHECK(ids("T5", "<unk><unk> <unk>") == Ids{6, 2, 6, 2});
  const char* bytes = "converted from SentencePiece";
  CHECK(ids(bytes, "<unk>") == Ids{6, 2});
  CHECK(ids(bytes, "ほ<unk>\x0b") == Ids{6, 276, 178, 236, 109, 166, 159, 156, 111});
  CHECK(ids(bytes, "<unk><unk> <unk>") ==
        Ids{6, 109, 166, 159, 156, 111, 109, 166, 159, 156, 111, 6, 2});
  // U+061D and U+2E43 are punctuation since Unicode 14 and 9, U+166D was until Unicode 12.
  CHECK(ids("words", "a\u166d1\u061d \u2e43!") == Ids{4, 0, 0, 0, 0, 5});
}

TEST_CASE("streamed pieces of every kind of tokenizer equal the decoded text") {
  for (const json& entry : all_kinds()) {
    const auto tokenizer = parse_tokenizer_json(entry["tokenizer"].dump(), "t.json");
    for (const json& expected : entry["cases"]) {
      const auto ids = expected["ids"].get<Ids>();
      StreamingDecoder decoder(*tokenizer);
      std::string joined;
      for (const std::int32_t id : ids) {
        const std::string part = decoder.push(id);
        REQUIRE_NOTHROW(require_utf8(part, "part"));
        joined += part;
      }
      INFO(entry["kind"] << ": " << expected["text"]);
      CHECK(joined + decoder.finish() == tokenizer->decode(ids));
    }
  }
}

TEST_CASE("a text that continues another keeps the blank before its first word") {
  const auto tokenizer = tokenizer_of("Llama 2");
  const Ids ids = tokenizer->encode("time");
  CHECK(tokenizer->decode(ids) == "time");
  StreamingDecoder decoder(*tokenizer, true);
  std::string text;
  for (const std::int32_t id : ids) {
    text += decoder.push(id);
  }
  CHECK(text + decoder.finish() == " time");
}

TEST_CASE("long texts encoded on all threads in parts have the ids of the whole") {
  std::string text;
  while (text.size() < 3'000'000) {
    text += "They're sure: it's 12345!\r\n\n  The end e\xCC\x81 \xED\x95\x9C.";
  }
  for (const char* name : {"Llama 2", "Qwen2", "Gemma 3", "SmolLM2"}) {
    const auto tokenizer = tokenizer_of(name);
    INFO(name);
    CHECK(TextEncoder(*tokenizer, false).encode(text) == tokenizer->encode(text));
  }
}

TEST_CASE("the file of another model's tokenizer is written as it was read") {
  for (const json& entry : all_kinds()) {
    const std::string file = entry["tokenizer"].dump(1);
    const auto tokenizer = parse_tokenizer_json(file, "t.json");
    CHECK(to_tokenizer_json(*tokenizer) == file);
    tokenizer->set_prepends_begin_token(!tokenizer->prepends_begin_token());
    const auto changed = parse_tokenizer_json(to_tokenizer_json(*tokenizer), "t.json");
    CHECK(changed->encode_prompt("The end") == tokenizer->encode_prompt("The end"));
  }
}

TEST_CASE("bytes that are no character are restored by tokenizers with byte tokens") {
  const std::string bytes = "a\xFF\xED\x95 b";
  for (const char* name : {"Llama 3", "Llama 2", "Gemma 3", "GPT-NeoX"}) {
    const auto tokenizer = tokenizer_of(name);
    INFO(name);
    CHECK(tokenizer->decode_bytes(TextEncoder(*tokenizer, false).encode(bytes)) == bytes);
  }
}

TEST_CASE("a merge listed twice has its last rank as in Hugging Face") {
  const std::string text = "They're sure: it's 12345! The end of the world\xED\x95\x9C.";
  for (json file : {kind("Llama 2"), kind("Qwen2"), kind("SmolLM2"), gpt2_kind()}) {
    const Ids expected = parse_tokenizer_json(file.dump(), "t.json")->encode(text);
    const json merges = file["model"]["merges"];
    json twice = merges;
    std::reverse(twice.begin(), twice.end());
    twice.insert(twice.end(), merges.begin(), merges.end());
    file["model"]["merges"] = twice;
    CHECK(parse_tokenizer_json(file.dump(), "t.json")->encode(text) == expected);
  }
}

TEST_CASE("added tokens behind a gap have the ids that Hugging Face gives them, with a warning") {
  for (const char* name : {"Qwen2", "GPT-2"}) {
    INFO(name);
    json file = name == std::string("GPT-2") ? gpt2_kind() : kind(name);
    const auto next = static_cast<int>(parse_tokenizer_json(file.dump(), "t.json")->vocab_size());
    for (const auto& [content, id] : {std::pair("<x>", next + 5), std::pair("<y>", next + 9)}) {
      file["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
    }
    const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
    CHECK(tokenizer->vocab_size() == next + 2);
    CHECK(tokenizer->special_id("<x>") == next);
    CHECK(tokenizer->special_id("<y>") == next + 1);
    CHECK(tokenizer->warning() == "t.json: added_tokens: \"<x>\" has id " +
                                      std::to_string(next + 5) +
                                      " in the file, but is used with id " + std::to_string(next) +
                                      ", as in Hugging Face tokenizers");
  }
}

// Hugging Face tokenizers 0.23 gives "<think>" the id 300 in both files; in the second one, a token
// of the vocabulary has it, too.
TEST_CASE("added tokens follow the number of tokens even if the vocabulary has gaps") {
  for (const bool gpt2 : {false, true}) {
    INFO(gpt2);
    json file = gpt2 ? gpt2_kind() : kind("Qwen2");
    const Ids ids = parse_tokenizer_json(file.dump(), "t.json")->encode("aus der <think>");
    for (json& id : file["model"]["vocab"]) {
      id = id == 299 ? 320 : id.get<int>();
    }
    const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
    CHECK(tokenizer->encode("aus der <think>") == ids);
    CHECK(ids.back() == 300);
    CHECK(tokenizer->decode(ids) == "aus der <think>");
    CHECK(tokenizer->vocab_size() == 321);
    CHECK(tokenizer->token_bytes(299).empty());
    CHECK(tokenizer->warning().empty());
    CHECK(to_tokenizer_json(*tokenizer) == file.dump());
    for (json& id : file["model"]["vocab"]) {
      id = id == 320 ? 300 : id.get<int>();
    }
    CHECK(refusal(file, "/version", "1.0").ends_with("have the same id 300"));
  }
}

TEST_CASE("added tokens have at most 1024 bytes") {
  CHECK(refusal(kind("Qwen2"), "/added_tokens/0/content", std::string(1025, 'x')) ==
        "t.json: added_tokens: expected tokens of at most 1024 bytes, got one of 1025");
}

constexpr const char* kPattern = "/pre_tokenizer/pretokenizers/0/pattern/Regex";

std::unique_ptr<Tokenizer> with_pattern(const std::string& pattern) {
  json file = kind("Qwen2");
  file[json::json_pointer(kPattern)] = pattern;
  return parse_tokenizer_json(file.dump(), "t.json");
}

bool has_pcre2() {
  return refusal(kind("Qwen2"), kPattern, "[a-z]+|\\s").find("PCRE2") == std::string::npos;
}

TEST_CASE("patterns without code in Headlight are matched by PCRE2 or refused") {
  const json file = kind("Qwen2");
  if (!has_pcre2()) {
    CHECK(refusal(file, kPattern, "[a-z]+|\\s") ==
          "t.json: pre_tokenizer.pattern: pattern \"[a-z]+|\\\\s\" needs PCRE2, and this program "
          "was built without it (Debian: libpcre2-dev)");
    return;
  }
  CHECK(refusal(file, kPattern, "[a-z]+|\\s") == "no error");
  CHECK(refusal(file, kPattern, "(a").starts_with("t.json: pre_tokenizer.pattern: pattern "));
  CHECK(contains(refusal(file, kPattern, "a&&b"), "&& is not supported"));
  CHECK(refusal(file, kPattern, "a{999}|b{1,2}|\\x{1100}") == "no error");
  for (const char* pattern : {"a{1000}", "a{1,1000}"}) {
    CHECK(refusal(file, kPattern, pattern)
              .ends_with("expected repetition counts of at most 3 digits"));
  }
}

TEST_CASE("patterns that take more than linear time end in an error that names them") {
  if (!has_pcre2()) {
    return;
  }
  const auto message = [](const std::string& pattern, const std::string& text) {
    try {
      with_pattern(pattern)->encode(text);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(message("a*b|.", std::string(200'000, 'a')) ==
        "[encode] t.json: pre_tokenizer.pattern: the pattern takes more than 40003200 steps on a "
        "text of 200000 bytes");
  for (const char* pattern : {"(a+)+$|(?:(?:x?){30}){30}y", "(?=a*+)a", "(?:a|b)*c|.", "a*?c|."}) {
    INFO(pattern);
    CHECK(!message(pattern, std::string(20'000, 'a') + "b").empty());
  }
  CHECK(message("a*b|.", std::string(200'000, 'a') + "b").empty());
}

// Long runs of characters that several parts of a pattern match.
TEST_CASE("patterns of known models take linear time on runs of any character") {
  if (!has_pcre2()) {
    return;
  }
  const std::string nemo =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string deepseek =
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  for (const std::string& pattern : {nemo, deepseek}) {
    const auto tokenizer = with_pattern(pattern);
    for (const char* unit : {" ", "A", "a", "Ab", "漢", "!", "\n", "1", "x!", " \n", "\u2028"}) {
      const std::string text = repeated(unit, 250'000);
      CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
    }
  }
}

TEST_CASE("patterns see the characters of Unicode 16, whatever version PCRE2 has") {
  if (!has_pcre2()) {
    return;
  }
  // Upper- and lower-case letters, a mark, a number, a symbol and ideographs, new in 15 to 16.
  const std::string text = "\u1C89\u1C8A\u0897\U0001CCF0\U0001F6DC\U0002EBF0\U00031350";
  const auto without = [&](const std::string& pattern) {
    json file = kind("Qwen2");
    file[json::json_pointer(kPattern)] = pattern;
    file["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
    const auto tokenizer = parse_tokenizer_json(file.dump(), "t.json");
    return tokenizer->decode(tokenizer->encode(text));
  };
  CHECK(without("\\p{Lu}") == text.substr(3));
  CHECK(without("\\P{Ll}") == "\u1C8A");
  CHECK(without("\\P{M}") == "\u0897");
  CHECK(without("\\P{Nd}") == "\U0001CCF0");
  CHECK(without("\\P{So}") == "\U0001F6DC");
  CHECK(without("\\P{Lo}") == "\U0002EBF0\U00031350");
  CHECK(without("\\P{Han}") == "\U0002EBF0\U00031350");
}
}  // namespace pipeline_tokenizer_test
