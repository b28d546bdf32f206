#include "headlight/nn/batch.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// Number of tokens before the first pad of a row. Throws Error when a token follows a pad.
Index real_tokens(std::span<const bool> is_pad, Index row) {
  const auto first_pad = std::find(is_pad.begin(), is_pad.end(), true);
  const auto stray = std::find(first_pad, is_pad.end(), false);
  require(stray == is_pad.end(), "[remove_padding] row ", row, ": position ",
          stray - is_pad.begin(), " is a token after the pad at position ",
          first_pad - is_pad.begin(), ", expected right padding");
  return first_pad - is_pad.begin();
}

void check_padded(const PaddedBatch& padded) {
  require(padded.tokens.defined() && padded.padding_mask.defined(),
          "[remove_padding] tokens or padding_mask is undefined");
  require(padded.tokens.rank() == 2 && padded.tokens.dtype() == DType::int32,
          "[remove_padding] tokens must be [B, T] int32, got ", padded.tokens.shape(), " ",
          padded.tokens.dtype());
  require(padded.padding_mask.dtype() == DType::boolean &&
              padded.padding_mask.shape() == padded.tokens.shape(),
          "[remove_padding] padding_mask must be ", padded.tokens.shape(), " bool, got ",
          padded.padding_mask.shape(), " ", padded.padding_mask.dtype());
  require(static_cast<Index>(padded.lengths.size()) == padded.tokens.size(0), "[remove_padding] ",
          padded.lengths.size(), " lengths for ", padded.tokens.size(0), " rows");
}

}  // namespace

Batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences) {
  require(!sequences.empty(), "[make_batch] expected at least one sequence, got none");
  Batch batch;
  batch.offsets = {0};
  for (const auto& sequence : sequences) {
    require(!sequence.empty(), "[make_batch] sequence ", batch.sequence_count(), " is empty");
    batch.offsets.push_back(batch.token_count() + std::ssize(sequence));
  }
  batch.tokens = Tensor::empty({batch.token_count()}, DType::int32);
  batch.positions = Tensor::empty({batch.token_count()}, DType::int32);
  batch.targets = Tensor::empty({batch.token_count()}, DType::int32);
  batch.target_count = batch.token_count() - batch.sequence_count();
  std::int32_t* token = batch.tokens.data<std::int32_t>();
  std::int32_t* position = batch.positions.data<std::int32_t>();
  std::int32_t* target = batch.targets.data<std::int32_t>();
  for (const auto& ids : sequences) {
    token = std::copy(ids.begin(), ids.end(), token);
    std::iota(position, position + ids.size(), 0);
    position += ids.size();
    target = std::copy(ids.begin() + 1, ids.end(), target);
    *target++ = kIgnoreTarget;
  }
  return batch;
}

Batch continue_sequences(const std::vector<std::vector<std::int32_t>>& tokens,
                         const std::vector<Index>& lengths) {
  require(tokens.size() == lengths.size(), "[continue_sequences] ", lengths.size(), " lengths for ",
          tokens.size(), " sequences");
  Batch batch = make_batch(tokens);
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    std::int32_t* positions = batch.positions.mutable_data<std::int32_t>();
    for (Index n = batch.offsets[b]; n < batch.offsets[b + 1]; ++n) {
      positions[n] += static_cast<std::int32_t>(lengths[b]);
    }
  }
  return batch;
}

Batch shard_of(const Batch& batch, Index shard, Index shards) {
  const auto cut = [&](Index number) {
    const Index tokens = number * batch.token_count() / shards;
    const auto found = std::lower_bound(batch.offsets.begin(), batch.offsets.end(), tokens);
    return found + (batch.pairs ? (found - batch.offsets.begin()) % 2 : 0);
  };
  const auto first = cut(shard);
  const auto last = cut(shard + 1);
  const Index count = *last - *first;
  const auto part = [&](const Tensor& whole) {
    return whole.defined() ? whole.strided_view({count}, {1}, *first) : Tensor();
  };
  Batch result{.tokens = part(batch.tokens),
               .positions = part(batch.positions),
               .targets = part(batch.targets),
               .offsets = {first, last + 1},
               .pairs = batch.pairs};
  if (!batch.records.empty()) {
    const auto record = [&](auto offset) {
      return batch.records.begin() + (offset - batch.offsets.begin()) / (batch.pairs ? 2 : 1);
    };
    result.records = {record(first), record(last)};
  }
  for (Index& offset : result.offsets) {
    offset -= *first;
  }
  if (result.targets.defined()) {
    const auto* targets = result.targets.data<std::int32_t>();
    result.target_count = count - std::count(targets, targets + count, kIgnoreTarget);
  }
  return result;
}

Tensor last_rows(const Tensor& rows, const Batch& batch) {
  std::vector<Tensor> last;
  for (std::size_t b = 1; b < batch.offsets.size(); ++b) {
    last.push_back(slice(rows, 0, batch.offsets[b] - 1, batch.offsets[b]));
  }
  return last.size() == 1 ? last.front() : concat(last, 0);
}

Batch last_tokens(const Batch& batch) {
  Batch last;
  last.tokens = last_rows(batch.tokens, batch);
  last.positions = last_rows(batch.positions, batch);
  last.offsets.resize(batch.offsets.size());
  std::iota(last.offsets.begin(), last.offsets.end(), Index{0});
  return last;
}

PaddedBatch pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                          std::int32_t pad_id, Index width) {
  require(!sequences.empty(), "[pad_sequences] expected at least one sequence, got none");
  PaddedBatch padded;
  for (const auto& sequence : sequences) {
    padded.lengths.push_back(static_cast<Index>(sequence.size()));
    width = std::max(width, padded.lengths.back());
  }
  const Shape shape{static_cast<Index>(sequences.size()), width};
  padded.tokens = Tensor::full(shape, pad_id, DType::int32);
  padded.padding_mask = Tensor::ones(shape, DType::boolean);
  std::int32_t* tokens = padded.tokens.data<std::int32_t>();
  bool* is_pad = padded.padding_mask.data<bool>();
  for (const auto& sequence : sequences) {
    std::copy(sequence.begin(), sequence.end(), tokens);
    std::fill_n(is_pad, sequence.size(), false);
    tokens += width;
    is_pad += width;
  }
  return padded;
}

Batch remove_padding(const PaddedBatch& padded) {
  check_padded(padded);
  const Tensor tokens = to_contiguous(padded.tokens);
  const Tensor mask = to_contiguous(padded.padding_mask);
  const auto width = static_cast<std::size_t>(tokens.size(1));
  std::vector<std::vector<std::int32_t>> sequences;
  for (Index row = 0; row < tokens.size(0); ++row) {
    const std::size_t start = static_cast<std::size_t>(row) * width;
    const Index length = real_tokens({mask.data<bool>() + start, width}, row);
    const Index stated = padded.lengths[static_cast<std::size_t>(row)];
    require(length == stated, "[remove_padding] row ", row, ": the mask leaves ", length,
            " tokens, lengths says ", stated);
    const std::int32_t* ids = tokens.data<std::int32_t>() + start;
    if (length > 0) {
      sequences.emplace_back(ids, ids + length);
    }
  }
  require(!sequences.empty(), "[remove_padding] the batch has no real token");
  return make_batch(sequences);
}

}  // namespace headlight
