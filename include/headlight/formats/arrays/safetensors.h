#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "headlight/tensor/named_tensors.h"
#include "headlight/tensor/stored_floats.h"

namespace headlight {

// The safetensors format: a length, a JSON header, then the elements, little endian and row-major.
// https://huggingface.co/docs/safetensors

// Writes the tensors, replacing the file in one step (see replace_file). Types with larger elements
// come first, so that every tensor is aligned; otherwise the order is kept. An empty `metadata` is
// left out. The transformers library expects "format": "pt".
// A usable name is 1 to 1024 bytes of UTF-8 without control characters. It must not start with '/'
// or have a part "..", because it becomes a file name inside an .npz archive.
// Throws Error for an unusable or repeated name, an undefined tensor and a failed write.
void write_safetensors(
    const std::filesystem::path& path, const NamedTensors& tensors,
    const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
    StoredFloats floats = StoredFloats::float32,
    const std::function<void(double share)>& progress = [](double) {});

// Reads every tensor, in the order of the data. F16 becomes float32; I64, I16, I8 and U8 become
// int32. Checks the whole header before allocating memory for tensors.
// Throws Error, naming file, tensor and reason, for a file that does not follow the format, an
// element type other than F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL, more than 8 axes, more than
// 65,536 tensors, a header of more than 16 MiB, and an I64 value that int32 cannot hold.
NamedTensors read_safetensors(const std::filesystem::path& path);

// Header entry of one tensor.
struct TensorInfo {
  std::string dtype;  // as the file spells it: "F32"
  Shape shape;
  Index begin = 0;  // first byte of the elements, from the start of the file
  Index end = 0;
};

// Returns the checked header by tensor name. Throws Error as read_safetensors does.
std::map<std::string, TensorInfo> read_safetensors_header(const std::filesystem::path& path);

// Returns the file's __metadata__; empty if it has none.
std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& path);

}  // namespace headlight
