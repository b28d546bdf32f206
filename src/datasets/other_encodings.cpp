#include "datasets/other_encodings.h"

#include <algorithm>
#include <filesystem>

#include "headlight/base/error.h"
#include "storage/compressed/decompression.h"

namespace headlight {
namespace {

// Counts of two-byte units.
struct AsciiUnits {
  std::size_t little = 0;  // one ASCII character in this byte order
  std::size_t big = 0;
  std::size_t plain = 0;  // two ASCII characters
};

AsciiUnits ascii_units(std::string_view bytes) {
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r'; };
  AsciiUnits units;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    units.little += is_text(bytes[i]) && bytes[i + 1] == '\0' ? 1 : 0;
    units.plain += is_text(bytes[i]) && is_text(bytes[i + 1]) ? 1 : 0;
    units.big += bytes[i] == '\0' && is_text(bytes[i + 1]) ? 1 : 0;
  }
  return units;
}

// Returns the name of the encoding for iconv; "" for other text. Korean text in UTF-16 has blanks
// and line ends, but its syllables have no zero byte, except for a few.
std::string_view wide_encoding(std::string_view beginning) {
  using std::string_view_literals::operator""sv;
  constexpr std::size_t kEnough = 4096;  // bytes
  constexpr std::size_t kRarest = 16;    // units, of which one is ASCII
  if (beginning.starts_with("\xFF\xFE\0\0"sv) || beginning.starts_with("\0\0\xFE\xFF"sv)) {
    return "UTF-32";
  }
  if (beginning.starts_with("\xFF\xFE") || beginning.starts_with("\xFE\xFF")) {
    return "UTF-16";
  }
  const std::string_view seen = beginning.substr(0, kEnough);
  const auto [little, big, plain] = ascii_units(seen);
  const std::size_t most = std::max(little, big);
  const bool is_wide = most > 1 && plain < most && kRarest * 2 * most >= seen.size() &&
                       4 * std::min(little, big) < most;
  return !is_wide ? "" : little > big ? "UTF-16LE" : "UTF-16BE";
}

// Returns a file name as a word of a POSIX shell; "" if it cannot be shown on one line.
std::string shell_word(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:@";
  if (escaped(name) != name) {
    return "";
  }
  const std::string path = (name.starts_with('-') ? "./" : "") + std::string(name);
  if (path.find_first_not_of(kPlain) == std::string::npos) {
    return path;
  }
  std::string word = "'";
  for (const char c : path) {
    word += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return word + "'";
}

// True if the bytes around `offset` look like Korean text in EUC-KR: nearly all non-ASCII bytes
// come in pairs of A1..FE. CP949 extends EUC-KR by a few other bytes.
bool looks_like_cp949(std::string_view bytes, std::size_t offset) {
  constexpr std::size_t kEnough = 4096;  // bytes
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    return false;
  }
  const auto is_high = [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; };
  const auto is_half = [](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    return value >= 0xA1 && value <= 0xFE;
  };
  std::size_t begin = offset;  // a pair may begin earlier: two bytes can be UTF-8 by chance
  while (begin > 0 && offset - begin < kEnough && is_high(bytes[begin - 1])) {
    --begin;
  }
  const std::string_view seen = bytes.substr(begin, 2 * kEnough);
  std::size_t pairs = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
    if (is_half(seen[i]) && is_half(seen[i + 1])) {
      ++pairs;
      ++i;
    } else if (is_high(seen[i])) {
      ++others;
    }
  }
  return pairs >= 2 && 10 * others <= pairs;
}

// True if the bytes from `offset` on look like a European language in one byte a letter: non-ASCII
// bytes are rare and stand alone or in short runs.
bool looks_like_latin1(std::string_view bytes, std::size_t offset) {
  constexpr std::size_t kEnough = 8192;  // bytes
  const auto is_high = [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; };
  const std::string_view seen = bytes.substr(offset, kEnough);
  std::size_t letters = 0;
  std::size_t longer = 0;  // high bytes of runs of more than three
  for (std::size_t i = 0; i < seen.size();) {
    std::size_t end = i;
    while (end < seen.size() && is_high(seen[end])) {
      ++end;
    }
    (end - i <= 3 ? letters : longer) += end - i;
    i = end + 1;
  }
  return letters > 10 * longer && letters * 2 < seen.size();
}

// Returns the shell command that converts a file from `encoding`, a name of iconv's, to UTF-8.
std::string conversion_command(const TextFile& file, std::string_view encoding) {
  const std::string iconv = concat_text("iconv -f ", encoding, " -t UTF-8");
  if (file.is_standard_input()) {
    return iconv;
  }
  const std::filesystem::path inner = without_compression(file.path);
  std::filesystem::path target = inner;
  target.replace_extension(".utf8" + inner.extension().string());
  std::string from = shell_word(file.path);
  std::string to = shell_word(target.string());
  if (from.empty() || to.empty()) {
    from = "FILE";
    to = "NEW";
  }
  const Compression compression = compression_of_name(file.path);
  return compression == Compression::none
             ? concat_text(iconv, " ", from, " > ", to)
             : concat_text(compression == Compression::gzip ? "gzip" : "zstd", " -dc ", from, " | ",
                           iconv, " > ", to);
}

}  // namespace

void require_no_wide_encoding(const TextFile& file, std::string_view beginning) {
  const std::string_view encoding = wide_encoding(beginning);
  require(encoding.empty(), file.name(), ": expected UTF-8, got ", encoding,
          "; convert it: ", encoding.empty() ? "" : conversion_command(file, encoding));
}

std::string conversion_hint(const TextFile& file, std::string_view bytes, std::size_t offset) {
  if (looks_like_cp949(bytes, offset)) {
    return concat_text(" (if it is CP949: ", conversion_command(file, "CP949"), ")");
  }
  if (!looks_like_latin1(bytes, offset)) {
    return "";
  }
  // Windows' variant has letters and quotation marks where Latin-1 has control characters.
  const bool is_windows =
      std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.end(), [](char byte) {
        const auto value = static_cast<unsigned char>(byte);
        return value >= 0x80 && value < 0xA0;
      });
  return concat_text(" (if it is Latin-1: ",
                     conversion_command(file, is_windows ? "WINDOWS-1252" : "ISO-8859-1"), ")");
}

}  // namespace headlight
