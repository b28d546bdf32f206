#include "cli/file_pieces.h"

#include <algorithm>
#include <span>

#include "headlight/tensor/error.h"
#include "headlight/tensor/machine.h"
#include "headlight/text/bpe_pattern.h"
#include "io/input_file.h"
#include "text/printable.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{4} << 20;     // bytes
constexpr std::size_t kKeptBack = std::size_t{64} << 10;      // about the end that waits for more
constexpr std::size_t kLongestPart = std::size_t{128} << 20;  // bytes

// Bytes of `text` that mean the same whatever follows; 0 when that is not known of any.
std::size_t complete_length(std::string_view text, CutAt cut) {
  const std::size_t line_end = cut == CutAt::line ? text.rfind('\n') : std::string_view::npos;
  if (line_end != std::string_view::npos) {
    return line_end + 1;
  }
  if (cut == CutAt::end) {
    return 0;
  }
  const std::size_t searched = text.size() - std::min(text.size(), kKeptBack);
  const auto parts = split_between_pieces(text, std::max<std::size_t>(1, searched));
  return parts.size() < 2 ? 0 : text.size() - parts.back().size();
}

// What has to lie in memory at once must fit there.
void require_part(const InputFile& file, CutAt cut, std::size_t begin, std::size_t length) {
  if (cut == CutAt::end) {
    const double available = available_memory();
    require(available == 0 || static_cast<double>(file.size()) < available, shown(file.path()),
            ": ", file.size(), " bytes, which cannot be read in parts, do not fit in memory");
    return;
  }
  require(length <= kLongestPart, shown(file.path()), ": no word ends in the ", kLongestPart,
          " bytes from byte ", begin, " on, expected a text that can be read in parts");
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
    require_part(file, cut, used, kept + count);
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
