#include "views/report/json_output.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace headlight {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
  std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer) {
  return id < tokenizer.vocab_size() ? tokenizer.token_label(id) : "<|" + std::to_string(id) + "|>";
}

Json token_json(std::int32_t id, const Tokenizer& tokenizer) {
  return {{"id", id}, {"token", label_of_id(id, tokenizer)}};
}

}  // namespace headlight
