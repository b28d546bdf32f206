#pragma once

#include <string>
#include <string_view>

#include "headlight/nn/gpt_config.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The configuration as Hugging Face's GPT-2 config.json. What a GPT-2 cannot express there
// (post-norm, no MLPs, fewer heads in a layer) is written under "model_type": "headlight", so that
// other tools refuse it instead of misreading it.
std::string gpt2_config_json(const GptConfig& config, const Tokenizer& tokenizer);

// Reads such a config.json, also one of other tools: absent keys have the defaults of transformers'
// GPT2Config. Throws Error, one line that begins with `name`
// and says the key, for another model type, a size that is missing or not sensible, and options
// that would change the function of the model and are not supported.
GptConfig parse_gpt2_config(std::string_view json, std::string_view name);

}  // namespace headlight
