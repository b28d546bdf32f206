#include "headlight/formats/chat_template/chat_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"

namespace headlight {
namespace {

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

// Fills the rows from `known` on with the mean of the rows before.
void fill_with_mean(Tensor& rows, Index known) {
  const Index width = rows.numel() / rows.size(0);
  float* data = rows.data<float>();
  std::vector<double> sum(static_cast<std::size_t>(width));
  for (Index row = 0; row < known; ++row) {
    for (Index i = 0; i < width; ++i) {
      sum[static_cast<std::size_t>(i)] += static_cast<double>(data[row * width + i]);
    }
  }
  for (Index row = known; row < rows.size(0); ++row) {
    for (Index i = 0; i < width; ++i) {
      data[row * width + i] =
          static_cast<float>(sum[static_cast<std::size_t>(i)] / static_cast<double>(known));
    }
  }
}

// Returns a copy of the model with at least `vocab_size` tokens. Rows from `known` on are new.
std::unique_ptr<Gpt> with_tokens(const Gpt& model, Index known, Index vocab_size) {
  GptConfig config = model.config();
  config.vocab_size = std::max(config.vocab_size, vocab_size);
  std::unique_ptr<Gpt> result = Gpt::blank(config);
  const NamedTensors parameters = result->parameters();
  const std::map<std::string, Tensor> into(parameters.begin(), parameters.end());
  for (const ModelWeight& weight : model.weights()) {
    Tensor target = into.at(weight.weight.name);
    const auto* source = weight.tensor.data<float>();
    std::copy(source, source + weight.tensor.numel(), target.data<float>());
    if (weight.weight.part == Part::token_embedding || weight.weight.part == Part::head) {
      fill_with_mean(target, known);
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
    const Index known = loaded.tokenizer->vocab_size();
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
