#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/interpret/activations/activation_files.h"
#include "tensor/array_source.h"

namespace headlight {

// Storage for the arrays of a cache while it is computed.
class ArrayStore {
 public:
  virtual ~ArrayStore() = default;

  // Reserves space for an array and returns its index.
  virtual std::size_t add(const Shape& shape) = 0;
  // Writes elements [n] from `first` on, converted to the type of the store.
  virtual void put(std::size_t array, Index first, const Tensor& values) = 0;
};

class ArraysInMemory final : public ArrayStore {
 public:
  explicit ArraysInMemory(DType dtype) : dtype_(dtype) {}

  std::size_t add(const Shape& shape) override;
  void put(std::size_t array, Index first, const Tensor& values) override;
  const Tensor& tensor(std::size_t array) const { return arrays_[array]; }

 private:
  DType dtype_;
  std::vector<Tensor> arrays_;
};

// Store of float32 in a temporary file beside PATH, unlinked at once, so that it ends with the
// program.
class ArraysOnDisk final : public ArrayStore {
 public:
  // Throws Error if the file cannot be created. Other functions throw if reading or writing fails.
  explicit ArraysOnDisk(const std::filesystem::path& path);
  ~ArraysOnDisk() override;

  std::size_t add(const Shape& shape) override;
  void put(std::size_t array, Index first, const Tensor& given) override;
  // Returns a source that reads from the store, which must outlive it.
  ArraySource source(std::size_t array, const std::string& name) const;
  // Counts of values that float16 cannot hold, or that are NaN or +infinity.
  const LostValues& lost(std::size_t array) const { return regions_[array].lost; }

 private:
  struct Region {
    Shape shape;
    Index begin = 0;  // bytes
    LostValues lost = {};
  };

  std::filesystem::path path_;
  int descriptor_;
  std::vector<Region> regions_;
  Index end_ = 0;
};

}  // namespace headlight
