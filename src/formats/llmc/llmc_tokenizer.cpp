#include "formats/llmc/llmc_tokenizer.h"

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/llmc/llmc_header.h"
#include "headlight/base/error.h"
#include "headlight/tokenizers/bpe_tokenizer.h"
#include "tokenizers/bpe_model.h"

namespace headlight {
namespace {

constexpr std::int32_t kVersionWithoutEnd = 1;  // the end of text is token 50256
constexpr std::int32_t kVersionWithEnd = 2;
constexpr std::int32_t kEndOfGpt2 = 50256;
constexpr std::int32_t kMostTokens = 1 << 19;

LlmcHeader header_of(std::string_view bytes, std::string_view name) {
  LlmcHeader header{};
  require(bytes.size() >= sizeof(header), name, ": expected a header of ", sizeof(header),
          " bytes, got a file of ", bytes.size());
  std::memcpy(header.data(), bytes.data(), sizeof(header));
  require(header[0] == kLlmcTokenizer, name, ": expected a tokenizer of llm.c");
  require(header[1] == kVersionWithoutEnd || header[1] == kVersionWithEnd, name,
          ": version: expected 1 or 2, got ", header[1]);
  require(header[2] > 0 && header[2] <= kMostTokens, name, ": expected 1 to ", kMostTokens,
          " tokens, got ", header[2]);
  return header;
}

// Returns the tokens: a length in one byte, then the bytes, for each.
std::vector<std::string> read_tokens_of(std::string_view bytes, std::int32_t count,
                                        std::string_view name) {
  std::vector<std::string> tokens;
  for (std::int32_t id = 0; id < count; ++id) {
    const std::size_t length = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
    require(length > 0 && length < bytes.size(), name, ": token ", id,
            length == 0 ? " is empty or missing" : " exceeds the file");
    tokens.emplace_back(bytes.substr(1, length));
    bytes.remove_prefix(length + 1);
  }
  require(bytes.empty(), name, ": ", bytes.size(), " bytes follow the last token");
  return tokens;
}

// Finds the merge of each token: with the merges of lower ids, its bytes become two tokens.
class MergesById {
 public:
  MergesById(const std::vector<std::string>& tokens, std::string_view name)
      : model_(tokens.size()), name_(name) {
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].size() == 1) {
        model_.byte_ids[static_cast<unsigned char>(tokens[id][0])] = static_cast<std::int32_t>(id);
      }
    }
    for (const std::int32_t id : model_.byte_ids) {
      require(id >= 0, name_, ": a byte has no token");
    }
  }

  void add(std::string_view token, std::int32_t id) {
    ids_.clear();
    append_tokens(model_, token, ids_);
    require(ids_.size() == 2, name_, ": token ", id, ": ", quoted_text(token), " is not made of ",
            "two tokens of lower ids");
    const BpeMerge merge{ids_[0], ids_[1]};
    model_.merges.at(merge) = {static_cast<std::int32_t>(merges_.size()), id};
    merges_.push_back(merge);
  }

  std::vector<BpeMerge> take() { return std::move(merges_); }

 private:
  BpeModel model_;
  std::string_view name_;
  std::vector<std::int32_t> ids_;
  std::vector<BpeMerge> merges_;
};

}  // namespace

bool is_llmc_tokenizer(const std::filesystem::path& path) {
  return is_llmc_kind(path, kLlmcTokenizer);
}

std::unique_ptr<Tokenizer> parse_llmc_tokenizer(std::string_view bytes, std::string_view name) {
  const LlmcHeader header = header_of(bytes, name);
  const std::int32_t count = header[2];
  const std::int32_t end = header[1] == kVersionWithEnd ? header[3] : kEndOfGpt2;
  require(end >= 0 && end < count, name, ": end of text: expected a token below ", count, ", got ",
          end);
  BpeVocabulary vocabulary;
  vocabulary.tokens = read_tokens_of(bytes.substr(kLlmcHeaderBytes), count, name);
  std::string& end_name = vocabulary.tokens[static_cast<std::size_t>(end)];
  require(end_name == kEndOfTextName, name, ": token ", end, ": expected ", kEndOfTextName,
          ", got ", quoted_text(end_name));
  vocabulary.special = {{std::exchange(end_name, ""), end}};
  MergesById merges(vocabulary.tokens, name);
  for (std::int32_t id = 0; id < count; ++id) {
    const std::string& token = vocabulary.tokens[static_cast<std::size_t>(id)];
    if (token.size() > 1) {
      merges.add(token, id);
    }
  }
  vocabulary.merges = merges.take();
  return std::make_unique<BpeTokenizer>(std::move(vocabulary), name);
}

}  // namespace headlight
