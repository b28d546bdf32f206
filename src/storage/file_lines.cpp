#include "storage/file_lines.h"

#include <algorithm>
#include <span>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;        // bytes per read
constexpr std::size_t kLongestLine = std::size_t{1} << 26;  // bytes

}  // namespace

void for_each_line(const InputFile& file, const std::function<void(const std::string&)>& visit) {
  const auto size = static_cast<std::size_t>(file.size());
  std::string text;  // begin of an unfinished line, then the next piece
  for (std::size_t offset = 0; offset < size; offset += kPiece) {
    const std::size_t begun = text.size();
    require(begun <= kLongestLine, shown(file.path()), ": expected lines of at most ", kLongestLine,
            " bytes");
    text.resize(begun + std::min(kPiece, size - offset));
    file.read(static_cast<Index>(offset),
              std::as_writable_bytes(std::span<char>(text).subspan(begun)));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      visit(text.substr(begin, end - begin));
    }
    text.erase(0, begin);
  }
  if (!text.empty()) {
    visit(text);
  }
}

}  // namespace headlight
