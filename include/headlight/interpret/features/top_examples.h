#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/nn/language_model.h"
#include "headlight/tokenizers/tokenizer.h"

// Texts on which a neuron or a feature is most active.
namespace headlight {

struct TopExampleOptions {
  PointRange point = {};  // one layer; without `sae` one neuron or element, as neuron.3.17
  const SparseAutoencoder* sae = nullptr;  // measure its feature `feature` at the point
  Index feature = 0;
  Index count = 10;   // examples
  Index before = 20;  // tokens to keep before the most active one, and after it
  Index after = 8;
  // Adds the tokens that complete the first and the last character; null: keeps part of a
  // character.
  const Tokenizer* tokenizer = nullptr;
  Index batch_size = 12;
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// Tokens around the most active token of a sequence.
struct TopExample {
  Index sequence = 0;  // number in the data
  Index position = 0;  // of the most active token in the sequence
  // Position of the first kept token. A token that TokenDataset::window_begin adds has the position
  // before its window.
  Index begin = 0;
  std::vector<std::int32_t> ids = {};
  std::vector<double> values = {};  // of the kept tokens

  double value() const { return values[static_cast<std::size_t>(position - begin)]; }
};

// Returns the sequences with the largest activations, largest first: at most one example of each
// sequence, or of each of its windows if it exceeds the context. A document's end token is not
// read. Takes memory for one batch and the examples; ids in files stay there. Throws Error about
// "point" for other points than one column, and about "feature" for numbers that the autoencoder
// lacks.
std::vector<TopExample> top_examples(const LanguageModel& model, const TokenDataset& data,
                                     const TopExampleOptions& options);

}  // namespace headlight
