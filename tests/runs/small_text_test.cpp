#include "headlight/runs/small_text.h"

#include "headlight/base/error.h"
#include "support/catch.h"
#include "support/program.h"

namespace small_text_test {

using namespace headlight;

namespace {

TrainConfig on_text(const ScratchFolder& folder, std::size_t bytes) {
  TrainConfig config;
  config.data = {folder.write("text.txt", std::string(bytes, 'a'))};
  return config;
}

}  // namespace

TEST_CASE("a small text without given model sizes gets a small model", "[train]") {
  const ScratchFolder folder;
  TrainConfig config = on_text(folder, 300);
  const std::string line = fit_sizes_to_text(config, {"data", "block_size"});
  CHECK(config.n_layer == 4);
  CHECK(config.n_head == 4);
  CHECK(config.n_embd == 128);
  CHECK(config.max_iters == 2000);
  CHECK(config.block_size == 1024);  // given
  CHECK(line.starts_with("a small text and no sizes given: n_layer 4, n_head 4, n_embd 128, "));
  CHECK(line.find("block_size") == std::string::npos);
}

TEST_CASE("given sizes, large texts and models to start from keep their sizes", "[train]") {
  const ScratchFolder folder;
  for (const char* key : {"n_layer", "n_head", "n_embd"}) {
    TrainConfig config = on_text(folder, 300);
    CHECK(fit_sizes_to_text(config, {key}).empty());
    CHECK(config.n_layer == 12);
    CHECK(config.max_iters == 600000);
  }
  TrainConfig large = on_text(folder, 10'000'000);
  CHECK(fit_sizes_to_text(large, {}).empty());
  CHECK(large.n_embd == 768);
  TrainConfig finetune = on_text(folder, 300);
  finetune.init_from = "gpt2";
  CHECK(fit_sizes_to_text(finetune, {}).empty());
}

TEST_CASE("data that does not exist is refused before sizes are chosen", "[train]") {
  TrainConfig config;
  config.data = {"missing.txt"};
  CHECK_THROWS_AS(fit_sizes_to_text(config, {}), Error);
}

}  // namespace small_text_test
