#include "base/json.h"
#include "formats/sentencepiece/sentencepiece_tokenizer.h"
#include "support/test.h"
#include "tokenizers/text_encoder.h"

namespace sentencepiece_test {
const fs::path kModels = HEADLIGHT_SOURCE_DIR "/tests/formats/sentencepiece";
constexpr const char* kNames[] = {"unigram",   "unigram_rules", "unigram_bytes",
                                  "bpe_llama", "bpe_rules",     "bpe_gemma"};

std::string model_bytes(const std::string& name) {
  return file_contents(kModels / (name + ".model"));
}

Ids ids_of(const Json& list) {
  return mapped<std::int32_t>(
      list, [&](const Json& id) { return static_cast<std::int32_t>(id.integer()); });
}

// A field of a protocol buffer with a length of one byte.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string whole(int number, int value) {
  const std::string key = number < 16 ? std::string(1, static_cast<char>(number << 3))
                                      : std::string{static_cast<char>((number << 3 & 0x7F) | 0x80),
                                                    static_cast<char>(number >> 4)};
  return key + static_cast<char>(value);
}
std::string piece(const std::string& name, int type,
                  const std::string& score = std::string(4, '\0')) {
  return field(1, field(1, name) + "\x15" + score + whole(3, type));
}
const std::string kUnknownPiece = piece("<unk>", 2);

std::string refusal(const std::string& bytes) {
  return error_of([&] { sentencepiece_tokenizer(bytes, "m"); });
}

TEST_CASE("tokenizer.model gives the ids and texts of SentencePiece") {
  for (const std::string name : kNames) {
    const auto tokenizer = sentencepiece_tokenizer(model_bytes(name), name);
    const auto written = parse_tokenizer_json(to_tokenizer_json(*tokenizer), "written");
    CHECK(tokenizer->kind() == (name.starts_with("bpe") ? "bpe" : "unigram"));
    for (const Json& entry : parse_json(file_contents(kModels / (name + ".json")), name)) {
      INFO(name << ": " << entry["text"].text());
      const Ids ids = ids_of(entry["ids"]);
      CHECK(tokenizer->encode_bytes(entry["text"].text()) == ids);
      CHECK(written->encode_bytes(entry["text"].text()) == ids);
      CHECK(TextEncoder(*tokenizer, false).encode(entry["text"].text()) == ids);
      const auto unknown = tokenizer->unknown();
      const bool has_mark = entry["text"].text().starts_with("\u2581");  // SentencePiece drops it
      if (!has_mark && (!unknown || std::find(ids.begin(), ids.end(), *unknown) == ids.end())) {
        CHECK(tokenizer->decode(ids) == entry["decoded"].text());
      }
    }
  }
}

TEST_CASE("the settings beside a tokenizer.model add tokens") {
  const TemporaryFolder folder;
  write_bytes(folder / "tokenizer.model", model_bytes("bpe_llama"));
  const auto alone = load_tokenizer(folder.path());
  CHECK(alone->prepends_begin_token());
  CHECK(alone->special_name(alone->begin_of_text()) == "<s>");
  CHECK(alone->end_token() == alone->special_id("</s>"));
  const auto next = static_cast<std::int32_t>(alone->vocab_size());
  write_bytes(folder / "tokenizer_config.json",
              R"({"add_bos_token": false, "eos_token": "<|end|>", "added_tokens_decoder": {")" +
                  std::to_string(next) + R"(": {"content": "<|end|>", "special": true}}})");
  const auto tokenizer = open_tokenizer(folder.path());
  CHECK(tokenizer->vocab_size() == next + 1);
  CHECK(tokenizer->end_token() == next);
  CHECK_FALSE(tokenizer->prepends_begin_token());
  const Ids ids = tokenizer->encode_bytes("the<|end|>", {.read_special = true});
  CHECK(ids.back() == next);
  CHECK(open_tokenizer(folder / "tokenizer.model")
            ->encode_bytes("the<|end|>", {.read_special = true}) == ids);
  write_bytes(folder / "tokenizer_config.json",
              R"({"added_tokens_decoder": {"1": {"content": "<x>"}}})");
  CHECK(
      contains(error_of([&] { load_tokenizer(folder.path()); }),
               "tokenizer.model: token 1 is \"<s>\", but tokenizer_config.json calls it \"<x>\""));
  fs::remove(folder / "tokenizer_config.json");
  write_bytes(folder / "added_tokens.json", R"({"<pad>": 9999})");
  CHECK(contains(error_of([&] { load_tokenizer(folder.path()); }), "\"<pad>\": expected id "));
}

TEST_CASE("tokenizer.model is refused with one line") {
  CHECK(contains(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
                 "m: is a pointer of Git LFS"));
  CHECK(refusal("") == "m: expected 1 to 524288 tokens, got 0");
  CHECK(refusal("\x0a\x05"
                "ab") == "m: ends inside of a field");
  CHECK(refusal("\x0b") == "m: field 1 has the unknown type 3");
  CHECK(refusal(std::string(11, '\xff')) == "m: a number has more than 10 bytes");
  CHECK(refusal("\x08\x01") == "m: field 1: expected bytes, got another type");
  CHECK(refusal(piece("a", 1)) == "m: has no unknown token");
  CHECK(refusal(kUnknownPiece + kUnknownPiece) == "m: \"<unk>\" is token 0 and token 1");
  CHECK(refusal(kUnknownPiece + piece("a", 9)) == "m: token 1: expected a type from 1 to 6, got 9");
  CHECK(refusal(kUnknownPiece + piece("a", 6)) == "m: token 1: expected a name like <0x41>");
  CHECK(refusal(kUnknownPiece + piece("a", 1, std::string("\0\0\x80\x7f", 4))) ==
        "m: token 1: expected a score between -1e20 and 1e20");
  CHECK(refusal(kUnknownPiece + field(2, whole(3, 3))) ==
        "m: model_type: expected 1 (unigram) or 2 (BPE), got 3");
  CHECK(refusal(kUnknownPiece + field(2, whole(3, 2)) + piece("a", 5)) ==
        "m: token 1: unused tokens of BPE models are not supported");
  CHECK(refusal(kUnknownPiece + field(2, whole(24, 1))) ==
        "m: treat_whitespace_as_suffix is not supported");
  CHECK(refusal(kUnknownPiece + field(3, whole(5, 0))) ==
        "m: escape_whitespaces = false is not supported");
  CHECK(contains(refusal(kUnknownPiece + field(3, field(2, "abcdefgh"))), "does not fit in 4"));
}

TEST_CASE("unused tokens are never chosen and user-defined ones always") {
  const std::string minus_one("\0\0\x80\xbf", 4);
  const std::string minus_nine("\0\0\x10\xc1", 4);
  const std::string model = kUnknownPiece + piece("\u2581", 1, minus_one) +
                            piece("a", 1, minus_one) + piece("b", 1, minus_one) +
                            piece("ab", 5, minus_one) + piece("bb", 4, minus_nine);
  const auto tokenizer = sentencepiece_tokenizer(model, "m");
  CHECK(tokenizer->encode_bytes("ab") == Ids{1, 2, 3});
  CHECK(tokenizer->encode_bytes("abb") == Ids{1, 2, 5});
  CHECK(tokenizer->encode_bytes("xya") == Ids{1, 0, 2});
}
}  // namespace sentencepiece_test
