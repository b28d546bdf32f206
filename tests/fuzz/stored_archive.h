#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headlight::fuzz {

// Returns a zip archive of uncompressed members, each a name and its bytes, with the correct
// checksums. Without them, the library would reject all mutations.
std::string stored_archive(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace headlight::fuzz
