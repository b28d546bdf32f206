#pragma once

#include <memory>
#include <unordered_map>

#include "base/json.h"
#include "headlight/text/bpe_tokenizer.h"
#include "text/vocabulary_reader.h"

namespace headlight {

// Makes a BpeVocabulary of what files hold: names of tokens in byte characters.
class BpeVocabularyBuilder {
 public:
  // Throws Error, which begins with `vocab_key`, when a token is not written in byte characters.
  // The vocabulary must outlive the builder.
  BpeVocabularyBuilder(const Vocabulary& vocabulary, std::string_view vocab_key);

  // The next merge by rank. Throws Error, which begins with `where`, when it has unknown tokens.
  void add_merge(std::string_view left, std::string_view right, std::string_view where);
  // The same of "LEFT RIGHT"; Error when there is not one blank in it.
  void add_merge(std::string_view pair, std::string_view where);

  BpeVocabulary take() { return std::move(result_); }

 private:
  std::int32_t id_of(std::string_view token, std::string_view where) const;

  std::unordered_map<std::string_view, std::int32_t> ids_;
  BpeVocabulary result_;
};

// The byte-level BPE of a tokenizer.json, whose `vocabulary` is read already. Throws Error when the
// file asks for something that would give other ids.
std::unique_ptr<BpeTokenizer> read_bpe_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                                 std::string_view name);

}  // namespace headlight
