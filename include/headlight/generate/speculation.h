#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/generate/decoder.h"
#include "headlight/generate/sampler.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Guesses the next tokens of a text. One step reads all guesses and gives the logits after each of
// them. The text takes guesses as long as it would have chosen the same tokens, so that its tokens
// do not depend on the drafter. Leviathan et al., arXiv 2211.17192.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Reads at most `chunk` more tokens of `text`; 0: leaves all of them to draft(). Returns whether
  // draft() can follow: the other tokens are at most a chunk, and there is room for them.
  virtual bool read(std::span<const std::int32_t> text, Index chunk);
  // Returns up to `most` tokens that may follow `text`, the prompt and output so far. `sampler` is
  // the text's own, before its next draw. Each call continues the text of the call before.
  virtual std::vector<std::int32_t> draft(std::span<const std::int32_t> text, Index most,
                                          const Sampler& sampler) = 0;
};

// Makes the drafter of one text.
using MakeDrafter = std::function<std::unique_ptr<Drafter>()>;

// Guesses that the text repeats itself: finds the latest earlier position with the same last
// tokens, as many as possible up to `longest` and at least two, and returns the tokens after it.
// Prompt lookup decoding, Saxena 2023. Throws Error for longest < 2.
MakeDrafter ngram_drafter(Index longest = 4);
// Returns the drafter that a text names: "ngram", or "ngram:N" with N from 2 to 64. Throws Error
// for other texts.
MakeDrafter named_drafter(std::string_view name);

// Room for the keys and values of the drafters of several texts. A text whose drafter finds no room
// is generated without guesses.
class DraftRoom {
 public:
  explicit DraftRoom(double position_bytes) : position_bytes_(position_bytes) {}

  double position_bytes() const { return position_bytes_; }  // of one position
  // Sets the maximum number of positions of all drafters together; 0: no limit.
  void limit(Index positions) { most_ = positions; }
  // Takes positions; returns false if there are not as many.
  bool take(Index positions);
  void give_back(Index positions) { used_ -= positions; }

 private:
  double position_bytes_;
  std::atomic<Index> most_{0};
  std::atomic<Index> used_{0};
};

// Lets a smaller model choose the guesses, with the draws of the text's own sampler. The decoder
// must outlive the drafters. `room` may be null: without limit. Throws Error for a model without
// steps, and if its tokenizer `own` has other tokens than the text's.
MakeDrafter model_drafter(Decoder& decoder, const Tokenizer& own, const Tokenizer& tokenizer,
                          std::shared_ptr<DraftRoom> room = nullptr);

}  // namespace headlight
