#pragma once

#include <string>
#include <vector>

#include "headlight/formats/model_directory.h"

namespace headlight {

// Gives a model a chat template. Special tokens of the template that the vocabulary lacks (see
// ChatFormat::missing_names) are added to it. Their embeddings and output rows are near the mean of
// the others, each a little apart, so that training starts from them. The token after an answer
// ends texts, too. Returns the names of the added tokens.
// Throws Error for a template that cannot be used, and for a tokenizer without special tokens of
// its own, as one of characters; then nothing changes. The weights must be float32.
std::vector<std::string> set_chat_template(LoadedModel& loaded, const std::string& source);

}  // namespace headlight
