#include "questions/token_group.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace headlight {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// First and last position of "3", "5-6" or "last"; none for other text.
std::optional<std::pair<Index, Index>> position_range(const std::string& part, Index length) {
  if (part == "last") {
    return std::pair{length - 1, length - 1};
  }
  const std::size_t dash = std::min(part.find('-'), part.size());
  const std::string first = part.substr(0, dash);
  const std::string last = dash == part.size() ? first : part.substr(dash + 1);
  if (!is_number(first) || !is_number(last)) {
    return std::nullopt;
  }
  return std::pair<Index, Index>{std::stoll(first), std::stoll(last)};
}

// Positions of a list like "3", "5-6" or "2,last", for `length` tokens; none for other text.
std::optional<std::vector<Index>> listed_positions(const std::string& text, Index length) {
  std::vector<Index> positions;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto range = position_range(part, length);
    if (!range) {
      return std::nullopt;
    }
    require(range->first <= range->second && range->second < length,
            "expected positions from 0 to ", length - 1, ", got ", part);
    for (Index position = range->first; position <= range->second; ++position) {
      positions.push_back(position);
    }
  }
  return positions;
}

// Offset and length of a text in `bytes`. A number after "#" selects one of several occurrences.
std::pair<std::size_t, std::size_t> span_of(const std::string& wanted, const std::string& bytes) {
  const std::size_t sign = wanted.rfind('#');
  const bool is_numbered = sign != wanted.npos && sign > 0 && is_number(wanted.substr(sign + 1));
  const std::string text = is_numbered ? wanted.substr(0, sign) : wanted;
  std::vector<std::size_t> found;
  for (std::size_t at = bytes.find(text); at != bytes.npos; at = bytes.find(text, at + 1)) {
    found.push_back(at);
  }
  require(!found.empty(), "expected words of the clean text, or positions of tokens, got '", text,
          "'");
  require(is_numbered || found.size() == 1, "'", text, "' appears ", found.size(),
          " times in the clean text; choose one, e.g. '", text, "#1'");
  const std::size_t number = is_numbered ? std::stoul(wanted.substr(sign + 1)) : 1;
  require(number >= 1 && number <= found.size(), "expected '", text, "#1' to #", found.size(),
          ", got #", number);
  return {found[number - 1], text.size()};
}

// Tokens that a text covers wholly or in part.
std::vector<Index> covering_tokens(const std::string& wanted, const std::vector<std::int32_t>& ids,
                                   const Tokenizer& tokenizer) {
  std::string bytes;
  std::vector<std::size_t> ends;  // end of each token in `bytes`
  for (const std::int32_t id : ids) {
    bytes += tokenizer.token_bytes(id);
    ends.push_back(bytes.size());
  }
  const auto [begin, length] = span_of(wanted, bytes);
  std::vector<Index> positions;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t start = i == 0 ? 0 : ends[i - 1];
    if (ends[i] > begin && start < begin + length) {
      positions.push_back(static_cast<Index>(i));
    }
  }
  return positions;
}

}  // namespace

TokenGroup read_token_group(const std::string& name, const Json& value, const PatchingTask& task,
                            const Tokenizer& tokenizer) {
  if (value.is_string()) {
    const std::string& text = value.text();
    require(!name.empty() && !text.empty(), "expected NAME=TEXT or NAME=POSITIONS, got '", name,
            "=", text, "'");
    const auto positions = listed_positions(text, std::ssize(task.clean));
    return {name, positions ? *positions : covering_tokens(text, task.clean, tokenizer)};
  }
  const Json list = value.is_array() ? value : Json::array({value});
  TokenGroup group{name, {}};
  for (const Json& position : list) {
    require(position.is_integer(), "expected a text, a position or a list of positions, got a ",
            position.type_name());
    group.positions.push_back(position.integer());
  }
  return group;
}

void add_group(std::vector<TokenGroup>& groups, TokenGroup group) {
  const auto same = std::ranges::find(groups, group.name, &TokenGroup::name);
  if (same == groups.end()) {
    groups.push_back(std::move(group));
  } else {
    *same = std::move(group);
  }
}

}  // namespace headlight
