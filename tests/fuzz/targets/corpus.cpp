#include <algorithm>

#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/datasets/batches/batcher.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/datasets/documents.h"
#include "headlight/datasets/text_source.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "headlight/tokenizers/char_tokenizer.h"

namespace headlight::fuzz {
namespace {

TokenDataset read_dataset(std::string_view input, unsigned split, bool bytes) {
  static const MemoryFile file;
  const DocumentSplitOptions options{.mode = static_cast<DocumentSplit>(split),
                                     .separator = std::string(take_text(input))};
  file.write(input);
  const std::string text = read_text_file(file.path());
  const auto encode = [&](const Tokenizer& tokenizer) {
    return encode_dataset(
        text, options, [&](std::string_view part) { return tokenizer.encode(part); },
        tokenizer.end_of_text());
  };
  return bytes ? encode(ByteTokenizer()) : encode(build_char_tokenizer(text));
}

void check_batches(const TokenDataset& dataset, const BatcherOptions& options) {
  Batcher batcher(dataset, options);
  for (const Index index : {Index{0}, Index{1}, batcher.batches_per_epoch()}) {
    const Batch batch = batcher.batch(index);
    demand(batch.sequence_count() <= options.batch_size, "a batch is too large");
    for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
      demand(batch.offsets[b + 1] - batch.offsets[b] <= options.block_size, "a row is too long");
    }
  }
}

// Every target of the dataset must occur exactly once. Long texts in tiny batches take most of the
// time and find no more.
void check_evaluation(const TokenDataset& dataset, const BatcherOptions& options) {
  constexpr Index kMostBatches = 64;
  const SequentialBatches batches(dataset, options);
  if (batches.count() > kMostBatches) {
    return;
  }
  Index seen = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    seen += batches.batch(i).target_count;
  }
  Index expected = 0;
  for (const auto& sequence : dataset.sequences) {
    expected += std::max<Index>(sequence.size() - 1, 0);
  }
  demand(seen == expected, "targets were lost or doubled");
}

}  // namespace

void corpus(std::string_view input) {
  const unsigned mode = take_byte(input);
  const unsigned sizes = take_byte(input);
  TokenDataset dataset;
  if (!accepted([&] { dataset = read_dataset(input, mode % 4, (mode & 4U) != 0); })) {
    return;
  }
  const BatcherOptions options{.batching = static_cast<Batching>((mode >> 3) % 3),
                               .batch_size = 1 + sizes % 16,
                               .block_size = 1 + sizes / 16,
                               .bucket_window = 1 + (mode >> 5)};
  accepted([&] { check_batches(dataset, options); });
  accepted([&] { check_evaluation(dataset, options); });
  const Index before = dataset.token_count;
  accepted([&] {
    const DatasetSplit parts = split_dataset(std::move(dataset), sizes / 256.0);
    demand(parts.train.token_count + parts.validation.token_count == before, "tokens were lost");
  });
}

}  // namespace headlight::fuzz
