#include "formats/gguf/gguf_pre_tokenizer.h"

#include <array>

#include "formats/word_list.h"
#include "headlight/base/choices.h"
#include "headlight/tokenizers/bpe_pattern.h"

namespace headlight {
namespace {

using Pattern = std::string_view;

constexpr std::array kLlama3{kLlama3Pattern};
constexpr std::array kQwen2{kQwen2Pattern};
// Words include combining marks.
constexpr std::array kQwen35{Pattern(
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
// Mistral Nemo: words begin at capital letters.
constexpr std::array kTekken{Pattern(
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kGpt4o{Pattern(
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kDeepSeekCoder{Pattern(R"([\r\n])"), Pattern(R"(\s?\p{L}+)"),
                                    Pattern(R"(\s?\p{P}+)"), Pattern("[一-龥\u0800-一가-\uD7FF]+"),
                                    Pattern(R"(\p{N})")};
constexpr std::array kDeepSeekV3{
    Pattern(R"(\p{N}{1,3})"), Pattern("[一-龥\u3040-ゟ゠-ヿ]+"),
    Pattern(
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kSeedCoder{Pattern(
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kBailing{Pattern(
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)")};
constexpr std::array kMiniCpm5{
    Pattern(R"(\p{N}{1,3})"),
    Pattern(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kLaguna{Pattern(R"([^\n]+|[\n]+)"), kQwen2Pattern};
constexpr std::array kBloom{Pattern(R"( ?[^(\s|.,!?…。，、।۔،)]+)")};
constexpr std::array kViking{kBloom[0], Pattern(R"(\p{N})")};

// The names in llama-vocab.cpp of llama.cpp, except for patterns that are not linear (falcon,
// jais-2, exaone-moe, tiny_aya, superbpe) or not regular expressions (kimi-k2, afmoe), and for
// models of other kinds.
constexpr std::array kPieces{
    GgufPreTokenizer{kDefaultPieces},
    GgufPreTokenizer{"gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code "
                     "roberta-bpe gigachat a.x-4.0 mellum exaone4 jais trillion granite-docling"},
    GgufPreTokenizer{.names = "olmo mpt modern-bert", .nfc = true},
    GgufPreTokenizer{.names = "smollm starcoder refact codeshell exaone minerva-7b mellum2",
                     .digits = true},
    GgufPreTokenizer{.names = "command-r", .digits = true, .nfc = true},
    GgufPreTokenizer{.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 "
                              "jina-v5-nano",
                     .patterns = kLlama3,
                     .whole = true,
                     .begins = true},
    GgufPreTokenizer{"smaug-bpe dbrx glm4 chatglm-bpe", kLlama3},
    GgufPreTokenizer{
        .names = "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez", .patterns = kQwen2, .nfc = true},
    GgufPreTokenizer{"stablelm2 hunyuan solar-open grok-2", kQwen2},
    GgufPreTokenizer{.names = "qwen35", .patterns = kQwen35, .nfc = true},
    GgufPreTokenizer{.names = "tekken", .patterns = kTekken, .whole = true, .begins = true},
    GgufPreTokenizer{"gpt-4o llama4 kanana2 talkie minimax-m2", kGpt4o},
    GgufPreTokenizer{"deepseek-coder", kDeepSeekCoder},
    GgufPreTokenizer{"deepseek-v3 hunyuan-dense joyai-llm", kDeepSeekV3},
    GgufPreTokenizer{"seed-coder", kSeedCoder},
    GgufPreTokenizer{"bailingmoe bailingmoe2 llada-moe", kBailing},
    GgufPreTokenizer{.names = "minicpm5", .patterns = kMiniCpm5, .whole = true},
    GgufPreTokenizer{"laguna", kLaguna},
    GgufPreTokenizer{"poro-chat bloom gpt3-finnish", kBloom},
    GgufPreTokenizer{"viking", kViking},
};

}  // namespace

const GgufPreTokenizer& gguf_pre_tokenizer(std::string_view about, std::string_view name) {
  std::vector<std::string_view> known;
  for (const GgufPreTokenizer& pieces : kPieces) {
    for (const std::string_view word : words_of(pieces.names)) {
      if (word == name) {
        return pieces;
      }
      known.push_back(word);
    }
  }
  fail_choice(about, known, name);
}

}  // namespace headlight
