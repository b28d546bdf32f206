#include "cli/terminal/speculation_option.h"

#include <filesystem>

#include "cli/terminal/text_data.h"
#include "headlight/generate/weights.h"

namespace headlight::cli {

void add_speculate_option(Options& options) {
  options.value(
      "speculate",
      "Guess tokens to generate several in a step: ngram or ngram:N repeats what followed "
      "the last N tokens before; MODEL is a smaller model with the same tokenizer");
}

Speculation::Speculation(const Options& options) {
  const std::string value = options.text("speculate");
  if (value.empty()) {
    return;
  }
  if (value.starts_with("ngram") && !std::filesystem::exists(value)) {
    ngrams_ = named_drafter(value);
  } else {
    model_ = load_model_with_warnings(value, {.matrices = options.chosen<MatrixForm>("weights")});
    decoder_.emplace(*model_->model);
  }
}

MakeDrafter Speculation::drafter(const Tokenizer& tokenizer) {
  return decoder_ ? model_drafter(*decoder_, *model_->tokenizer, tokenizer) : ngrams_;
}

}  // namespace headlight::cli
