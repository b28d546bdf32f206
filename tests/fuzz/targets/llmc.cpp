#include <array>

#include "formats/huggingface/model_weights.h"
#include "formats/llmc/llmc_file.h"
#include "formats/llmc/llmc_header.h"
#include "formats/llmc/llmc_tokenizer.h"
#include "formats/nanogpt/nanogpt_file.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

std::string bytes_of_header(const LlmcHeader& header) {
  return {reinterpret_cast<const char*>(header.data()), sizeof(header)};
}

// Checkpoint with small sizes, given by the first bytes, and as many elements as they need.
std::string small_checkpoint(std::string_view input) {
  LlmcHeader header{kLlmcModel, take_byte(input) % 2 == 0 ? 3 : 5};
  for (std::size_t place = 2; place < 8; ++place) {
    header.at(place) = 1 + static_cast<std::int32_t>(take_byte(input) % 6);
  }
  const auto size = [&](std::size_t place) { return static_cast<std::size_t>(header.at(place)); };
  const std::size_t width = size(6);
  const std::size_t elements =
      (size(7) + size(2) + 2) * width + size(4) * (12 * width * width + 13 * width);
  std::string bytes(input);
  bytes.resize((header[1] == 3 ? 4 : 2) * elements, '\x3C');
  return bytes_of_header(header) + bytes;
}

void use_checkpoint(const std::string& bytes) {
  static const MemoryFile memory;
  memory.write(bytes);
  accepted([&] {
    const auto file = std::make_shared<const LlmcFile>(memory.path());
    GptConfig config = file->config();
    ModelWeights weights(llmc_weights(file), kNanoGptLayout);
    weights.infer_missing_fields(config);
    weights.check(config);
    const std::unique_ptr<Gpt> model = Gpt::blank(config);
    weights.read_into(*model);
  });
}

}  // namespace

// The first byte selects a checkpoint, one with small sizes, a tokenizer, or one with a number of
// tokens.
void llmc(std::string_view input) {
  const unsigned mode = take_byte(input) % 4;
  if (mode < 2) {
    use_checkpoint(mode == 0 ? std::string(input) : small_checkpoint(input));
    return;
  }
  std::string bytes(input);
  if (mode == 3) {
    const auto count = static_cast<std::int32_t>(take_byte(input)) + 257;
    const auto end = static_cast<std::int32_t>(take_byte(input));
    bytes = bytes_of_header({kLlmcTokenizer, 2, count, end}) + std::string(input);
  }
  accepted([&] {
    const auto tokenizer = parse_llmc_tokenizer(bytes, "input");
    demand(tokenizer->decode_bytes(tokenizer->encode_bytes(input)) == input, "bytes were lost");
  });
}

}  // namespace headlight::fuzz
