#include "generate/context_window.h"

#include <algorithm>
#include <utility>

#include "headlight/autograd/autograd.h"

namespace headlight {

ContextWindow::ContextWindow(Decoder& decoder, std::vector<std::int32_t> tokens,
                             const Options& options)
    : decoder_(&decoder), tokens_(std::move(tokens)), options_(options) {}

ContextWindow ContextWindow::fork() const {
  ContextWindow other(*decoder_, tokens_, options_);
  other.cache_ = cache_.fork();
  return other;
}

bool ContextWindow::can_step() const {
  const auto count = static_cast<Index>(tokens_.size());
  return options_.use_cache && cache_.length() + 1 == count &&
         count <= decoder_->model().block_size() && cache_.layers() > 0 && !has_other_rotations();
}

Index ContextWindow::step_room(Index most) const {
  const auto count = static_cast<Index>(tokens_.size());
  most = std::min(most, decoder_->model().block_size() - count);
  return decoder_->changes_keys(cache_.length(), count + most) ? 0 : most;
}

void ContextWindow::add_step_items(std::span<const std::int32_t> guesses,
                                   std::vector<DecodeItem>& items) {
  Index ahead = 0;
  items.push_back({tokens_.back(), &cache_, ahead});
  for (const std::int32_t id : guesses) {
    items.push_back({id, &cache_, ++ahead});
  }
}

void ContextWindow::drop_guesses() {
  cache_.truncate(std::min(cache_.length(), static_cast<Index>(tokens_.size()) - 1));
}

bool ContextWindow::has_other_rotations() const {
  return decoder_->changes_keys(cache_.length(), std::ssize(tokens_));
}

std::span<const float> ContextWindow::read() { return *read_chunk(decoder_->model().block_size()); }

std::optional<std::span<const float>> ContextWindow::read_chunk(Index chunk) {
  const Index block = decoder_->model().block_size();
  if (std::ssize(tokens_) > block) {
    // Keeps the last half of the block. The keys and values of these tokens must be recomputed,
    // because their positions change; keeping only half makes that rare.
    tokens_.erase(tokens_.begin(), tokens_.end() - (block + 1) / 2);
    cache_.clear();
  }
  if (!has_cache()) {
    return read_all();
  }
  if (cache_.layers() == 0) {
    cache_ = decoder_->make_cache();
  }
  const Index all = std::ssize(tokens_);
  const bool starts_again = has_other_rotations();
  if (starts_again) {
    cache_.clear();
  }
  const Index begin = cache_.length();
  const bool is_whole = chunk >= block || starts_again;
  const Index end = is_whole ? all : std::min(all, (begin / chunk + 1) * chunk);
  decoder_->read({tokens_.begin() + begin, tokens_.begin() + end}, cache_, options_.hook, all);
  return end == all ? std::optional(decoder_->logits(0)) : std::nullopt;
}

std::span<const float> ContextWindow::read_all() {
  const NoGrad no_grad;
  const Tensor last =
      decoder_->model().next_logits(make_batch({tokens_}), {.hook = options_.hook});  // [1, V]
  logits_ = to_contiguous(convert(last, DType::float32));
  return {logits_.data<float>(), static_cast<std::size_t>(logits_.numel())};
}

}  // namespace headlight
