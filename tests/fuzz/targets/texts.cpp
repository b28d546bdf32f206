#include <array>
#include <memory>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/text_source.h"

namespace headlight::fuzz {
namespace {

// Limit for compressed inputs, which may expand to gigabytes.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

constexpr std::array<const char*, 8> kNames{"x.txt",     "x.jsonl",     "x.txt.gz", "x.jsonl.gz",
                                            "x.txt.zst", "x.jsonl.zst", "x.csv",    "x.tsv"};

}  // namespace

// Reads JSON lines, tables, plain text and compressed files in every format.
void texts(std::string_view input) {
  const std::size_t name = take_byte(input) % kNames.size();
  const unsigned mode = take_byte(input);
  const bool is_zstandard = name == 4 || name == 5;
  TextFormat format;
  format.jsonl = name >= 6 ? "a" : "";
  format.cut = static_cast<StreamCut>(mode >> 2 & 3U);
  format.as_it_is = (mode & 16U) != 0;
  format.any_bytes = (mode & 32U) != 0;
  if (is_zstandard) {
    format.cut = StreamCut::character;
  } else {
    format.split.mode = static_cast<DocumentSplit>(mode & 3U);
    format.split.separator = std::string(take_text(input));
  }
  const TextFile file{.path = kNames[name], .held = std::make_shared<const std::string>(input)};
  std::string text;
  Index number = 0;
  const bool whole = accepted([&] {
    read_text(file, format, [&](const TextPart& part) {
      demand(part.number == number++, "a part is lost or comes twice");
      demand(format.any_bytes || valid_utf8_prefix(part.text) == part.text.size(),
             "a part is not UTF-8");
      text += part.text;
      require(text.size() <= kMostBytes, "input: too long for this target");
    });
  });
  if (whole && name == 0 && format.split.mode == DocumentSplit::none && format.as_it_is &&
      format.any_bytes) {
    demand(text == input, "a stream is not its parts");
  }
}

}  // namespace headlight::fuzz
