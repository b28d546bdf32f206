#pragma once

#include <deque>
#include <map>
#include <string>

#include "headlight/nn/gpt.h"
#include "io/formats/families.h"
#include "io/safetensors_file.h"

namespace headlight {

// The tensors of a model under the names, and with the layout, of a family.
NamedTensors stored_tensors(const Gpt& model, const ModelFamily& family);

// The weights of a model directory: model.safetensors, or the shards that
// model.safetensors.index.json names. Names may have the family's prefix or not; buffers that old
// files carry along are left out.
class ModelWeights {
 public:
  // Reads headers only. Throws Error for files that are missing or damaged, an index that does not
  // agree with its shards, and two tensors of one name.
  ModelWeights(const std::filesystem::path& directory, const ModelFamily& family);

  // Decides what config.json leaves open. A head that differs from the token embedding is a head of
  // its own, whatever the configuration says, as in transformers; a GPT-2 that was written without
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
  void fill(const Weight& weight, const GptConfig& config, Tensor& parameter) const;

  const ModelFamily& family_;
  std::string where_;                     // the file that errors name
  std::deque<SafetensorsFile> files_;     // addresses stay
  std::map<std::string, Place> tensors_;  // by the name without the prefix
};

}  // namespace headlight
