#include "cli/json_output.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace headlight::cli {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
  std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

Json head_json(const HeadId& id) {
  return {{"head", head_name(id)}, {"layer", id.layer}, {"index", id.head}};
}

std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer) {
  return id < tokenizer.vocab_size() ? tokenizer.token_label(id) : "<|" + std::to_string(id) + "|>";
}

Json token_json(std::int32_t id, const Tokenizer& tokenizer) {
  return {{"id", id}, {"token", label_of_id(id, tokenizer)}};
}

}  // namespace headlight::cli
