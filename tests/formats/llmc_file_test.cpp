#include "formats/llmc/llmc_file.h"
#include "formats/llmc/llmc_header.h"
#include "support/test.h"

namespace llmc_file_test {
template <class T>
std::string bytes_of_list(const std::vector<T>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

std::string header(Ids numbers) {
  numbers.resize(256);
  return bytes_of_list(numbers);
}

// T = 3, V = 5 of 7 rows, L = 2, NH = 2, C = 4.
constexpr std::size_t kElements = 7 * 4 + 3 * 4 + 2 * (12 * 16 + 13 * 4) + 2 * 4;
const Ids kHeader{kLlmcModel, 3, 3, 5, 2, 2, 4, 7};

// Each element is its place.
std::string checkpoint() {
  std::vector<float> elements(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    elements[i] = static_cast<float>(i);
  }
  return header(kHeader) + bytes_of_list(elements);
}

// The same values as bfloat16, which holds whole numbers up to 256.
std::string brain_checkpoint() {
  Ids numbers = kHeader;
  numbers[1] = 5;
  std::string bytes = header(numbers);
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto value = static_cast<float>(i % 256);
    bytes.append(reinterpret_cast<const char*>(&value) + 2, 2);
  }
  return bytes;
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "model_a.bin", bytes);
  const std::string message = error_of([&] { LlmcFile(folder / "model_a.bin"); });
  const std::size_t name = message.find("model_a.bin: ");
  return name == message.npos ? message : message.substr(name);
}

std::string refusal_of_header(std::size_t place, std::int32_t value) {
  Ids numbers = kHeader;
  numbers[place] = value;
  return refusal(header(numbers) + checkpoint().substr(1024));
}

std::string tokenizer_bytes(const std::vector<std::string>& more) {
  std::string tokens;
  std::int32_t count = 0;
  const auto add = [&](const std::string& token) {
    tokens += static_cast<char>(token.size()) + token;
    ++count;
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(std::string(1, static_cast<char>(byte)));
  }
  for (const std::string& token : more) {
    add(token);
  }
  return header({kLlmcTokenizer, 2, count, 256}) + tokens;
}

const std::vector<std::string> kTokens{"<|endoftext|>", "th", "the", " the"};

TEST_CASE("the weights of an llm.c checkpoint are at their places") {
  const TemporaryFolder folder;
  write_bytes(folder / "model_1.bin", checkpoint());
  const auto model = load_weights(folder / "model_1.bin");
  CHECK(model->config().vocab_size == 5);
  CHECK(model->config().activation == Activation::gelu_tanh);
  CHECK(model->config().tie_weights);
  // First elements: the token embedding has 7 rows of 4 in the file.
  const std::map<std::string, double> first{{"wte.weight", 0},
                                            {"wpe.weight", 28},
                                            {"h.0.ln_1.weight", 40},
                                            {"h.1.ln_1.weight", 44},
                                            {"h.0.ln_1.bias", 48},
                                            {"h.0.attn.c_attn.weight", 56},
                                            {"h.1.attn.c_attn.weight", 104},
                                            {"h.1.attn.c_attn.bias", 164},
                                            {"h.0.attn.c_proj.weight", 176},
                                            {"h.0.mlp.c_fc.weight", 232},
                                            {"h.1.mlp.c_fc.weight", 296},
                                            {"h.0.mlp.c_proj.weight", 392},
                                            {"h.1.mlp.c_proj.bias", 524},
                                            {"ln_f.weight", 528},
                                            {"ln_f.bias", 532}};
  std::size_t found = 0;
  for (const auto& [name, tensor] : model->parameters()) {
    const std::vector<double> values = tensor.to_vector();
    const auto expected = first.find(name);
    if (expected != first.end()) {
      ++found;
      INFO(name);
      CHECK(values.front() == expected->second);
      CHECK(values.back() == expected->second + static_cast<double>(values.size()) - 1);
    }
  }
  CHECK(found == first.size());
  write_bytes(folder / "model_2.bin", brain_checkpoint());
  const auto brain = load_weights(folder / "model_2.bin");
  CHECK(brain->parameters()[1].second.to_vector()[3] == 31);
}

TEST_CASE("llm.c files are refused with one line") {
  const std::string size = "model_a.bin: expected " + std::to_string(1024 + 4 * kElements);
  CHECK(refusal(checkpoint() + "x").starts_with(size + " bytes according to its header, got "));
  CHECK(refusal(checkpoint().substr(0, 2000)).starts_with(size));
  CHECK(refusal("abc") == "model_a.bin: expected a header of 1024 bytes, got a file of 3");
  CHECK(contains(refusal_of_header(0, 7), "expected a checkpoint of llm.c"));
  CHECK(refusal_of_header(1, 1) ==
        "model_a.bin: version: expected 3 (float32) or 5 (bfloat16), got 1");
  CHECK(refusal_of_header(2, 0) == "model_a.bin: maxT: expected 1 to 16777216, got 0");
  CHECK(refusal_of_header(7, 4) == "model_a.bin: Vp: expected at least V = 5, got 4");
  CHECK(contains(refusal_of_header(5, 3), "n_head"));
  CHECK(contains(refusal_of_header(6, 1 << 24), "bytes according to its header"));
}

TEST_CASE("the tokenizer of an llm.c checkpoint is beside it") {
  const TemporaryFolder folder;
  write_bytes(folder / "model_1.bin", checkpoint());
  CHECK(contains(error_of([&] { load_tokenizer(folder / "model_1.bin"); }),
                 "model_1.bin: no tokenizer: put gpt2_tokenizer.bin, or GPT-2's tokenizer.json"));
  write_bytes(folder / "gpt2_tokenizer.bin", tokenizer_bytes(kTokens));
  const Ids ids{258, 't', 259, 256};
  for (const fs::path& path :
       {folder / "model_1.bin", folder / "gpt2_tokenizer.bin", folder.path()}) {
    const auto tokenizer = open_tokenizer(path);
    CHECK(tokenizer->encode_bytes("thet the<|endoftext|>", {.read_special = true}) == ids);
    CHECK(tokenizer->end_token() == 256);
  }
  CHECK(contains(error_of([&] { find_model_directory(folder.path()); }),
                 "no model here, but an llm.c file; use "));
  const auto bad = [&](const std::string& bytes) {
    write_bytes(folder / "gpt2_tokenizer.bin", bytes);
    return error_of([&] { load_tokenizer(folder / "model_1.bin"); });
  };
  CHECK(contains(bad(tokenizer_bytes({"<|endoftext|>", "the"})),
                 "token 257: \"the\" is not made of two tokens of lower ids"));
  CHECK(contains(bad(tokenizer_bytes({"end"})), "token 256: expected <|endoftext|>, got \"end\""));
  CHECK(contains(bad(tokenizer_bytes(kTokens) + "x"), "1 bytes follow the last token"));
  const std::string cut = tokenizer_bytes(kTokens);
  CHECK(contains(bad(cut.substr(0, cut.size() - 1)), "token 259 exceeds the file"));
}
}  // namespace llmc_file_test
