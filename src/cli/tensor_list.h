#pragma once

#include <filesystem>

namespace headlight::cli {

// True for the name of a file of tensors: it ends in .safetensors, .npz or .gguf.
bool is_tensor_file(const std::filesystem::path& path);

// Prints name, type and shape of every tensor of such a file, and what it says about itself: of
// safetensors texts, of GGUF its metadata, where lists lose their end; the elements are not read.
void print_tensor_file(const std::filesystem::path& path, bool json);

}  // namespace headlight::cli
