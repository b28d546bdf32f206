#pragma once

#include <memory>
#include <vector>

#include "cli/lab/lab.h"
#include "headlight/nn/gpt.h"
#include "headlight/text/tokenizer.h"

namespace headlight::cli::lab {

// The model that is looked into.
struct Subject {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Tokenizer> tokenizer;
  // How its training went, where it was trained here: loss on the second copy of random tokens that
  // repeat, nats a token, by update.
  std::vector<double> updates = {};
  std::vector<double> second_copy = {};
};

// The model of a directory or file, as load_model() reads it.
Subject read_subject(const std::string& path);

// A model of the size of configs/induction.toml, trained on random tokens that repeat and, in the
// place of that file's text, on letters each of which depends on the two before it, so that looking
// at the previous one pays. They are made here, so that no file is needed.
Subject train_subject(Index updates, std::uint64_t seed);

}  // namespace headlight::cli::lab
