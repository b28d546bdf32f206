#pragma once

#include <string>
#include <string_view>

#include "headlight/data/dataset.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// XXH3-128 (https://github.com/Cyan4973/xxHash) of the names, types, shapes and elements in their
// order, as 32 hexadecimal digits. One changed bit changes it; it does not resist forgery.
std::string fingerprint(const NamedTensors& tensors);

// The same of the bytes of a file.
std::string fingerprint_of_bytes(std::string_view bytes);

// The same of token ids and the lengths of their sequences, wherever they lie, and of their shares.
std::string fingerprint_of_tokens(const TokenDataset& data);

// The same of what each id of a tokenizer stands for: of tokenizers with one fingerprint, a token
// file may have been made by any.
std::string fingerprint_of_vocabulary(const Tokenizer& tokenizer);

}  // namespace headlight
