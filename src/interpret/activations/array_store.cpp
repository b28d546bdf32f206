#include "interpret/activations/array_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <span>

#include "headlight/base/error.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

void count_lost(std::span<const float> values, LostValues& lost) {
  constexpr float kInfiniteAsHalf = 65520;  // rounds to 65,536, which overflows float16
  for (const float value : values) {
    if (std::isfinite(value)) {
      lost.too_large += std::abs(value) >= kInfiniteAsHalf ? 1 : 0;
    } else {
      lost.not_numbers += std::isnan(value) || value > 0 ? 1 : 0;
    }
  }
}

}  // namespace

std::size_t ArraysInMemory::add(const Shape& shape) {
  arrays_.push_back(Tensor::empty(shape, dtype_));
  return arrays_.size() - 1;
}

void ArraysInMemory::put(std::size_t array, Index first, const Tensor& values) {
  arrays_[array].strided_view({values.numel()}, {1}, first).copy_from(values);
}

ArraysOnDisk::ArraysOnDisk(const std::filesystem::path& path)
    : path_(temporary_path(path)),
      descriptor_(open_descriptor(path_, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) {
    fail_system("create", path_, errno);
  }
  ::unlink(path_.c_str());
}

ArraysOnDisk::~ArraysOnDisk() { ::close(descriptor_); }

std::size_t ArraysOnDisk::add(const Shape& shape) {
  regions_.push_back({shape, end_, {}});
  end_ += numel(shape) * static_cast<Index>(sizeof(float));
  return regions_.size() - 1;
}

void ArraysOnDisk::put(std::size_t array, Index first, const Tensor& given) {
  const Tensor floats = to_contiguous(convert(given, DType::float32));
  const std::span<const float> values(floats.data<float>(),
                                      static_cast<std::size_t>(floats.numel()));
  count_lost(values, regions_[array].lost);
  const Index begin = regions_[array].begin + first * static_cast<Index>(sizeof(float));
  const std::span<const std::byte> bytes = std::as_bytes(values);
  transfer_all(bytes.size(), "write", path_, [&](std::size_t done) {
    return ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                    begin + static_cast<Index>(done));
  });
}

ArraySource ArraysOnDisk::source(std::size_t array, const std::string& name) const {
  const Region& region = regions_[array];
  return {name, DType::float32, region.shape,
          [this, begin = region.begin](Index offset, std::span<std::byte> bytes) {
            transfer_all(bytes.size(), "read", path_, [&](std::size_t done) {
              return ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                             begin + offset + static_cast<Index>(done));
            });
          }};
}

}  // namespace headlight
