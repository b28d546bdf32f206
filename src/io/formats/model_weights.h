#pragma once

#include <map>
#include <string>

#include "headlight/nn/gpt.h"
#include "io/formats/weight_files.h"
#include "io/formats/weight_layout.h"

namespace headlight {

// The tensors of a model under the names, and with the layout, of another program.
NamedTensors stored_tensors(const Gpt& model, const WeightLayout& layout);

// The weights of a model's files. Names may have the layout's prefix or not; its buffers are left
// out.
class ModelWeights {
 public:
  // The layout must outlive it. Throws Error for two tensors of one name.
  ModelWeights(WeightFiles files, const WeightLayout& layout);
  ModelWeights(const ModelWeights&) = delete;  // its map refers to its files
  ModelWeights& operator=(const ModelWeights&) = delete;
  ModelWeights(ModelWeights&&) = default;

  // Decides what the configuration leaves open. A head that differs from the token embedding is a
  // head of its own, whatever the configuration says, as in transformers; a GPT-2 that was written
  // without biases has them if they have become other than zero.
  void settle(GptConfig& config);
  // Throws Error, one line that names the tensors that are missing, unexpected or of another shape.
  // Returns a line that names those outside of layers that are left out; "": none is.
  std::string check(const GptConfig& config) const;
  // Fills the parameters, converting types. The model may have fewer positions than the file: the
  // first ones are taken. check() must have passed.
  void read_into(Gpt& model) const;

 private:
  void fill(const Weight& weight, const GptConfig& config, Tensor& parameter) const;

  WeightFiles files_;
  const WeightLayout& layout_;
  std::map<std::string, const FileTensor*> tensors_;  // by the name without the prefix
};

}  // namespace headlight
