#include "generate/json_schema/schema_address.h"

#include <algorithm>

namespace headlight {
namespace {

// Returns the length of "https:", or 0.
std::size_t scheme_length(std::string_view address) {
  const std::size_t end = address.find_first_of(":/?#");
  const bool has_scheme = end != std::string_view::npos && end > 0 && address[end] == ':';
  return has_scheme ? end + 1 : 0;
}

// Returns the length of "https://host".
std::size_t authority_end(std::string_view address) {
  const std::size_t scheme = scheme_length(address);
  return address.substr(scheme).starts_with("//")
             ? std::min(address.find('/', scheme + 2), address.size())
             : scheme;
}

// Removes the parts "." and ".." of a path.
std::string without_dots(std::string_view path) {
  std::string all;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin + 1), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == "/..") {
      all.resize(all.rfind('/') == std::string::npos ? 0 : all.rfind('/'));
    } else if (part != "/." && part != ".") {
      all += part;
    }
    begin = end;
  }
  return all;
}

}  // namespace

std::string joined_address(std::string_view base, std::string_view reference) {
  const std::string_view whole = base.substr(0, base.find('#'));
  if (scheme_length(reference) > 0) {
    return std::string(reference);
  }
  if (reference.empty() || reference.starts_with('#')) {
    return std::string(whole) + std::string(reference);
  }
  if (reference.starts_with("//")) {
    return std::string(whole.substr(0, scheme_length(whole))) + std::string(reference);
  }
  const std::size_t root = authority_end(whole);
  const std::string_view path = whole.substr(root, whole.find('?', root) - root);
  const std::size_t tail = std::min(reference.find_first_of("?#"), reference.size());
  const std::string_view folder =
      reference.starts_with('/') ? "" : path.substr(0, path.rfind('/') + 1);
  return std::string(whole.substr(0, root)) +
         without_dots(std::string(folder) + std::string(reference.substr(0, tail))) +
         std::string(reference.substr(tail));
}

}  // namespace headlight
