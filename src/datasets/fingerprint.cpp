#include "datasets/fingerprint.h"

#include <xxhash.h>

#include <memory>
#include <span>

#include "base/strings/hex_text.h"
#include "headlight/base/error.h"
#include "headlight/tensor/dtype.h"
#include "nn/packed/packed_weight.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState()) {
    require(state_ != nullptr && XXH3_128bits_reset(state_.get()) == XXH_OK,
            "[fingerprint] cannot allocate memory");
  }

  // Hashes the count, too, so that moving bytes between neighbouring pieces changes the hash.
  void add(const void* bytes, std::size_t count) {
    const std::uint64_t size = count;
    XXH3_128bits_update(state_.get(), &size, sizeof size);
    add_more(bytes, count);
  }
  // Hashes the next bytes of a piece that comes in parts, without a count.
  void add_more(const void* bytes, std::size_t count) {
    XXH3_128bits_update(state_.get(), bytes, count);
  }

  void add(const std::string& name, const Tensor& tensor) {
    const std::string_view type = name_of(tensor.dtype());
    const Tensor elements = to_contiguous(tensor);
    const std::span<const std::byte> bytes = bytes_of(elements);
    add(name.data(), name.size());
    add(type.data(), type.size());
    add(tensor.shape().begin(), static_cast<std::size_t>(tensor.rank()) * sizeof(Index));
    add(bytes.data(), bytes.size());
  }

  std::string text() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    return hex_text(canonical.digest);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace

std::string fingerprint(const NamedTensors& tensors) {
  Hash hash;
  for (const auto& [name, tensor] : tensors) {
    hash.add(name, tensor);
  }
  return hash.text();
}

std::string fingerprint(const Module& model) {
  Hash hash;
  for (const auto& [name, tensor] : model.parameters()) {
    hash.add(name, tensor.has_elements() ? tensor : stored_form(model, name)->weight());
  }
  return hash.text();
}

std::string fingerprint_of_bytes(std::string_view bytes) {
  Hash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.text();
}

std::string fingerprint_of_tokens(const TokenDataset& data) {
  Hash hash;
  for (const TokenSequence& sequence : data.sequences) {
    const Index size = sequence.size();
    hash.add_more(&size, sizeof size);
    sequence.for_each_part(
        [&](std::span<const std::int32_t> part) { hash.add_more(part.data(), part.size_bytes()); });
  }
  for (const DatasetShare& share : data.shares) {
    hash.add(&share, sizeof share);
  }
  return hash.text();
}

std::string fingerprint_of_vocabulary(const Tokenizer& tokenizer) {
  Hash hash;
  for (Index i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const std::string bytes = tokenizer.token_bytes(id);
    const std::string_view name = tokenizer.special_name(id);
    hash.add(bytes.data(), bytes.size());
    hash.add(name.data(), name.size());
  }
  return hash.text();
}

}  // namespace headlight
