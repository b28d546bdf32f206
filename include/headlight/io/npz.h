#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "headlight/io/stored_floats.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

// NumPy's formats: .npy holds one array, .npz is a zip archive of them. bfloat16, which NumPy does
// not know, is written as float32.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

// Writes one array in version 1.0 of the format, replacing the file in one step.
// Throws Error for an undefined tensor and a failed write.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

// Lists of texts, each with a name of its own: the labels of an axis.
using NamedTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Writes the members NAME.npy uncompressed and with a fixed date: the same tensors give the same
// bytes. Replaces the file in one step.
// Throws Error for an unusable or repeated name, an undefined tensor, StoredFloats::bfloat16 and a
// failed write.
void write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
               StoredFloats floats = StoredFloats::float32);

// The same with lists of texts behind the tensors, of type <U and so wide as the longest needs.
void write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
               const NamedTexts& texts);

// Reads an archive of uncompressed members of type <f2, which becomes float32, <f4, <f8, <i4 or |b1
// in C order, checking each member before memory of a size that it declares is taken. Lists of
// texts, <U, go to `texts` in UTF-8, without the zeros at their ends; without it they are passed
// over.
// Throws Error, naming file, member and reason, for anything else.
NamedTensors read_npz(const std::filesystem::path& path, NamedTexts* texts = nullptr);

// One array of an archive, without its elements.
struct ArrayInfo {
  std::string name;
  DType dtype = DType::float32;  // of the tensor that it is read into
  Shape shape;
  bool texts = false;  // no tensor
};

// The arrays in the order of the archive. Throws what read_npz throws, except about elements.
std::vector<ArrayInfo> read_npz_header(const std::filesystem::path& path);

}  // namespace headlight
