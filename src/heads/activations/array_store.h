#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/tensor/named_tensors.h"
#include "headlight/heads/activation_files.h"
#include "io/array_source.h"

namespace headlight {

// Where the float32 arrays of a cache are kept until it is whole.
class ArrayStore {
 public:
  virtual ~ArrayStore() = default;

  // Makes place for an array; returns its number.
  virtual std::size_t add(const Shape& shape) = 0;
  // Elements from `first` on.
  virtual void put(std::size_t array, Index first, std::span<const float> values) = 0;
};

class ArraysInMemory final : public ArrayStore {
 public:
  std::size_t add(const Shape& shape) override;
  void put(std::size_t array, Index first, std::span<const float> values) override;
  const Tensor& tensor(std::size_t array) const { return arrays_[array]; }

 private:
  std::vector<Tensor> arrays_;
};

// In a file beside PATH that no name leads to: it is gone when the program ends, however that
// comes.
class ArraysOnDisk final : public ArrayStore {
 public:
  // Throws Error when the file cannot be made; the others when it cannot be written or read.
  explicit ArraysOnDisk(const std::filesystem::path& path);
  ~ArraysOnDisk() override;

  std::size_t add(const Shape& shape) override;
  void put(std::size_t array, Index first, std::span<const float> values) override;
  // Reads from the store, which must outlive it.
  ArraySource source(std::size_t array, const std::string& name) const;
  // Number of values of an array that float16 cannot hold or that are NaN.
  const LostValues& lost(std::size_t array) const { return places_[array].lost; }

 private:
  struct Place {
    Shape shape;
    Index begin = 0;  // bytes
    LostValues lost = {};
  };

  std::filesystem::path path_;
  int descriptor_;
  std::vector<Place> places_;
  Index end_ = 0;
};

}  // namespace headlight
