#include "datasets/fingerprint.h"
#include "nn/packed/packed_weight.h"
#include "support/saved_model.h"
#include "support/test.h"

// Folders of bfloat16 in several files whose matrices are packed while they are read.

// Writes a model of the family Llama: fused rows of keys and values, an embedding that is not the
// head, and rows that do not fill the last panel.
fs::path write_folder(const TemporaryFolder& folder) {
  const GptConfig config = llama_like({.vocab_size = 259,
                                       .block_size = 8,
                                       .n_layer = 1,
                                       .n_head = 4,
                                       .n_embd = 256,
                                       .tie_weights = false,
                                       .n_inner = 1024,
                                       .n_kv_head = 1});
  write_model_files(folder.path(), Gpt(config, 7), ByteTokenizer(), StoredFloats::bfloat16);
  return folder.path();
}

double held_bytes() {
  const StorageStatistics statistics = storage_statistics();
  return static_cast<double>(statistics.live_bytes + statistics.cached_bytes);
}

TEST_CASE("a folder of bfloat16 is packed in 1.1 times its bytes") {
  const TemporaryFolder folder;
  const fs::path directory = write_folder(folder);
  const auto bytes = static_cast<double>(fs::file_size(directory / "model.safetensors"));
  shard(directory);
  release_unused_storage();
  const double before = held_bytes();
  const auto model = load_weights(directory, {.matrices = MatrixForm::bfloat16});
  CHECK(held_bytes() - before < 1.1 * bytes);
}

TEST_CASE("matrices of bfloat16 keep their bits, and int8 rounds as round_weights does") {
  const TemporaryFolder folder;
  const fs::path directory = write_folder(folder);
  shard(directory);
  const auto plain = load_weights(directory);
  const auto packed = load_weights(directory, {.matrices = MatrixForm::bfloat16});
  CHECK(fingerprint(*packed) == fingerprint(*plain));
  CHECK_FALSE(packed->stored_head()->is_rounded());
  CHECK(packed->stored_embedding() != nullptr);
  const auto integers = load_weights(directory, {.matrices = MatrixForm::int8});
  CHECK(integers->stored_head()->is_rounded());
  round_weights(*plain, WeightFormat::int8);
  CHECK(fingerprint(*integers) == fingerprint(*plain));
}

TEST_CASE("a weight of bfloat16 that is not finite is refused by name") {
  const TemporaryFolder folder;
  const fs::path directory = write_folder(folder);
  NamedTensors tensors = read_safetensors(directory / "model.safetensors");
  const auto matrix =
      std::ranges::find(tensors, 2, [](const auto& item) { return item.second.rank(); });
  matrix->second.fill(INFINITY);
  write_safetensors(directory / "model.safetensors", tensors);
  const std::string error =
      error_of([&] { load_weights(directory, {.matrices = MatrixForm::bfloat16}); });
  CHECK(contains(error, "contains values that are not finite"));
}
