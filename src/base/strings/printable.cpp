#include "base/strings/printable.h"

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxQuotedBytes = 80;

}  // namespace

std::string in_quotes(std::string_view text) {
  if (text.size() <= kMaxQuotedBytes) {
    return "'" + escaped(text) + "'";
  }
  std::size_t length = kMaxQuotedBytes;
  while (length > 0 && is_utf8_continuation(text[length])) {
    --length;
  }
  return "'" + escaped(text.substr(0, length)) + "...'";
}

std::string shown(const std::filesystem::path& path) { return escaped(path.native()); }

}  // namespace headlight
