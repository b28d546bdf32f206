#include "formats/adapter/adapter.h"
#include "headlight/formats/gguf/gguf.h"
#include "support/test.h"

namespace gguf_adapter_test {
const fs::path kData = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/formats/adapter/data";

double largest_difference(const Gpt& a, const Gpt& b) {
  const Batch batch = make_batch({{1, 5, 3, 10, 7}});
  const std::vector<double> x = a.logits(batch).to_vector();
  const std::vector<double> y = b.logits(batch).to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i] - y[i]));
  }
  return largest;
}

TEST_CASE("an adapter as a GGUF file computes as that of PEFT") {
  const std::string name =
      GENERATE("llama-plain", "llama-ranks", "llama-alphas", "llama-embeddings", "gpt2-plain");
  INFO(name);
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "adapter.gguf";
  const fs::path base = kData / name.substr(0, name.find('-'));
  write_gguf_adapter(file, kData / name, base);
  CHECK(is_adapter(file));
  const auto expected = load_weights(kData / name);
  CHECK(largest_difference(*load_weights(file, {.base = base}), *expected) < 1e-4);
  CHECK(largest_difference(*load_weights(base), *expected) > 0.01);
}

TEST_CASE("a GGUF adapter has llama.cpp's names and needs its base") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "adapter.gguf";
  write_gguf_adapter(file, kData / "llama-embeddings", kData / "llama");
  const GgufFile written(file);
  CHECK(std::get<std::string>(*written.find_value("general.type")) == "adapter");
  CHECK(std::get<std::string>(*written.find_value("adapter.type")) == "lora");
  CHECK(std::get<float>(*written.find_value("adapter.lora.alpha")) == 5);
  CHECK(written.find_tensor("token_embd.weight.lora_a")->shape == Shape({12, 2}));
  CHECK(written.find_tensor("token_embd.weight.lora_b")->shape == Shape({8, 2}));
  CHECK(written.find_tensor("output.weight.lora_a")->shape == Shape({2, 8}));
  CHECK(written.find_tensor("blk.1.attn_q.weight.lora_b")->shape == Shape({8, 2}));
  check_error([&] { load_weights(file); }, {"which it does not name", "--base"});
  CHECK_THROWS_WITH(load_weights(file, {.base = kData / "gpt2"}),
                    contains_text("expected an adapter of the architecture gpt2"));
}

TEST_CASE("adapters that a GGUF file cannot hold are refused") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "adapter.gguf";
  for (const char* name : {"llama-dora", "llama-tokens", "llama-saved_modules"}) {
    INFO(name);
    CHECK_THROWS_WITH(write_gguf_adapter(file, kData / name, kData / "llama"),
                      contains_text("which a GGUF adapter cannot hold"));
  }
  CHECK_FALSE(fs::exists(file));
}
}  // namespace gguf_adapter_test
