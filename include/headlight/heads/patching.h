#pragma once

#include <cstdint>
#include <vector>

#include "headlight/heads/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Two texts of equally many tokens that differ in what matters, such as "When Tom and Mina met, Tom
// gave it to" with another name, and the next tokens that each should have.
struct PatchingTask {
  std::vector<std::int32_t> clean;    // [T]
  std::vector<std::int32_t> corrupt;  // [T]
  std::int32_t answer = 0;            // what follows the clean text
  std::int32_t wrong = 0;             // what follows the corrupt one
};

struct HeadPatch {
  HeadId head;
  double difference = 0;  // logit of the answer less that of the wrong one
  double recovered = 0;   // 0: as the corrupt text, 1: as the clean one
};

struct PatchingResult {
  double clean_difference = 0;
  double corrupt_difference = 0;
  std::vector<HeadPatch> heads;  // in the order of HeadId
};

// Activation patching (Meng et al., arXiv 2202.05262; for heads Wang et al., arXiv 2211.00593): the
// model reads the corrupt text, with the output of one head replaced, at every position, by what it
// puts out on the clean text. A head that recovers much carries what the texts differ in.
// Throws Error when the texts differ in length, are empty or longer than the block, an id is
// outside the vocabulary, answer and wrong are the same, or both texts have the same difference.
PatchingResult patch_heads(const Gpt& model, const PatchingTask& task);

// The most likely next token after a text. Throws Error as patch_heads does.
std::int32_t likeliest_next(const Gpt& model, const std::vector<std::int32_t>& text);

}  // namespace headlight
