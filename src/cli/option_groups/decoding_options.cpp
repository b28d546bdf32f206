#include "cli/option_groups/decoding_options.h"

#include <filesystem>
#include <utility>

#include "cli/option_groups/text_data.h"

namespace headlight::cli {

void add_precision_options(Options& options, const std::string& precision) {
  options
      .choice("weights", precision + " of the weight matrices", kChoiceNames<MatrixForm>, "stored")
      .choice("cache_type",
              precision +
                  " of cached keys and values (default: float32 with float32 weights, "
                  "else float16)",
              kChoiceNames<CacheType>);
}

void add_decoding_options(Options& options) {
  add_precision_options(options);
  options.value(
      "speculate",
      "Guess tokens to generate several in a step: ngram or ngram:N repeats what followed "
      "the last N tokens before; MODEL is a smaller model with the same tokenizer");
}

Decoding::Decoding(const Options& options)
    : matrices_(options.chosen<MatrixForm>("weights")),
      cache_type_(options.given("cache_type")
                      ? std::optional(options.chosen<CacheType>("cache_type"))
                      : std::nullopt),
      speculate_(options.has("speculate") ? options.text("speculate") : ""),
      base_(base_option(options, speculate_)) {}

void Decoding::load() {
  if (speculate_.empty() || ngrams_ || decoder_) {
    return;
  }
  if (speculate_.starts_with("ngram") && !std::filesystem::exists(speculate_)) {
    ngrams_ = named_drafter(speculate_);
  } else {
    model_ = load_model_with_warnings(speculate_, {.base = base_, .matrices = matrices_});
    decoder_.emplace(decoder(*model_->model));
  }
}

std::shared_ptr<DraftRoom> Decoding::draft_room() {
  load();
  return decoder_ ? std::make_shared<DraftRoom>(
                        position_bytes(model_->model->config(), cache_type(*model_->model)))
                  : nullptr;
}

MakeDrafter Decoding::drafter(const Tokenizer& tokenizer, std::shared_ptr<DraftRoom> room) {
  load();
  return decoder_ ? model_drafter(*decoder_, *model_->tokenizer, tokenizer, std::move(room))
                  : ngrams_;
}

}  // namespace headlight::cli
