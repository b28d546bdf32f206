#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headlight/generate/decoder.h"

namespace headlight {

// The latest tokens of a text, as many as the model has positions for. Movable; fork() copies.
class ContextWindow {
 public:
  struct Options {
    bool use_cache = true;
    ForwardHook* hook = nullptr;
  };

  // The decoder must outlive the window; `tokens` must not be empty.
  ContextWindow(Decoder& decoder, std::vector<std::int32_t> tokens, const Options& options);
  ContextWindow(ContextWindow&&) = default;
  ContextWindow& operator=(ContextWindow&&) = default;

  // The same text again, to be continued in another way.
  ContextWindow fork() const;

  void append(std::int32_t id) { tokens_.push_back(id); }
  // True when one step with the last token gives the next logits, false when read() must.
  bool can_step() const;
  DecodeItem step_item() { return {tokens_.back(), &cache_}; }
  // Logits [V] of the token that follows, by reading whatever is not in the cache; they stay until
  // the decoder or this window computes others. Throws Error for an id outside the vocabulary.
  std::span<const float> read();
  // Reads no further than to the next position that is a multiple of `chunk`, so that what is
  // computed together, and with it every bit, depends on the tokens alone. Returns read()'s logits
  // when that was all.
  std::optional<std::span<const float>> read_chunk(Index chunk);
  // Goes on behind a cache of the first tokens, which are fewer than all. Before the first read.
  void adopt(KeyValueCache cache) { cache_ = std::move(cache); }
  const KeyValueCache& cache() const { return cache_; }
  // Whether reading uses a cache.
  bool has_cache() const { return options_.use_cache && decoder_->has_steps(); }

 private:
  void shorten();
  void read_to(Index end);
  std::span<const float> read_all();

  Decoder* decoder_;
  std::vector<std::int32_t> tokens_;  // token i has position i
  Options options_;
  KeyValueCache cache_;  // of the first cache_.length() tokens; no layers before its first use
  Tensor logits_;        // without a cache
};

}  // namespace headlight
