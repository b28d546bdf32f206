#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn/architecture.h"

// Layout of the weights of a Gpt in files of other programs.
namespace headlight {

// Order of rows in a file: [outer, first, second, rest], where ours is [outer, second, first,
// rest].
struct RowOrder {
  Index outer = 1;
  Index first = 1;
  Index second = 1;
};

// A tensor of a model file that holds a weight, or some of its rows.
struct StoredTensor {
  std::string name;  // without the prefix
  Index rows = 0;    // rows of the weight, after the rows of earlier tensors
  RowOrder order = {};
  // The file stores [inputs, outputs] (transformers' Conv1D), the transpose of ours.
  bool transposed = false;
  float shift = 0;  // file element = our element + shift
  // The tensor of the file has file_rows rows. These are the ones from file_begin on, before any
  // transposition. 0: exactly these rows.
  Index file_rows = 0;
  Index file_begin = 0;
};

struct WeightLayout {
  std::string_view prefix = {};  // optional prefix of all names but the head's
  std::string_view head;         // name of the untied head
  // Beginning of other names without the prefix: all weights of a head of several layers.
  std::string_view head_names = {};
  // Name endings of tensors that are not weights.
  std::vector<std::string_view> buffers = {};
  // Beginning of names in layers, after the prefix. Unknown tensors outside of layers are ignored
  // with a warning, as in transformers. Empty: they are refused.
  std::string_view layers = {};
  // Returns the tensors of a weight or bias, in the order of its rows.
  std::vector<StoredTensor> (*tensors_of)(const Weight& weight, const GptConfig& config);
  // True if files hold all biases, as zeros for a model without biases.
  bool has_all_biases = false;
  // True if norms may have the names of old files: "gamma" and "beta" for weight and bias.
  bool old_norm_names = false;
};

}  // namespace headlight
