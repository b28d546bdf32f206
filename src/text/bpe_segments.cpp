#include "text/bpe_segments.h"

#include <limits>

#include "headlight/text/bpe_pattern.h"

namespace headlight {
namespace {

constexpr std::size_t kParallelPart = std::size_t{1} << 20;  // bytes

// A special token in a text, or the text's end.
struct FoundSpecial {
  std::size_t begin = 0;
  const SpecialToken* token = nullptr;
};

FoundSpecial find_special(const BpeState& state, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!state.begins_special[static_cast<std::uint8_t>(text[i])]) {
      continue;
    }
    for (const SpecialToken& token : state.specials) {
      if (text.substr(i).starts_with(token.name)) {
        return {i, &token};
      }
    }
  }
  return {text.size(), nullptr};
}

void add_segment(const BpeSegment& segment, std::size_t part_bytes,
                 std::vector<BpeTextPart>& parts) {
  if (parts.empty() || parts.back().bytes >= part_bytes) {
    parts.emplace_back();
  }
  parts.back().segments.push_back(segment);
  parts.back().bytes += segment.text.size();
}

}  // namespace

std::vector<BpeTextPart> split_for_encoding(const BpeState& state, std::string_view text,
                                            const BpeEncodeOptions& options) {
  const std::size_t part_bytes =
      options.parallel ? kParallelPart : std::numeric_limits<std::size_t>::max();
  std::vector<BpeTextPart> parts;
  while (!text.empty()) {
    const FoundSpecial found =
        options.read_special ? find_special(state, text) : FoundSpecial{text.size()};
    for (const std::string_view plain :
         split_between_pieces(text.substr(0, found.begin), part_bytes)) {
      add_segment({plain}, part_bytes, parts);
    }
    text.remove_prefix(found.begin);
    if (found.token != nullptr) {
      add_segment({{}, found.token->id}, part_bytes, parts);
      text.remove_prefix(found.token->name.size());
    }
  }
  return parts;
}

}  // namespace headlight
