#include "formats/tokenizers/word_level.h"

#include "base/json.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"

namespace headlight {

WordLevel::WordLevel(const std::vector<std::string>& names, std::int32_t unknown)
    : unknown_(unknown) {
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (!names[id].empty()) {
      ids_.emplace(names[id], static_cast<std::int32_t>(id));
    }
  }
}

void WordLevel::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  const auto found = ids_.find(word);
  require(found != ids_.end() || unknown_ >= 0, "[encode] ", in_quotes(word), " is not one of the ",
          ids_.size(), " tokens, and none stands for unknown words");
  ids.push_back(found != ids_.end() ? found->second : unknown_);
}

std::unique_ptr<Tokenizer> number_tokenizer(Index count) {
  Json vocabulary = Json::object();
  for (Index id = 0; id < count; ++id) {
    vocabulary.add(std::to_string(id), id);
  }
  // Hugging Face's library requires unk_token, even if the vocabulary lacks it.
  const Json file{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unk>"}}}};
  return parse_tokenizer_json(file.dump(), "vocabulary by number");
}

}  // namespace headlight
