#include "views/report/json_output.h"

#include <cmath>
#include <iostream>

#include "base/display_text.h"
#include "base/transformed.h"

namespace headlight {

std::string json_line(const Json& json) { return json.dump() + "\n"; }

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
