#include "show/report/parts/json_output.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/strings/display_text.h"
#include "base/strings/hex_text.h"
#include "base/transformed.h"

namespace headlight {

std::string json_line(const Json& json) {
  const std::string text = json.dump();
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool has_more = text[i] == '\xC2' && i + 1 < text.size();  // U+0080 to U+00BF
    const auto control = static_cast<unsigned char>(has_more ? text[i + 1] : text[i]);
    if (control == 0x7F || (has_more && control < 0xA0)) {
      line += "\\u00" + hex_text({&control, 1});
      i += has_more ? 1 : 0;
    } else {
      line += text[i];
    }
  }
  return line + "\n";
}

void print_json(const Json& json) { std::cout << json_line(json); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer) {
  return id < tokenizer.vocab_size() ? tokenizer.token_label(id) : "<|" + std::to_string(id) + "|>";
}

std::string shown_token(std::int32_t id, const Tokenizer& tokenizer) {
  return display_label(label_of_id(id, tokenizer));
}

std::vector<std::string> shown_tokens(std::span<const std::int32_t> ids,
                                      const Tokenizer& tokenizer) {
  return transformed(ids, [&](std::int32_t id) { return shown_token(id, tokenizer); });
}

std::vector<TokenCell> character_cells(std::span<const std::int32_t> ids,
                                       const Tokenizer& tokenizer) {
  const auto is_unknown = [&](std::int32_t id) { return id >= tokenizer.vocab_size(); };
  if (std::ranges::none_of(ids, is_unknown)) {
    return token_cells(tokenizer, ids, TextUnit::character);
  }
  std::vector<TokenCell> cells;
  for (Index i = 0; i < std::ssize(ids); ++i) {
    cells.push_back({.begin = i, .end = i + 1});
  }
  return cells;
}

std::string shown_cell(const TokenCell& cell, std::span<const std::int32_t> ids,
                       const Tokenizer& tokenizer) {
  return cell.end - cell.begin == 1
             ? shown_token(ids[static_cast<std::size_t>(cell.begin)], tokenizer)
             : display_label(cell.label);
}

std::string quoted_label(std::int32_t id, const Tokenizer& tokenizer) {
  return "'" + shown_token(id, tokenizer) + "'";
}

Json token_json(std::int32_t id, const Tokenizer& tokenizer) {
  return {{"id", id}, {"token", label_of_id(id, tokenizer)}};
}

Json likeliest_json(const std::vector<TokenLogProbability>& tokens, const Tokenizer& tokenizer) {
  return json_list(tokens, [&](const TokenLogProbability& likely) {
    Json token = token_json(likely.token, tokenizer);
    token["probability"] = std::exp(likely.log_probability);
    return token;
  });
}

}  // namespace headlight
