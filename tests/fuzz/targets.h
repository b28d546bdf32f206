#pragma once

#include <array>
#include <string_view>

// Readers of bytes from outside. A target passes its input to a reader and uses the result. It
// returns if Headlight accepts or refuses the input, and throws a non-headlight::Error for a
// finding. In most targets the first byte selects the format.
namespace headlight::fuzz {

void safetensors(std::string_view input);
void npz(std::string_view input);
void gguf(std::string_view input);
void tokenizer(std::string_view input);
void round_trip(std::string_view input);
void config(std::string_view input);
void corpus(std::string_view input);
void checkpoint(std::string_view input);
void token_file(std::string_view input);
void options(std::string_view input);
void meta_pkl(std::string_view input);
void texts(std::string_view input);
void serve(std::string_view input);
void chat_template(std::string_view input);
void nanogpt(std::string_view input);
void sentencepiece(std::string_view input);
void grammar(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr std::array kTargets{Target{"safetensors", safetensors},
                                     Target{"npz", npz},
                                     Target{"gguf", gguf},
                                     Target{"tokenizer", tokenizer},
                                     Target{"round_trip", round_trip},
                                     Target{"config", config},
                                     Target{"corpus", corpus},
                                     Target{"checkpoint", checkpoint},
                                     Target{"token_file", token_file},
                                     Target{"options", options},
                                     Target{"meta_pkl", meta_pkl},
                                     Target{"texts", texts},
                                     Target{"serve", serve},
                                     Target{"chat_template", chat_template},
                                     Target{"nanogpt", nanogpt},
                                     Target{"sentencepiece", sentencepiece},
                                     Target{"grammar", grammar}};

}  // namespace headlight::fuzz
