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

Json token_json(std::int32_t id, const Tokenizer& tokenizer) {
  return {{"id", id}, {"token", tokenizer.token_label(id)}};
}

}  // namespace headlight::cli
