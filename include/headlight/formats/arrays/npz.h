#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/tensor/named_tensors.h"
#include "headlight/tensor/stored_floats.h"

namespace headlight {

// NumPy's formats: .npy holds one array, .npz is a zip archive of .npy files. bfloat16 counts as
// float32, because NumPy lacks it.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

// Writes one array in version 1.0 of the format, replacing the file in one step.
// Throws Error for an undefined tensor and a failed write.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

// Named lists of texts, for example the labels of an axis.
using NamedTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Writes each tensor as a member NAME.npy, uncompressed and with a fixed date: the same tensors
// give the same bytes. Replaces the file in one step.
// Throws Error for an unusable or repeated name, an undefined tensor, StoredFloats::bfloat16 and a
// failed write.
void write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
               StoredFloats floats = StoredFloats::float32);

// Writes the tensors, then the lists of texts as type <U, each as wide as its longest text. Calls
// `progress` with the written share, 0 to 1.
void write_npz(
    const std::filesystem::path& path, const NamedTensors& tensors, const NamedTexts& texts,
    const std::function<void(double share)>& progress = [](double) {});

// Reads an archive of uncompressed members of type <f2 (becomes float32), <f4, <f8, <i4 or |b1 in C
// order. Checks the declared size of each member before allocating memory. Lists of texts (<U) go
// to `texts` in UTF-8, without trailing zeros; a null `texts` skips them. With `only`, the tensors
// of other arrays are undefined: their elements are not read. Throws Error, naming file, member and
// reason, for anything else.
NamedTensors read_npz(const std::filesystem::path& path, NamedTexts* texts = nullptr,
                      std::string_view only = {});

// One array of an archive, without its elements.
struct ArrayInfo {
  std::string name;
  DType dtype = DType::float32;  // type of the tensor in memory
  Shape shape;
  bool texts = false;  // a list of texts, not a tensor
};

// Returns the arrays in archive order. Throws Error as read_npz does, except for elements.
std::vector<ArrayInfo> read_npz_header(const std::filesystem::path& path);

}  // namespace headlight
