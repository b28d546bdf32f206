#pragma once

#include <map>
#include <string>

#include "formats/huggingface/weight_files.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Reorders rows from [outer, first, second, rest] to [outer, second, first, rest].
Tensor reordered_rows(const Tensor& x, const RowOrder& order);

// Returns a model's tensors with the names and the layout of another program.
NamedTensors stored_tensors(const Gpt& model, const WeightLayout& layout);

// The weights in a model's files, without the layout's buffers. Names may lack the layout's prefix.
class ModelWeights {
 public:
  // `layout` must outlive this object. Throws Error for two tensors of the same name.
  ModelWeights(WeightFiles files, const WeightLayout& layout);
  ModelWeights(const ModelWeights&) = delete;  // its map refers to its files
  ModelWeights& operator=(const ModelWeights&) = delete;
  ModelWeights(ModelWeights&&) = default;

  // Completes the configuration from the weights. A head that differs from the token embedding is
  // untied, whatever the configuration says, as in transformers. A GPT-2 written without biases has
  // biases if any is not zero.
  void settle(GptConfig& config);
  // Throws Error, one line that names the tensors that are missing, unexpected or of another shape.
  // Returns a line about ignored tensors outside of layers; "" if there are none.
  std::string check(const GptConfig& config) const;
  // Fills the parameters, converting types. A model with fewer positions than the file takes the
  // first ones. Requires a successful check().
  void read_into(Gpt& model) const;

 private:
  WeightFiles files_;
  const WeightLayout& layout_;
  std::map<std::string, const FileTensor*> tensors_;  // by name without the prefix
};

}  // namespace headlight
