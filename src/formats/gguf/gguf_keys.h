#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/huggingface/read_keys.h"
#include "headlight/formats/gguf/gguf.h"

namespace headlight {

// Name of the tensor with Llama 3's frequency factors.
inline constexpr std::string_view kGgufRopeFactors = "rope_freqs.weight";

// The metadata keys of one architecture in both directions, "llama.block_count": of a GGUF file, or
// of a model. A function with a reference reads a key into a field, or writes the field under the
// key. Errors name the whole key. Remembers which keys were looked up.
class GgufKeys {
 public:
  // Reads the keys of a file.
  GgufKeys(const GgufFile& file, std::string_view architecture);
  // Writes keys.
  explicit GgufKeys(std::string_view architecture);
  // Returns keys that read what these have written, and what the weights would say.
  GgufKeys read_again() const;

  bool writes() const { return writes_; }
  // Returns general.architecture and the keys that were written.
  const GgufMetadata& written() const { return written_; }
  std::string whole(std::string_view key) const;

  // An integer from 1 on, or the common value of a list for all layers. Reading throws Error if the
  // key is missing.
  void size(std::string_view key, Index& value);
  // A number. A float32 is read as the shortest decimal that rounds to it: 1e-05, not 9.99e-06.
  // Reading throws Error if the key is missing, without a fallback.
  void number(std::string_view key, double& value, std::optional<double> fallback = {});
  // A number above 0, which is not written otherwise.
  void positive(std::string_view key, double& value, double fallback);
  void boolean(std::string_view key, bool& value, bool fallback);
  // Whether a part has biases: its tensor in the first layer exists.
  void bias(std::string_view tensor, std::optional<bool>& has_bias);
  // The divisors of rotations [D / 2] in a tensor; empty: there is none.
  void factors(std::vector<float>& values, Index head_width);
  // A field that llama.cpp fixes for the architecture, although files may have another value.
  template <class T>
  void only(T& field, const T& value) const {
    field = writes_ ? value : field;
  }

  // Return what is only read; in writing the fallback.
  const GgufValue* find(std::string_view key);               // null: the key is missing
  Index read_integer(std::string_view key, Index fallback);  // from 0 on
  double read_number(std::string_view key, double fallback);
  bool read_boolean(std::string_view key, bool fallback);
  std::string read_text(std::string_view key, std::string_view fallback);
  // Write what is only written, or read by other functions.
  void write(std::string_view key, GgufValue value);
  void write_size(std::string_view key, Index value);

  const ReadKeys& read_keys() const { return read_keys_; }
  // Throws Error about the first key that was not looked up, unless it is 0 or false: it might
  // change the model's function.
  void require_all_known() const;

 private:
  std::string prefix_;
  const GgufFile* file_ = nullptr;
  bool writes_ = false;
  GgufMetadata written_ = {};
  std::vector<std::string> biases_ = {};
  std::vector<float> factors_ = {};
  ReadKeys read_keys_ = {};
};

}  // namespace headlight
