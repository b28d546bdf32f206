#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "generate/context/context_room.h"
#include "headlight/generate/decoder.h"

namespace headlight {

// The latest tokens of a text, at most block_size. Movable; fork() copies.
class ContextWindow {
 public:
  struct Options {
    bool use_cache = true;
    ForwardHook* hook = nullptr;
    const ContextRoom* room = nullptr;  // which counts the memory; null: nobody counts
  };

  // The decoder must outlive the window; `tokens` must not be empty.
  ContextWindow(Decoder& decoder, std::vector<std::int32_t> tokens, const Options& options);

  // Returns a copy, for another continuation of the same text.
  ContextWindow fork() const;

  void append(std::int32_t id) { tokens_.push_back(id); }
  // Returns true when a step with the last token gives the next logits; otherwise call read().
  bool can_step() const;
  const LanguageModel& model() const { return decoder_->model(); }
  // Returns how many of `most` further tokens a step may read together with the last one.
  Index step_room(Index most) const;
  // Appends the last token and the guesses after it to the items of a step.
  void add_step_items(std::span<const std::int32_t> guesses, std::vector<DecodeItem>& items);
  // Drops the keys and values of guesses that have not been appended.
  void drop_guesses();
  // Reads the tokens that are not cached. Returns the logits [V] of the next token, valid until the
  // decoder or window computes others. Throws Error for an id outside the vocabulary.
  std::span<const float> read();
  // Reads up to the next position that is a multiple of `chunk`. The grouping of tokens, and with
  // it every bit, then depends only on the tokens. Returns the logits if all are read.
  std::optional<std::span<const float>> read_chunk(Index chunk);
  // Returns whether steps may read a prompt that has not been read; otherwise call read_chunk().
  bool steps_read() const;
  // Appends up to `most` tokens that are not cached to the items of a step; only the last token of
  // the text wants logits. Call if steps_read(). Returns how many tokens are then left.
  Index add_prompt_items(Index most, std::vector<DecodeItem>& items);
  // Continues from a cache of the first tokens, but not all. Call before the whole prompt is read.
  void adopt(KeyValueCache cache) { cache_ = std::move(cache); }
  const KeyValueCache& cache() const { return cache_; }

  Index length() const { return std::ssize(tokens_); }
  // Allocates the memory that the next step or reading needs. Returns false if it does not fit,
  // with `spare` more positions.
  bool reserve(ContextRoom& room, Index spare = 0);
  // Returns how many of `most` tokens the memory can take after the next one.
  Index spare_room(Index most) const;
  // Frees the keys and values until resume() and read_again().
  void release();
  bool is_released() const { return is_released_; }
  bool holds_room() const { return cache_.capacity() > 0; }
  // Allocates the memory for all that release() freed. Returns whether read_again() must be called:
  // false if the memory does not fit, or if read() is due anyway.
  bool resume(ContextRoom& room);
  // Reads the next tokens that release() freed as they were read at first, so that all bits are the
  // same: in a pass, or as up to `most` items of the next step.
  void read_again(Index most, std::vector<DecodeItem>& items);
  // Returns true if reading uses a cache.
  bool has_cache() const { return options_.use_cache && decoder_->has_steps(); }

 private:
  // Returns whether the tokens need other rotations than the cached keys: see longrope.
  bool has_other_rotations() const;
  void cut();
  void drop_other_rotations();
  void make_cache();
  Index readable() const;
  std::span<const float> read_all();

  Decoder* decoder_;
  std::vector<std::int32_t> tokens_;  // token i has position i
  Options options_;
  KeyValueCache cache_;  // the first cache_.length() tokens; no layers before first use
  Index prompt_ = 0;     // first tokens, read as a prompt; 0: all are to be read anew
  Index chunk_ = 0;      // passes for it end at multiples of this; 0: steps read it
  bool is_released_ = false;
  Tensor logits_;  // used without a cache
};

}  // namespace headlight
