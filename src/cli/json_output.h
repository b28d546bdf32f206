#pragma once

#include <nlohmann/json_fwd.hpp>

#include "headlight/heads/head_id.h"
#include "headlight/text/tokenizer.h"

namespace headlight::cli {

// What --json promises: one object, on one line of stdout. Bytes that are not UTF-8 (in a path, for
// example) become U+FFFD, which JSON can hold.
void print_json(const nlohmann::ordered_json& json);

// {head, layer, index}, to which others add what they know of a head.
nlohmann::ordered_json head_json(const HeadId& id);

// Tokenizer::token_label, and "<|209|>" for an id that the model alone has: its vocabulary may be
// rounded up.
std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer);

// {id, token}
nlohmann::ordered_json token_json(std::int32_t id, const Tokenizer& tokenizer);

}  // namespace headlight::cli
