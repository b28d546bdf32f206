#include "generate/context/context_window.h"

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
  other.prompt_ = prompt_;
  other.chunk_ = chunk_;
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

// Keeps the last half of the block of a longer text. The keys and values of these tokens must be
// recomputed, because their positions change; keeping only half makes that rare.
void ContextWindow::cut() {
  const Index block = decoder_->model().block_size();
  if (std::ssize(tokens_) > block) {
    tokens_.erase(tokens_.begin(), tokens_.end() - (block + 1) / 2);
    cache_.clear();
    prompt_ = 0;
  }
}

void ContextWindow::make_cache() {
  if (cache_.layers() > 0) {
    return;
  }
  cache_ = decoder_->make_cache();
  if (options_.room != nullptr) {
    options_.room->count(cache_);
  }
}

bool ContextWindow::reserve(ContextRoom& room, Index spare) {
  make_cache();
  cut();
  drop_other_rotations();
  return room.reserve(cache_, std::ssize(tokens_) - cache_.length(), spare);
}

Index ContextWindow::spare_room(Index most) const {
  return options_.room != nullptr && options_.room->is_limited()
             ? std::min(most, cache_.capacity() - cache_.length() - 1)
             : most;
}

// Drops keys that all must be computed anew, with other rotations.
void ContextWindow::drop_other_rotations() {
  if (cache_.length() > 0 && has_other_rotations()) {
    cache_.clear();
    prompt_ = 0;
  }
}

void ContextWindow::release() {
  cut();
  drop_other_rotations();
  cache_.clear();
  is_released_ = true;
}

// Returns how many tokens are read before the next step, or before the first token is chosen.
Index ContextWindow::readable() const { return std::max(prompt_, std::ssize(tokens_) - 1); }

bool ContextWindow::resume(ContextRoom& room) {
  if (!reserve(room)) {
    return false;
  }
  is_released_ = prompt_ > 0;  // else read() is due anyway
  return is_released_;
}

void ContextWindow::read_again(Index most, std::vector<DecodeItem>& items) {
  const Index begin = cache_.length();
  Index end = std::min(readable(), begin + most);
  const auto tokens = [&] {
    return std::vector<std::int32_t>(tokens_.begin() + begin, tokens_.begin() + end);
  };
  if (begin < prompt_ && chunk_ > 0) {
    end = std::min(prompt_, (begin / chunk_ + 1) * chunk_);
    decoder_->read(tokens(), cache_, options_.hook, prompt_);
  } else if (options_.hook != nullptr || model().is_changed()) {
    for (const std::int32_t id : tokens()) {
      const DecodeItem item{id, &cache_};
      decoder_->step({&item, 1}, options_.hook);
    }
  } else {
    for (Index i = begin; i < end; ++i) {
      items.push_back({tokens_[static_cast<std::size_t>(i)], &cache_, i - begin, false});
    }
  }
  is_released_ = end < readable();
}

bool ContextWindow::steps_read() const {
  const auto count = std::min(std::ssize(tokens_), decoder_->model().block_size());
  return has_cache() && options_.hook == nullptr && !model().is_changed() &&
         decoder_->steps_read(count) && !decoder_->changes_keys(1, count);
}

Index ContextWindow::add_prompt_items(Index most, std::vector<DecodeItem>& items) {
  cut();
  make_cache();
  prompt_ = std::ssize(tokens_);
  chunk_ = 0;
  const Index begin = cache_.length();
  const Index left = prompt_ - begin;
  const Index count = std::min(most, left);
  const Index vocabulary = model().vocab_size();
  require(std::all_of(tokens_.begin() + begin, tokens_.begin() + begin + count,
                      [=](std::int32_t id) { return id >= 0 && id < vocabulary; }),
          "[ContextWindow] expected ids from 0 to ", vocabulary - 1);
  for (Index i = 0; i < count; ++i) {
    items.push_back({tokens_[static_cast<std::size_t>(begin + i)], &cache_, i, i + 1 == left});
  }
  return left - count;
}

std::optional<std::span<const float>> ContextWindow::read_chunk(Index chunk) {
  const Index block = decoder_->model().block_size();
  cut();
  if (!has_cache()) {
    return read_all();
  }
  make_cache();
  const Index all = std::ssize(tokens_);
  const bool starts_again = has_other_rotations();
  if (starts_again) {
    cache_.clear();
  }
  const Index begin = cache_.length();
  prompt_ = all;
  chunk_ = starts_again ? block : chunk;
  const Index end = std::min(all, (begin / chunk_ + 1) * chunk_);
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
