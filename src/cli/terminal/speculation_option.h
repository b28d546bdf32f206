#pragma once

#include <optional>

#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/generate/speculation.h"

namespace headlight::cli {

// Adds --speculate.
void add_speculate_option(Options& options);

// The value of --speculate, with the smaller model if it names one, in the form of --weights. Must
// outlive the texts.
class Speculation {
 public:
  explicit Speculation(const Options& options);

  // Returns the drafter for texts of this tokenizer; empty without --speculate.
  MakeDrafter drafter(const Tokenizer& tokenizer);

 private:
  MakeDrafter ngrams_ = {};
  std::optional<LoadedModel> model_ = {};
  std::optional<Decoder> decoder_ = {};
};

}  // namespace headlight::cli
