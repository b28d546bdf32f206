#include "headlight/heads/head_id.h"

#include <algorithm>
#include <charconv>

namespace headlight {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  fail("heads: expected LAYER.HEAD like 0.1,2.3 or LAYER:HEADS like 0:1,2;3:0, got '", text, "'");
}

// The parts between separators; a text that ends with a separator has an empty last part.
std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Index number_of(std::string_view part, std::string_view whole) {
  Index number = -1;
  const char* end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) {
    refuse(whole);
  }
  return number;
}

// What stands before and after the only separator of a part.
std::pair<std::string_view, std::string_view> halves(std::string_view part, char separator,
                                                     std::string_view whole) {
  const std::vector<std::string_view> both = split_at(part, separator);
  if (both.size() != 2) {
    refuse(whole);
  }
  return {both[0], both[1]};
}

// "0 to 3", or "0, 2 and 5" of a layer that lost some.
std::string numbers_text(const GptConfig& config, Index layer) {
  const Index count = config.heads(layer);
  if (config.head_numbers.empty()) {
    return concat_text("0 to ", count - 1);
  }
  std::string text;
  for (Index place = 0; place < count; ++place) {
    text += place == 0 ? "" : place + 1 == count ? " and " : ", ";
    text += std::to_string(config.head_number(layer, place));
  }
  return text;
}

}  // namespace

std::string head_name(const HeadId& id) { return concat_text(id.layer, ".", id.head); }

std::vector<HeadId> parse_heads(std::string_view text) {
  std::vector<HeadId> heads;
  if (text.find(':') == std::string_view::npos) {
    for (const std::string_view part : split_at(text, ',')) {
      const auto [layer, head] = halves(part, '.', text);
      heads.push_back({number_of(layer, text), number_of(head, text)});
    }
  } else {
    for (const std::string_view part : split_at(text, ';')) {
      const auto [layer, numbers] = halves(part, ':', text);
      for (const std::string_view head : split_at(numbers, ',')) {
        heads.push_back({number_of(layer, text), number_of(head, text)});
      }
    }
  }
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

std::vector<HeadId> all_heads(const GptConfig& config) {
  std::vector<HeadId> heads;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    for (Index head = 0; head < config.heads(layer); ++head) {
      heads.push_back({layer, config.head_number(layer, head)});
    }
  }
  return heads;
}

Index place_of(const HeadId& id, const GptConfig& config) {
  require_heads({id}, config);
  return *config.head_place(id.layer, id.head);
}

void require_heads(const std::vector<HeadId>& heads, const GptConfig& config) {
  for (const HeadId& id : heads) {
    require(id.layer >= 0 && id.layer < config.n_layer, "heads: the model has layers 0 to ",
            config.n_layer - 1, ", got ", head_name(id));
    require(config.head_place(id.layer, id.head).has_value(), "heads: layer ", id.layer,
            " has heads ", numbers_text(config, id.layer), ", got ", head_name(id));
  }
}

}  // namespace headlight
