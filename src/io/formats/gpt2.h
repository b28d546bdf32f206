#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "headlight/nn/architecture.h"
#include "headlight/nn/gpt.h"
#include "io/safetensors_file.h"

namespace headlight {

// How Hugging Face's GPT-2 calls a weight of Gpt::parameters(): "h.0.ln_1.weight" is
// "transformer.h.0.ln_1.weight"; the head has no prefix.
std::string gpt2_name(const Weight& weight);

// The tensors of a model under the names, and with the layout, that Hugging Face's GPT-2 has:
// "transformer.h.0.attn.c_attn.weight" is inputs x outputs, the transpose of ours. A model without
// biases gets zeros for them.
NamedTensors gpt2_tensors(const Gpt& model);

// The weights of a GPT-2 directory: model.safetensors, or the shards that
// model.safetensors.index.json names. Names may have the prefix "transformer." or not; causal masks
// that old checkpoints carry along are left out.
class Gpt2Weights {
 public:
  // Reads headers only. Throws Error for files that are missing or damaged, an index that does not
  // agree with its shards, and two tensors for one weight.
  explicit Gpt2Weights(const std::filesystem::path& directory);

  // Decides what config.json leaves open. A head that differs from the token embedding is a head of
  // its own, whatever the configuration says, as in transformers; a model that was written without
  // biases has them if they have become other than zero.
  void settle(GptConfig& config);
  // Throws Error, one line that names the tensors that are missing, unexpected or of another shape.
  void check(const GptConfig& config) const;
  // Fills the parameters, converting types. The model may have fewer positions than the file: the
  // first ones are taken. check() must have passed.
  void read_into(Gpt& model) const;

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsEntry* entry;
  };

  void add_file(const std::filesystem::path& path);
  void add_shards(const std::filesystem::path& index);
  Tensor read(const std::string& name) const;
  void fill(const Weight& weight, Tensor& parameter) const;

  std::string where_;                     // the file that errors name
  std::deque<SafetensorsFile> files_;     // addresses stay
  std::map<std::string, Place> tensors_;  // by the name that Gpt::parameters() has
};

}  // namespace headlight
