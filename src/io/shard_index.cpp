#include "io/shard_index.h"

#include "base/json.h"
#include "base/printable.h"
#include "files/input_file.h"
#include "headlight/base/error.h"
#include "io/tensor_file.h"

namespace headlight {
namespace {

constexpr Index kLargestIndex = Index{16} << 20;  // bytes
constexpr std::size_t kLongestName = 255;         // of a file, in bytes

bool is_plain_file_name(const std::string& name) {
  constexpr std::string_view kSuffix = ".safetensors";
  return name.size() > kSuffix.size() && name.size() <= kLongestName && name.ends_with(kSuffix) &&
         name.front() != '.' && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

}  // namespace

std::map<std::string, std::string> read_shard_index(const std::filesystem::path& path) {
  const std::string where = shown(path);
  const Json index = parse_json(read_whole_file(path, kLargestIndex), where);
  const Json& map = json_member(index, "weight_map", where);
  require(map.is_object() && !map.empty(), where,
          ": weight_map: expected names of files by tensor");
  require(map.size() <= kMaxTensors, where, ": weight_map: ", map.size(), " tensors, at most ",
          kMaxTensors, " are accepted");
  std::map<std::string, std::string> homes;
  for (const auto& [tensor, file] : map.members()) {
    const std::string place = where + ": weight_map: " + in_quotes(tensor);
    require(file.is_string(), place, ": expected the name of a file");
    const auto& name = file.text();
    require(is_plain_file_name(name), place, ": ", in_quotes(name),
            " is not the name of a .safetensors file in this folder");
    homes.emplace(tensor, name);
  }
  return homes;
}

}  // namespace headlight
