#include "headlight/formats/chat_template/chat_model.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "formats/token_rows.h"
#include "headlight/base/error.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

constexpr std::uint64_t kNewRowSeed = 1;

// Returns a copy of the tokenizer with these special tokens after its last id.
std::unique_ptr<Tokenizer> with_special_tokens(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& names) {
  require(tokenizer.kind() == "bpe", "chat_template: a tokenizer of kind ", tokenizer.kind(),
          " takes no special tokens, but the template needs ", escaped(names.front()));
  Json root = parse_json(to_tokenizer_json(tokenizer), "tokenizer.json");
  Json::List added = root["added_tokens"].list();
  Index id = tokenizer.vocab_size();
  for (const std::string& name : names) {
    added.push_back({{"id", id++},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  root["added_tokens"] = added;
  std::unique_ptr<Tokenizer> result = parse_tokenizer_json(
      root.dump(), "tokenizer.json", tokenizer.special_name(tokenizer.end_token().value_or(-1)));
  result->set_prepends_begin_token(tokenizer.prepends_begin_token());
  if (tokenizer.begin_token()) {
    result->set_begin_of_text(*tokenizer.begin_token());
  }
  if (!tokenizer.stop_tokens().empty()) {
    result->set_stop_tokens(tokenizer.stop_tokens());
  }
  result->set_padding(tokenizer.padding());
  return result;
}

// Returns a copy of the model with at least `vocab_size` tokens. Rows from `known` on are new.
std::unique_ptr<Gpt> with_tokens(const Gpt& model, Index known, Index vocab_size) {
  const GptConfig& config = model.config();
  std::unique_ptr<Gpt> result = resized(
      model, {.tokens = std::max(config.vocab_size, vocab_size), .tied = config.tie_weights});
  for (const auto& [weight, tensor] : result->weights()) {
    if (weight.part == Part::token_embedding || weight.part == Part::head) {
      const Tensor rows = tensor.detach();
      fill_new_rows(reshape(rows, {rows.size(0), rows.numel() / rows.size(0)}), known,
                    {kNewRowSeed, weight.part == Part::head ? std::uint64_t{1} : 0});
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> set_chat_template(LoadedModel& loaded, const std::string& source) {
  const ChatFormat given(source, *loaded.tokenizer);
  require(given.problem().empty(), given.problem());
  const std::vector<std::string> names = given.missing_names();
  if (!names.empty()) {
    const Index known = std::min(loaded.tokenizer->vocab_size(), loaded.model->config().vocab_size);
    auto tokenizer = with_special_tokens(*loaded.tokenizer, names);
    loaded.model = with_tokens(*loaded.model, known, tokenizer->vocab_size());
    loaded.tokenizer = std::move(tokenizer);
  }
  loaded.tokenizer->set_chat_template(source);
  std::vector<std::int32_t> ends = loaded.tokenizer->stop_tokens();
  const std::vector<std::int32_t> turn_ends = ChatFormat(source, *loaded.tokenizer).end_tokens();
  ends.insert(ends.end(), turn_ends.begin(), turn_ends.end());
  if (!ends.empty()) {
    loaded.tokenizer->set_stop_tokens(ends);
  }
  return names;
}

}  // namespace headlight
