#pragma once

#include <filesystem>

namespace headlight::cli {

// True for the name of a file of tensors: it ends in .safetensors or .npz.
bool is_tensor_file(const std::filesystem::path& path);

// Prints name, type and shape of every tensor of such a file, of safetensors also the texts about
// the file; the elements are not read.
void print_tensor_file(const std::filesystem::path& path, bool json);

}  // namespace headlight::cli
