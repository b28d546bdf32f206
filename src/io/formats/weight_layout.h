#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn/architecture.h"

// How the weights of a Gpt lie in files of other programs.
namespace headlight {

// How the rows of a file lie: [outer, first, second, rest] where ours are [outer, second, first,
// rest].
struct RowOrder {
  Index outer = 1;
  Index first = 1;
  Index second = 1;
};

// A tensor of a model file that is a weight of ours, or some of its rows.
struct StoredTensor {
  std::string name;  // without the prefix
  Index rows = 0;    // of the weight, from where the tensor before ended
  RowOrder order = {};
  // The file has inputs x outputs (transformers' Conv1D), the transpose of ours.
  bool transposed = false;
  float shift = 0;  // the file's elements are ours plus this
};

struct WeightLayout {
  std::string_view prefix = {};  // of all names but the head's, in files that have it
  std::string_view head;         // the untied head
  // Ends of the names of tensors that are no weights.
  std::vector<std::string_view> buffers = {};
  // How the names in layers begin, behind the prefix. Tensors elsewhere that are no weights are
  // left out with a warning, as in transformers; empty: they are refused.
  std::string_view layers = {};
  // The tensors of a weight, which may be a bias, in the order of its rows.
  std::vector<StoredTensor> (*tensors_of)(const Weight& weight, const GptConfig& config);
  // All biases are there, zeros in a model without.
  bool has_all_biases = false;
};

}  // namespace headlight
