#include "views/report/json_output.h"

#include <iostream>

#include "base/json.h"

namespace headlight {

void print_json(const Json& json) { std::cout << json.dump() << "\n"; }

std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer) {
  return id < tokenizer.vocab_size() ? tokenizer.token_label(id) : "<|" + std::to_string(id) + "|>";
}

Json token_json(std::int32_t id, const Tokenizer& tokenizer) {
  return {{"id", id}, {"token", label_of_id(id, tokenizer)}};
}

}  // namespace headlight
