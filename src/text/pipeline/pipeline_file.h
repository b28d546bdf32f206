#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer of a tokenizer.json `root`, whose text is `file`. `end_name` is the token that ends
// a text, "" for the first that is there of those that models call so. Throws Error, one line that
// begins with `name` and says the key, for a stage that would change ids and that Headlight does
// not know.
std::unique_ptr<Tokenizer> read_pipeline_tokenizer(const Json& root, std::string_view file,
                                                   std::string_view end_name,
                                                   std::string_view name);

}  // namespace headlight
