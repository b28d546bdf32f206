#include "runs/new_tokens.h"

#include <algorithm>
#include <set>

#include "base/transformed.h"
#include "formats/token_rows.h"
#include "headlight/datasets/learned_tokens.h"
#include "tokenizers/special_names.h"

namespace headlight {
namespace {

// Returns the ids of the special tokens in a dataset, in ascending order.
std::vector<std::int32_t> special_tokens_in(const TokenDataset& data, const Tokenizer& tokenizer) {
  const std::vector<std::int32_t> ids = transformed(special_tokens_of(tokenizer), &AddedToken::id);
  const std::set<std::int32_t> special(ids.begin(), ids.end());
  std::set<std::int32_t> found;
  for (const TokenSequence& sequence : data.sequences) {
    sequence.for_each_part([&](std::span<const std::int32_t> part) {
      for (const std::int32_t token : part) {
        if (token != kPairBreak && special.contains(id_of(token))) {
          found.insert(id_of(token));
        }
      }
    });
  }
  return {found.begin(), found.end()};
}

// Returns the special tokens of the data that have an unformed row in the embedding or the head.
std::vector<std::int32_t> new_tokens(const RunStart& start, const Gpt& model) {
  const std::vector<std::int32_t> special =
      special_tokens_in(start.data.train, *start.data.tokenizer);
  const std::vector<std::int32_t> tokens =
      untrained_rows(model.weight(Part::token_embedding), special);
  if (model.config().tie_weights) {
    return tokens;
  }
  const std::vector<std::int32_t> of_head = untrained_rows(model.head_weight(), special);
  std::set<std::int32_t> all(tokens.begin(), tokens.end());
  all.insert(of_head.begin(), of_head.end());
  return {all.begin(), all.end()};
}

std::string names_of_tokens(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer) {
  constexpr std::size_t kShown = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(tokens.size(), kShown); ++i) {
    names += (i > 0 ? ", " : "") + escaped(std::string(tokenizer.special_name(tokens[i])));
  }
  return tokens.size() > kShown ? concat_text(names, " and ", tokens.size() - kShown, " more")
                                : names;
}

bool is_frozen(const Gpt& model, std::string_view parameter) {
  const NamedTensors parameters = model.parameters();
  const auto found = std::ranges::find(parameters, parameter, &NamedTensors::value_type::first);
  return found != parameters.end() && !found->second.requires_grad();
}

}  // namespace

void train_new_tokens(RunStart& start, Gpt& model) {
  const bool has_frozen = is_frozen(model, "wte.weight") || is_frozen(model, "lm_head.weight");
  const bool is_done =
      start.adapter && (!start.checkpoint.empty() || !start.adapter->tokens.empty());
  if (!has_frozen || is_done) {
    return;
  }
  const std::vector<std::int32_t> tokens = new_tokens(start, model);
  if (tokens.empty()) {
    return;
  }
  const std::string names = names_of_tokens(tokens, *start.data.tokenizer);
  if (!start.adapter) {
    start.warnings.push_back(concat_text("train: the model has not learned the tokens ", names,
                                         ", and their rows are frozen; add wte",
                                         model.config().tie_weights ? "" : " and lm_head",
                                         " to the parts"));
    return;
  }
  if (model.head_bias().defined()) {  // PEFT trains no rows of such a head
    start.warnings.push_back("the head of this model has a bias, so its rows of the tokens " +
                             names + " stay frozen; without lora_rank they are trained");
  }
  if (model.head_bias().defined() && model.config().tie_weights) {
    return;
  }
  model.train_rows(tokens);
  start.adapter->tokens = tokens;
  start.notes.push_back(
      "the adapter also trains the rows of tokens that the model has not learned: " + names);
}

}  // namespace headlight
