#include "headlight/formats/gguf/gguf_tokenizer.h"
#include "base/json.h"
#include "formats/gguf/gguf_rows.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "support/rows.h"
#include "support/test.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/text_encoder.h"

namespace gguf_tokenizer_test {
using Texts = std::vector<std::string>;

constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUserDefined = 4;
constexpr std::int32_t kByte = 6;

void set(GgufMetadata& metadata, const std::string& key, GgufValue value) {
  set_key(metadata, "tokenizer.ggml." + key, std::move(value));
}

void drop(GgufMetadata& metadata, const std::string& key) {
  drop_key(metadata, "tokenizer.ggml." + key);
}

std::unique_ptr<Tokenizer> tokenizer_of(const GgufMetadata& metadata) {
  const TemporaryFolder folder;
  write_gguf(folder / "m.gguf", metadata, {});
  return open_tokenizer(folder / "m.gguf");
}

// Returns the error about a file, without the file's name.
std::string refusal(const GgufMetadata& metadata) {
  const TemporaryFolder folder;
  write_gguf(folder / "m.gguf", metadata, {});
  const GgufFile file(folder / "m.gguf");
  const std::string message = error_of([&] { gguf_tokenizer(file); });
  const std::size_t name = message.find("m.gguf: ");
  return name == message.npos ? message : message.substr(name + 8);
}

std::string refusal(GgufMetadata metadata, const std::string& key, GgufValue value) {
  set(metadata, key, std::move(value));
  return refusal(metadata);
}

// Ids 0 ... 255 are the bytes, then two blanks, "ab", "12", "<s>", "<|end|>" and "<think>".
GgufMetadata byte_level(const std::string& pre) {
  auto tokens = counted<std::string>(
      256, [&](int byte) { return byte_name(std::string(1, static_cast<char>(byte))); });
  const std::string blank = byte_name(" ");
  tokens.insert(tokens.end(), {blank + blank, "ab", "12", "<s>", "<|end|>", "<think>"});
  std::vector<std::int32_t> types(tokens.size(), 1);
  types[259] = types[260] = kControl;
  types[261] = kUserDefined;
  return {{"general.architecture", "llama"},
          {"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", pre},
          {"tokenizer.ggml.tokens", GgufArray(tokens)},
          {"tokenizer.ggml.token_type", GgufArray(types)},
          {"tokenizer.ggml.merges", GgufArray(Texts{blank + " " + blank, "a b", "1 2"})},
          {"tokenizer.ggml.bos_token_id", std::uint32_t{259}},
          {"tokenizer.ggml.eos_token_id", std::uint32_t{260}}};
}

// <unk>, <s>, </s>, the 256 bytes, then pieces. Within "▁ab", "ab" has a higher score than "▁a".
GgufMetadata sentencepiece() {
  Texts tokens{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types{2, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto place = static_cast<std::size_t>(byte);
    tokens.push_back(std::string("<0x") + kDigits[place / 16] + kDigits[place % 16] + '>');
    types.push_back(kByte);
  }
  tokens.insert(tokens.end(), {"▁a", "ab", "▁ab", "▁", "a", "b", "▁▁", "é"});
  types.resize(tokens.size(), 1);
  std::vector<float> scores(tokens.size(), 0);
  const std::vector<float> of_pieces{-2, -1, -3, -10, -11, -12, -4, -13};
  std::copy(of_pieces.begin(), of_pieces.end(), scores.begin() + 259);
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.pre", "default"},
          {"tokenizer.ggml.tokens", GgufArray(tokens)},
          {"tokenizer.ggml.scores", GgufArray(scores)},
          {"tokenizer.ggml.token_type", GgufArray(types)}};
}

TEST_CASE("a GGUF file whose key `pre` names no model gives a tokenizer with a warning") {
  GgufMetadata none = byte_level("default");
  const std::string said = tokenizer_of(none)->warning();
  CHECK(contains(said,
                 "m.gguf: tokenizer.ggml.pre names no pre-tokenizer: texts are split as in GPT-2"));
  drop(none, "pre");
  CHECK(contains(tokenizer_of(none)->warning(), "tokenizer.ggml.pre names no pre-tokenizer"));
  const std::string text = "ab  12";
  CHECK(tokenizer_of(none)->encode(text) == tokenizer_of(byte_level("gpt-2"))->encode(text));
  CHECK(tokenizer_of(byte_level("gpt-2"))->warning().empty());
  CHECK(tokenizer_of(sentencepiece())->warning().empty());
}

TEST_CASE("a GGUF file defines the special tokens and those that begin and end texts") {
  GgufMetadata metadata = byte_level("smollm");
  const auto tokenizer = tokenizer_of(metadata);
  CHECK(tokenizer->vocab_size() == 262);
  CHECK(tokenizer->end_of_text() == 260);
  CHECK(tokenizer->special_name(259) == "<s>");
  CHECK(tokenizer->special_name(261).empty());
  CHECK(TextEncoder(*tokenizer, true).encode("ab<s><think>") == Ids{257, 259, 261});
  CHECK(tokenizer->decode(Ids{257, 261, 260}) == "ab<think>");
  const auto pieces = tokenizer_of(sentencepiece());
  CHECK(pieces->end_of_text() == 2);
  CHECK(pieces->decode(Ids{261, 3 + '\n', 261}) == "ab\n ab");
  // It works without token types, too.
  drop(metadata, "token_type");
  CHECK(tokenizer_of(metadata)->special_name(260) == "<|end|>");
}

TEST_CASE("of two overlapping merges the one whose token has the higher score is applied") {
  GgufMetadata metadata = sentencepiece();
  auto tokens = std::get<Texts>(std::get<GgufArray>(metadata[2].second));
  tokens[261] = "▁c";  // replaces "▁ab"
  set(metadata, "tokens", GgufArray(tokens));
  CHECK(tokenizer_of(metadata)->encode("ab") == Ids{262, 260});
  auto scores = std::get<std::vector<float>>(std::get<GgufArray>(metadata[3].second));
  scores[260] = -2.5F;
  set(metadata, "scores", GgufArray(scores));
  CHECK(tokenizer_of(metadata)->encode("ab") == Ids{259, 264});
  scores[260] = scores[259];  // equal scores: the first in the file wins
  set(metadata, "scores", GgufArray(scores));
  CHECK(tokenizer_of(metadata)->encode("ab") == Ids{259, 264});
}

// Runs of blanks are spelled with blanks, not marks.
GgufMetadata gemma() {
  GgufMetadata metadata = sentencepiece();
  auto& tokens = std::get<Texts>(std::get<GgufArray>(metadata[2].second));
  auto& scores = std::get<std::vector<float>>(std::get<GgufArray>(metadata[3].second));
  auto& types = std::get<std::vector<std::int32_t>>(std::get<GgufArray>(metadata[4].second));
  tokens[265] = "▁b";  // replaces "▁▁"
  tokens.insert(tokens.end(), {"  ", "   ", "<b>"});
  scores.insert(scores.end(), {-1000, -1000, -1000});
  types.insert(types.end(), {kUserDefined, kUserDefined, kUserDefined});
  metadata.emplace_back("general.architecture", "gemma3");
  metadata.emplace_back("tokenizer.ggml.add_space_prefix", false);
  return metadata;
}

TEST_CASE("Gemma's tokens for runs of blanks are matched first like those for runs of marks") {
  const auto tokenizer = tokenizer_of(gemma());
  CHECK(tokenizer->decode(Ids{267, 264, 268}) == "  b   ");
  CHECK(tokenizer->special_name(267).empty());
  // A run of blanks stays unchanged if its spelling with marks is another token.
  GgufMetadata twice = gemma();
  auto tokens = std::get<Texts>(std::get<GgufArray>(twice[2].second));
  tokens[265] = "▁▁";
  set(twice, "tokens", GgufArray(tokens));
  CHECK(tokenizer_of(twice)->encode("  b") == Ids{267, 264});
  CHECK(tokenizer_of(twice)->encode("\u2581\u2581b") == Ids{265, 264});
}

bool has_pcre2() {
  return !contains(refusal(byte_level("tekken")), "this program was built without it");
}

// Ids of the text (or "prompt" and a text) in the last line of a row, as words. The lines above it
// change keys.
std::string shown_ids(const std::string& kind, const std::string& given) {
  GgufMetadata metadata = kind == "sentencepiece" ? sentencepiece()
                          : kind == "gemma"       ? gemma()
                                                  : byte_level(kind);
  const std::size_t last = given.rfind('\n') + 1;  // 0 without a line break
  for (const std::string& change : lines_of(given.substr(0, last))) {
    metadata = changed_metadata(metadata, "tokenizer.ggml.", change);
  }
  const bool is_prompt = given.substr(last).starts_with("prompt ");
  const std::string text = json::parse(given.substr(last + (is_prompt ? 7 : 0)));
  const auto tokenizer = tokenizer_of(metadata);
  std::string shown;
  for (const std::int32_t id :
       is_prompt ? tokenizer->encode_prompt(text) : tokenizer->encode(text)) {
    shown += (shown.empty() ? "" : " ") + std::to_string(id);
  }
  return shown;
}

TEST_CASE("texts have the ids of their model's pre-tokenizer and of its scores") {
  check_rows("formats/gguf/token_ids.txt", [](const Row& row) {
    std::set<std::string> answers;
    for (const std::string& kind : split_words(row.group)) {
      const bool is_left_out =
          !has_pcre2() && contains(error_of([&] { shown_ids(kind, "\"\""); }), "PCRE2");
      answers.insert(is_left_out ? row.expected : shown_ids(kind, row.given));
    }
    CHECK(answers.size() == 1);
    return *answers.begin();
  });
}

TEST_CASE("patterns of GGUF files that need PCRE2 lose no bytes") {
  if (!has_pcre2()) {
    return;
  }
  for (const char* pre : {"tekken", "gpt-4o", "qwen35", "deepseek-coder", "deepseek-v3",
                          "seed-coder", "bailingmoe", "minicpm5", "laguna", "bloom", "viking"}) {
    const auto tokenizer = tokenizer_of(byte_level(pre));
    const std::string text = "Ab ab\t\r\n 12  aB.ab!漢字가x'LL e\u0301 \u1C89";
    CHECK(tokenizer->decode(tokenizer->encode(text)) ==
          (std::string(pre) == "qwen35" ? "Ab ab\t\r\n 12  aB.ab!漢字가x'LL \u00E9 \u1C89" : text));
  }
}

TEST_CASE("special tokens of GGUF files are never merged") {
  GgufMetadata metadata = sentencepiece();
  auto types = std::get<std::vector<std::int32_t>>(std::get<GgufArray>(metadata[4].second));
  types[260] = kControl;
  set(metadata, "token_type", GgufArray(types));
  CHECK(tokenizer_of(metadata)->encode("bab") == Ids{262, 264, 263, 264});
}

TEST_CASE("a GGUF file's tokenizer is written as a tokenizer.json with the same ids") {
  for (const GgufMetadata& metadata :
       {byte_level("smollm"), byte_level("qwen2"), byte_level("gpt-2"), sentencepiece(), gemma()}) {
    const auto tokenizer = tokenizer_of(metadata);
    const auto again = parse_tokenizer_json(to_tokenizer_json(*tokenizer), "t.json");
    const std::string text = "ab  12 <think> é ab";
    CHECK(again->encode_prompt(text) == tokenizer->encode_prompt(text));
    CHECK(again->end_of_text() == tokenizer->end_of_text());
  }
}

// Returns the keys without the tokenizer.json that is written beside them.
GgufMetadata written_keys(const Tokenizer& tokenizer) {
  GgufMetadata keys = gguf_vocabulary(tokenizer, tokenizer.vocab_size()).keys;
  std::erase_if(keys, [](const auto& key) { return key.first == "tokenizer.huggingface.json"; });
  return keys;
}

template <class T>
std::vector<T> list(const GgufMetadata& metadata, const std::string& key) {
  for (const auto& [name, value] : metadata) {
    if (name == "tokenizer.ggml." + key) {
      return std::get<std::vector<T>>(std::get<GgufArray>(value));
    }
  }
  return {};
}

// A tokenizer.json with some keys changed.
std::unique_ptr<Tokenizer> changed(const GgufMetadata& metadata,
                                   const std::function<void(Json&)>& change) {
  Json root = parse_json(to_tokenizer_json(*tokenizer_of(metadata)), "t.json");
  change(root);
  return parse_tokenizer_json(root.dump(-1, Json::BadUtf8::refused), "t.json");
}

TEST_CASE("SentencePiece's tokens are written with scores, types and bytes") {
  for (const bool prefix : {true, false}) {
    GgufMetadata metadata = sentencepiece();
    set(metadata, "add_space_prefix", prefix);
    const auto tokenizer = tokenizer_of(metadata);
    const GgufMetadata keys = written_keys(*tokenizer);
    CHECK(list<std::string>(keys, "tokens") == list<std::string>(metadata, "tokens"));
    CHECK(list<std::int32_t>(keys, "token_type") == list<std::int32_t>(metadata, "token_type"));
    const std::vector<float> scores = list<float>(keys, "scores");
    CHECK(scores[260] == 0);  // "ab" is merged first
    CHECK(scores[259] == -1);
    CHECK(scores[261] == -2);
    CHECK(scores[265] == -3);
    CHECK(scores[262] < -3);
    const auto again = tokenizer_of(keys);
    for (const char* text : {"ab", "  ab a\n", "bab é<s>", ""}) {
      CHECK(again->encode_prompt(text) == tokenizer->encode_prompt(text));
    }
    CHECK(again->decode(Ids{261, 262, 259}) == tokenizer->decode(Ids{261, 262, 259}));
  }
}

TEST_CASE("added tokens that are runs of SentencePiece's mark are written to GGUF as blanks") {
  const auto tokenizer = changed(gemma(), [](Json& root) {
    root["added_tokens"].push_back({{"id", 267}, {"content", "▁▁"}, {"special", false}});
  });
  GgufMetadata keys = written_keys(*tokenizer);
  CHECK(list<std::string>(keys, "tokens")[267] == "  ");
  CHECK(list<std::int32_t>(keys, "token_type")[267] == kUserDefined);
  CHECK(list<std::string>(keys, "tokens")[268] == "▁▁▁");
  keys.emplace_back("general.architecture", "gemma3");
  CHECK(tokenizer_of(keys)->encode("  b  <b>") == tokenizer->encode("  b  <b>"));
}

TEST_CASE("a Metaspace tokenizer is written with a warning where llama.cpp adds more blanks") {
  const auto with_scheme = [](const char* scheme) {
    return changed(sentencepiece(), [&](Json& root) {
      root["normalizer"] = nullptr;
      root["pre_tokenizer"] = {{"type", "Metaspace"},
                               {"replacement", "▁"},
                               {"prepend_scheme", scheme},
                               {"split", false}};
    });
  };
  const auto first = with_scheme("first");
  CHECK(gguf_vocabulary(*first, 267).warnings.size() == 1);
  CHECK(tokenizer_of(written_keys(*first))->encode("ab ab") == first->encode("ab ab"));
  const auto never = with_scheme("never");
  CHECK(gguf_vocabulary(*never, 267).warnings.empty());
  CHECK(tokenizer_of(written_keys(*never))->encode("ab ab") == never->encode("ab ab"));
}

// Returns the warnings for a tokenizer.json of GPT-2's or Qwen 2's kind with some keys changed.
Texts warnings_of(const char* pre, const std::function<void(Json&)>& change) {
  const auto tokenizer = changed(byte_level(pre), change);
  return gguf_vocabulary(*tokenizer, tokenizer->vocab_size()).warnings;
}

// Returns a change that sets a flag of the last added token, "<think>".
std::function<void(Json&)> with_flag(const char* flag) {
  return [=](Json& root) {
    Json::List added = root["added_tokens"].list();
    added.back()[flag] = true;
    root["added_tokens"] = added;
  };
}

// The tokens that llama.cpp needs in a file with Phi-3's name, then "<|user|>".
GgufMetadata phi3(const std::string& name) {
  GgufMetadata metadata = sentencepiece();
  auto tokens = list<std::string>(metadata, "tokens");
  auto types = list<std::int32_t>(metadata, "token_type");
  auto scores = list<float>(metadata, "scores");
  for (const char* token : {"<|endoftext|>", "<|user|>"}) {
    tokens.emplace_back(token);
    types.push_back(kControl);
    scores.push_back(0);
  }
  set(metadata, "tokens", GgufArray(tokens));
  set(metadata, "token_type", GgufArray(types));
  set(metadata, "scores", GgufArray(scores));
  metadata.emplace_back("general.name", name);
  return metadata;
}

TEST_CASE("steps that llama.cpp does not have are named when a tokenizer is written") {
  CHECK(warnings_of("gpt-2", [](Json&) {}).empty());
  CHECK(warnings_of("qwen2", [](Json&) {}) ==
        Texts{"llama.cpp does not compose characters (NFC): decomposed letters and accents get "
              "other ids"});
  CHECK(warnings_of("gpt-2", with_flag("lstrip")) ==
        Texts{"llama.cpp keeps blanks before special tokens: 1 tokens with lstrip, '<think>' "
              "first, get other ids beside them"});
  CHECK(warnings_of("gpt-2", with_flag("rstrip")).size() == 1);
  CHECK(warnings_of("gpt-2", with_flag("single_word")).size() == 1);
  CHECK(warnings_of("gpt-2", with_flag("normalized")).empty());
}

TEST_CASE("the name of a GGUF file does not choose another tokenizer in llama.cpp") {
  const auto plain = tokenizer_of(byte_level("gpt-2"));
  CHECK(gguf_model_name("toy", *plain) == "toy");
  CHECK(gguf_model_name("my-phi3-ft", *plain) == "my-phi 3-ft");
  CHECK(gguf_model_name("Phi-3 PHI3 Modern-BERT", *plain) == "Phi 3 PHI 3 Modern BERT");
  const auto strips = tokenizer_of(phi3("Phi-3-mini"));
  CHECK(gguf_model_name("toy", *strips) == "Phi-3 toy");
  CHECK(gguf_model_name("my-phi3-ft", *strips) == "my-phi3-ft");
  CHECK(gguf_vocabulary(*strips, strips->vocab_size()).warnings.empty());
}

// llama.cpp of October 2026 gives the same ids: see tools/parity/check_llama_ids.py.
TEST_CASE("special tokens of a GGUF file with Phi-3's name remove the blanks behind them") {
  const auto ids_of = [](const char* name, const char* text) {
    return TextEncoder(*tokenizer_of(phi3(name)), true).encode(text);
  };
  CHECK(ids_of("Phi-3-mini", "<|user|>\n ab") == Ids{268, 261});
  CHECK(ids_of("tiny", "<|user|> ab") == Ids{268, 262, 261});
  CHECK(ids_of("Phi-3-mini", "<s> ab") == ids_of("tiny", "<s> ab"));
}

TEST_CASE("unknown_token_id and add_space_prefix of byte-level BPE survive a folder") {
  GgufMetadata metadata = byte_level("gpt-2");
  set(metadata, "unknown_token_id", std::uint32_t{259});
  set(metadata, "add_space_prefix", false);
  const TemporaryFolder folder;
  save_tokenizer(folder / "hf", *tokenizer_of(metadata));
  const GgufMetadata keys = written_keys(*load_tokenizer(folder / "hf"));
  for (const char* key : {"tokenizer.ggml.unknown_token_id", "tokenizer.ggml.add_space_prefix"}) {
    INFO(key);
    const auto of = [&](const GgufMetadata& in) {
      return std::ranges::find(in, key, &GgufMetadata::value_type::first);
    };
    REQUIRE(of(keys) != keys.end());
    CHECK(of(keys)->second == of(metadata)->second);
  }
}

TEST_CASE("add_eos_token ends prompts, or is named where no token begins them") {
  GgufMetadata metadata = byte_level("gpt-2");
  set(metadata, "add_eos_token", true);
  CHECK(contains(tokenizer_of(metadata)->warning(), "add_eos_token is supported only with"));
  set(metadata, "add_bos_token", true);
  const auto tokenizer = tokenizer_of(metadata);
  CHECK(tokenizer->encode_prompt("ab") == Ids{259, 257, 260});
  CHECK(tokenizer_of(written_keys(*tokenizer))->encode_prompt("ab") == Ids{259, 257, 260});
}

TEST_CASE("tokens without a row of the model are not written for llama.cpp") {
  for (const GgufMetadata& metadata : {byte_level("gpt-2"), sentencepiece()}) {
    const auto tokenizer = tokenizer_of(metadata);
    GgufVocabulary vocabulary = gguf_vocabulary(*tokenizer, 261);
    CHECK(list<std::string>(vocabulary.keys, "tokens").size() == 261);
    REQUIRE(vocabulary.warnings.size() == 1);
    CHECK(contains(vocabulary.warnings[0], " tokens from id 261 on are not written"));
    CHECK(tokenizer_of(vocabulary.keys)->vocab_size() == tokenizer->vocab_size());
    std::erase_if(vocabulary.keys,
                  [](const auto& key) { return key.first == "tokenizer.huggingface.json"; });
    CHECK(tokenizer_of(vocabulary.keys)->vocab_size() == 261);
  }
}

TEST_CASE("merges that scores cannot express are refused for GGUF") {
  const auto refused = [](const std::function<void(Json&)>& change) {
    return error_of([&] { gguf_vocabulary(*changed(sentencepiece(), change), 267); });
  };
  const std::string cannot = "gguf: this tokenizer cannot be expressed: ";
  CHECK(refused([](Json&) {}) == "no error");
  CHECK(refused([](Json& root) {
          root["model"]["merges"] = Json::array({"a b", "▁ a", "▁a b", "▁ ▁"});
        }) == cannot + "llama.cpp merges 2 pairs of tokens into \"▁ab\", this tokenizer 1");
  CHECK(refused([](Json& root) {
          root["model"]["merges"] = Json::array({"a b", "▁ a", "▁a b", "▁ ▁", "▁ ab"});
        }) == cannot +
                  "llama.cpp has one score for all pairs that make \"▁ab\", but other merges come "
                  "between them");
  CHECK(refused([](Json& root) {
          root["normalizer"] = nullptr;
          root["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}};
        }) == cannot + "llama.cpp makes \"▁▁\", but pieces of this tokenizer begin at marks");
  CHECK(refused([](Json& root) {
          root["model"]["byte_fallback"] = false;
        }).starts_with(cannot + "llama.cpp supports only SentencePiece with byte tokens, and "));
}

TEST_CASE("a Unigram tokenizer is refused for GGUF by name") {
  const auto tokenizer = parse_tokenizer_json(
      R"({"added_tokens": [{"id": 0, "content": "</s>", "special": true}], "decoder":
          {"type": "Metaspace", "replacement": "▁"}, "model": {"type": "Unigram", "unk_id": 0,
          "vocab": [["</s>", 0], ["a", -1]]}})",
      "t.json");
  CHECK(tokenizer->encode("aa") == std::vector<std::int32_t>{1, 1});
  CHECK_THROWS_WITH(gguf_vocabulary(*tokenizer, 2), contains_text("its model is Unigram"));
}

TEST_CASE("keys of a GGUF file's tokenizer that cannot be used are refused in one line") {
  check_rows("formats/gguf/tokenizers.txt", [](const Row& row) {
    return refusal(
        changed_metadata(row.group == "sentencepiece" ? sentencepiece() : byte_level(row.group),
                         "tokenizer.ggml.", row.given));
  });
  CHECK(refusal({}) == "tokenizer.ggml.model: expected gpt2 or llama, got \"\"");
  const GgufMetadata bytes = byte_level("smollm");
  CHECK(refusal(bytes, "tokens", GgufArray(Texts{"a", "\xFF"})) ==
        "tokenizer.ggml.tokens: token 1 is not UTF-8");
  CHECK(refusal(bytes, "tokens", GgufArray(Texts(524289, "a"))) ==
        "tokenizer.ggml.tokens: expected 1 to 524288 tokens, got 524289");
  CHECK(refusal(bytes, "merges", GgufArray(Texts{"\xFF b"})) ==
        "tokenizer.ggml.merges: merge 0 is not UTF-8");
  const GgufMetadata pieces = sentencepiece();
  CHECK(refusal(pieces, "scores", GgufArray(std::vector<float>(267, std::nanf("")))) ==
        "tokenizer.ggml.scores: token 0: expected a finite number");
  auto tokens = std::get<Texts>(std::get<GgufArray>(pieces[2].second));
  tokens[259] = std::string(257, 'x');
  CHECK(refusal(pieces, "tokens", GgufArray(tokens)) ==
        "tokenizer.ggml.tokens: token 259: expected at most 256 bytes, got 257");
}
}  // namespace gguf_tokenizer_test
