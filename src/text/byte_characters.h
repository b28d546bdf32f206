#pragma once

#include <array>
#include <cstdint>

namespace headlight {

// The printable character that byte-level tokenizer files write for each byte: bytes 33-126,
// 161-172 and 174-255 stand for themselves, the other 68, in increasing order, for U+0100 and up;
// so a blank is U+0120. Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2), 2019.
std::array<char32_t, 256> byte_characters();

}  // namespace headlight
