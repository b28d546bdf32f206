#pragma once

#include <string>

#include "base/json.h"

namespace headlight {

// Files beside a tokenizer.json that change its tokens; null: missing.
struct SideFiles {
  Json tokenizer_config = {};
  Json special_tokens_map = {};
  Json added_tokens = {};  // added_tokens.json
  Json config = {};
};

// Changes a tokenizer.json as AutoTokenizer of transformers 5.24 does with the files beside it:
// adds the tokens that they name behind the others (ids in added_tokens_decoder are only an order),
// makes tokens of the vocabulary special, and changes flags. add_prefix_space counts for the
// classes that build their own stages. add_bos_token and add_eos_token do not: the post-processor
// is that of tokenizer.json. Returns true if anything changes. Throws Error that begins with
// `where` and names the key for tokens that it cannot read.
bool apply_side_files(const SideFiles& files, const std::string& where, Json& root);

}  // namespace headlight
