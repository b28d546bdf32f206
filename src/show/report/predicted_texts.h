#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "headlight/interpret/lens/lens.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Texts of predicted tokens that end within a character, with the rest of it: by the index of the
// position in LensResult, and the token. Others have no entry.
using PredictedTexts = std::map<std::pair<std::size_t, std::int32_t>, std::string>;

// Returns the texts of the predictions that the lens shows. A right one has the character of
// `text`; the others continue as the model does, with the likeliest token that continues the
// character each time. Completes at most 32 of those, the last positions first.
PredictedTexts predicted_texts(const LensResult& result, std::span<const std::int32_t> text,
                               const Gpt& model, const Tokenizer& tokenizer);

}  // namespace headlight
