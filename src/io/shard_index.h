#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace headlight {

// A model.safetensors.index.json: which file beside it holds which tensor. Throws Error for another
// form, for more than 65,536 tensors, and for names of files that are not plain *.safetensors names
// in the same folder.
std::map<std::string, std::string> read_shard_index(const std::filesystem::path& path);

}  // namespace headlight
