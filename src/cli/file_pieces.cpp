#include "cli/file_pieces.h"

#include <algorithm>
#include <span>

#include "headlight/text/bpe_pattern.h"
#include "io/input_file.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{4} << 20;  // bytes
constexpr std::size_t kKeptBack = std::size_t{64} << 10;   // about the end that waits for more

// Bytes of `text` that mean the same whatever follows; 0 when that is not known of any.
std::size_t complete_length(std::string_view text, CutAt cut) {
  if (cut == CutAt::line) {
    const std::size_t end = text.rfind('\n');
    return end == std::string_view::npos ? 0 : end + 1;
  }
  if (cut == CutAt::end) {
    return 0;
  }
  const std::size_t searched = text.size() - std::min(text.size(), kKeptBack);
  const auto parts = split_between_pieces(text, std::max<std::size_t>(1, searched));
  return parts.size() < 2 ? 0 : text.size() - parts.back().size();
}

}  // namespace

void read_in_parts(const std::string& path, CutAt cut,
                   const std::function<void(std::string_view part, std::size_t offset)>& use) {
  const InputFile file(path);
  const auto size = static_cast<std::size_t>(file.size());
  std::string text;
  std::size_t used = 0;
  for (std::size_t read = 0; read < size;) {
    const std::size_t count = std::min(kReadAtOnce, size - read);
    const std::size_t kept = text.size();
    text.resize(kept + count);
    file.read(static_cast<Index>(read),
              std::as_writable_bytes(std::span<char>(text).subspan(kept)));
    read += count;
    const std::size_t complete = read == size ? text.size() : complete_length(text, cut);
    if (complete > 0) {
      use(std::string_view(text).substr(0, complete), used);
      text.erase(0, complete);
      used += complete;
    }
  }
}

}  // namespace headlight::cli
