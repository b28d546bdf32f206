#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Builds the tokenizer of a tokenizer.json: `root` is the parsed `file`. `end_name` is the
// end-of-text token; "": the first of the usual names that the file has. Throws Error, one line
// that begins with `name` and names the key, for a stage that changes ids and is not supported.
std::unique_ptr<Tokenizer> read_pipeline_tokenizer(const Json& root, std::string_view file,
                                                   std::string_view end_name,
                                                   std::string_view name);

}  // namespace headlight
