#include "text/bpe_reader.h"

#include <utility>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/text/bpe_pattern.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

void add_merges(const Json& merges, BpeVocabularyBuilder& builder, std::string_view name) {
  const std::string key = at(name, "model.merges");
  for (const Json& merge : merges) {
    if (merge.is_string()) {
      builder.add_merge(merge.text(), key);
      continue;
    }
    const bool pair =
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!pair) {
      fail(key, ": expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"], got ",
           quoted_text(merge.dump()));
    }
    builder.add_merge(merge[0].text(), merge[1].text(), key);
  }
}

// Special tokens that take blanks along or heed what stands beside them are others than ours. With
// one value of "normalized" for all, and no normalizer, all are looked for at once, as we do.
void require_plain_names(const Json& added, std::string_view name) {
  const std::string key = at(name, "added_tokens");
  for (const Json& entry : added) {
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      require(entry.value(flag, Json(false)) == Json(false), key, ": ", flag, ": expected false");
    }
    const bool same =
        entry.value("normalized", Json(false)) == added.front().value("normalized", Json(false));
    require(same, key, ": normalized: expected one value for all tokens");
  }
}

// A file with ignore_merges takes a piece that is a token as it is. That makes no difference when
// the merges lead there, too.
void require_reachable_pieces(const BpeTokenizer& tokenizer, std::string_view name) {
  const auto& tokens = tokenizer.vocabulary().tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool piece = !tokens[i].empty() && bpe_piece_length(tokens[i]) == tokens[i].size();
    const bool reached =
        !piece || tokenizer.encode_bytes(tokens[i]) == std::vector{static_cast<std::int32_t>(i)};
    if (!reached) {
      fail(at(name, "model.ignore_merges"), ": expected false, since the merges do not lead to ",
           quoted_text(byte_name(tokens[i])));
    }
  }
}

}  // namespace

BpeVocabularyBuilder::BpeVocabularyBuilder(const Vocabulary& vocabulary,
                                           std::string_view vocab_key) {
  const auto& names = vocabulary.tokens;
  ids_.reserve(names.size());
  for (std::size_t id = 0; id < names.size(); ++id) {
    ids_.emplace(names[id], static_cast<std::int32_t>(id));
  }
  for (const std::string& special : vocabulary.specials) {
    result_.special.push_back({special, ids_.at(special)});
  }
  result_.tokens.resize(names.size());
  std::vector<bool> special(names.size(), false);
  for (const SpecialToken& token : result_.special) {
    special[static_cast<std::size_t>(token.id)] = true;
  }
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (special[id]) {
      continue;
    }
    auto bytes = bytes_of_name(names[id]);
    if (!bytes) {
      fail(vocab_key, ": ", quoted_text(names[id]), " is not written in GPT-2's byte characters");
    }
    result_.tokens[id] = std::move(*bytes);
  }
}

std::int32_t BpeVocabularyBuilder::id_of(std::string_view token, std::string_view where) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) {
    fail(where, ": merge ", result_.merges.size(), ": ", quoted_text(token),
         " is not in the vocabulary");
  }
  return found->second;
}

void BpeVocabularyBuilder::add_merge(std::string_view left, std::string_view right,
                                     std::string_view where) {
  result_.merges.push_back({id_of(left, where), id_of(right, where)});
}

void BpeVocabularyBuilder::add_merge(std::string_view pair, std::string_view where) {
  const std::size_t blank = pair.find(' ');
  if (blank == std::string_view::npos || pair.find(' ', blank + 1) != std::string_view::npos) {
    fail(where, ": merge ", result_.merges.size(),
         ": expected two tokens with a blank between, got ", quoted_text(pair));
  }
  add_merge(pair.substr(0, blank), pair.substr(blank + 1), where);
}

std::unique_ptr<BpeTokenizer> read_bpe_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                                 std::string_view name) {
  const Json& model = root["model"];
  const bool dropout = !is_null(model, "dropout") && model["dropout"] != Json(0);
  require(!dropout, at(name, "model.dropout"), ": expected null");
  require_plain_names(root["added_tokens"], name);
  BpeVocabularyBuilder builder(vocabulary, at(name, "model.vocab"));
  add_merges(model["merges"], builder, name);
  auto tokenizer = std::make_unique<BpeTokenizer>(builder.take(), at(name, "model"));
  if (model.value("ignore_merges", Json(false)) != Json(false)) {
    require_reachable_pieces(*tokenizer, name);
  }
  return tokenizer;
}

}  // namespace headlight
