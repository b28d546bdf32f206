#pragma once

#include <string>
#include <string_view>

#include "headlight/datasets/dataset.h"
#include "headlight/nn/module.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Returns XXH3-128 (https://github.com/Cyan4973/xxHash) of the names, types, shapes and elements in
// order, as 32 hexadecimal digits. Changes with any bit, but does not resist forgery.
std::string fingerprint(const NamedTensors& tensors);

// Returns the fingerprint of a model's parameters. Packed ones count as the float32 weights that
// they represent, unpacked one after the other.
std::string fingerprint(const Module& model);

// Returns the fingerprint of a file's bytes.
std::string fingerprint_of_bytes(std::string_view bytes);

// Returns the fingerprint of token ids, the lengths of their sequences, and their shares. It does
// not depend on where the ids are stored.
std::string fingerprint_of_tokens(const TokenDataset& data);

// Returns the fingerprint of the bytes and special name of every id. Tokenizers with the same
// fingerprint can share token files.
std::string fingerprint_of_vocabulary(const Tokenizer& tokenizer);

}  // namespace headlight
