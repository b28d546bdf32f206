#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/text/bpe_tokenizer.h"
#include "headlight/text/tokenizer_file.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

Json special_token(std::int32_t id, std::string_view content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json added_tokens(const Tokenizer& tokenizer) {
  Json tokens = Json::array();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view name = tokenizer.special_name(id);
    if (!name.empty()) {
      tokens.push_back(special_token(id, name));
    }
  }
  return tokens;
}

// The step that puts <|endoftext|> before a text, or null.
Json post_processor(const Tokenizer& tokenizer) {
  if (!tokenizer.prepends_end_of_text()) {
    return nullptr;
  }
  const Json end = {{"SpecialToken", {{"id", kEndOfTextName}, {"type_id", 0}}}};
  const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  const Json entry = {{"id", kEndOfTextName},
                      {"ids", Json::array({tokenizer.end_of_text()})},
                      {"tokens", Json::array({kEndOfTextName})}};
  Json result = {{"type", "TemplateProcessing"}};
  result["single"] = Json::array({end, first});
  result["pair"] = Json::array({end, first, second});
  result["special_tokens"][std::string(kEndOfTextName)] = entry;
  return result;
}

Json vocabulary(const Tokenizer& tokenizer) {
  const bool in_bytes = tokenizer.kind() != "char";
  Json result = Json::object();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const bool plain = !in_bytes || !tokenizer.special_name(id).empty();
    result.add(plain ? tokenizer.token_label(id) : byte_name(tokenizer.token_bytes(id)), id);
  }
  return result;
}

// As strings, which old and new versions of `tokenizers` read.
Json merges(const BpeTokenizer& tokenizer) {
  Json result = Json::array();
  for (const auto& [left, right] : tokenizer.vocabulary().merges) {
    result.push_back(byte_name(tokenizer.token_bytes(left)) + " " +
                     byte_name(tokenizer.token_bytes(right)));
  }
  return result;
}

Json model(const Tokenizer& tokenizer) {
  Json result = {{"type", "BPE"}, {"dropout", nullptr}, {"unk_token", nullptr}};
  if (tokenizer.unknown()) {
    result["unk_token"] = kUnknownName;
  }
  result["continuing_subword_prefix"] = nullptr;
  result["end_of_word_suffix"] = nullptr;
  result["fuse_unk"] = false;
  result["byte_fallback"] = false;
  result["ignore_merges"] = false;
  result["vocab"] = vocabulary(tokenizer);
  const auto* pairs = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  result["merges"] = pairs == nullptr ? Json::array() : merges(*pairs);
  return result;
}

}  // namespace

std::string to_tokenizer_json(const Tokenizer& tokenizer) {
  const bool pairs = tokenizer.kind() == "bpe";
  const bool bytes = pairs || tokenizer.kind() == "byte";
  require(bytes || tokenizer.kind() == "char", "[to_tokenizer_json] tokenizers of kind ",
          tokenizer.kind(), " cannot be written");
  Json root = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  root["added_tokens"] = added_tokens(tokenizer);
  root["normalizer"] = nullptr;
  root["pre_tokenizer"] = nullptr;
  root["post_processor"] = post_processor(tokenizer);
  root["decoder"] = {{"type", "Fuse"}};
  if (bytes) {
    const Json step = {{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", true},
                       {"use_regex", pairs}};
    root["pre_tokenizer"] = step;
    root["decoder"] = step;
  }
  root["model"] = model(tokenizer);
  return root.dump(2) + "\n";
}

}  // namespace headlight
