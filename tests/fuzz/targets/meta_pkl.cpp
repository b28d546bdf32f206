#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/datasets/nanogpt_vocabulary.h"

namespace headlight::fuzz {

// Every character of a vocabulary must have the id that it stands for.
void meta_pkl(std::string_view input) {
  accepted([&] {
    const CharTokenizer tokenizer = parse_nanogpt_vocabulary(input, "meta.pkl");
    std::string text;
    std::vector<std::int32_t> expected;
    for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.special_name(id).empty()) {
        text += tokenizer.token_bytes(id);
        expected.push_back(id);
      }
    }
    demand(tokenizer.encode(text) == expected, "a character has not the id that it stands for");
  });
}

}  // namespace headlight::fuzz
