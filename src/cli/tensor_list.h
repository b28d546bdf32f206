#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace headlight::cli {

// True if the name ends in .safetensors, .npz or .gguf.
bool is_tensor_file(const std::filesystem::path& path);

// Lists the tensors of a file without reading their elements: {format, tensors[{name, dtype (as the
// format spells it), shape}], metadata (texts of safetensors, keys of GGUF with long lists
// shortened), elements}.
Json list_tensor_file(const std::filesystem::path& path);
std::string tensor_list_text(const Json& list);

}  // namespace headlight::cli
