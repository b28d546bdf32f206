#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/lab.h"
#include "headlight/interpret/head_id.h"
#include "headlight/interpret/scores/head_scores.h"
#include "headlight/nn/gpt.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight::cli::lab {

// Model to investigate.
struct Subject {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Tokenizer> tokenizer;
  // Training curve, if trained here: loss on the second copy of repeated random tokens, in nats a
  // token, for each measured step.
  std::vector<double> updates = {};
  std::vector<double> second_copy = {};
};

// Loads the model of a directory or file, as load_model() does, with --base.
Subject read_subject(const std::string& path, const Options& options);

// Trains a model of the size of configs/induction.toml, without reading files. Half of the
// sequences repeat random tokens. The others are letters that depend on the two letters before, so
// that attending to the previous token lowers the loss.
Subject train_subject(Index updates, std::uint64_t seed);

// Repeats of random tokens for the model of a subject.
RepeatOptions repeats_for(const Subject& subject, Index sequences, std::uint64_t seed = 1337);

// Attention weights of a head on eight random tokens and their repetition.
struct HeadMap {
  std::vector<std::string> tokens;  // labels, [T]
  Tensor weights;                   // [T, T]
};

HeadMap map_of(const Subject& subject, const HeadId& head);

}  // namespace headlight::cli::lab
