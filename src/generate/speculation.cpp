#include "headlight/generate/speculation.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/base/index.h"

namespace headlight {
namespace {

using Tokens = std::span<const std::int32_t>;

class NgramDrafter final : public Drafter {
 public:
  explicit NgramDrafter(Index longest) : longest_(longest) {}

  std::vector<std::int32_t> draft(Tokens text, Index most, const Sampler&) override {
    const Index count = std::ssize(text);
    Index best = 1;  // a single equal token is no evidence
    Index position = 0;
    for (Index end = count - 1; end > 0 && best < longest_; --end) {
      const Index equal = equal_tokens(text.first(static_cast<std::size_t>(end)), text);
      if (equal > best) {
        best = equal;
        position = end;
      }
    }
    if (best < longest_) {
      most = std::min(most, best);  // little evidence
    }
    std::vector<std::int32_t> guesses;
    while (best > 1 && std::ssize(guesses) < most) {
      const Index next = position + std::ssize(guesses);
      guesses.push_back(next < count ? text[static_cast<std::size_t>(next)]
                                     : guesses[static_cast<std::size_t>(next - count)]);
    }
    return guesses;
  }

 private:
  // Returns the number of equal tokens at the ends of two texts, up to longest_.
  Index equal_tokens(Tokens earlier, Tokens text) const {
    const Index most = std::min(longest_, std::ssize(earlier));
    const auto different = std::mismatch(earlier.rbegin(), earlier.rbegin() + most, text.rbegin());
    return different.first - earlier.rbegin();
  }

  Index longest_;
};

class ModelDrafter final : public Drafter {
 public:
  // Guesses only ids below `vocabulary`: V of a model may be rounded up.
  ModelDrafter(Decoder& decoder, Index vocabulary, std::shared_ptr<DraftRoom> room)
      : decoder_(decoder),
        vocabulary_(vocabulary),
        room_(std::move(room)),
        cache_(decoder.make_cache()) {}
  ~ModelDrafter() override {
    if (room_ != nullptr) {
      room_->give_back(taken_);
    }
  }
  ModelDrafter(const ModelDrafter&) = delete;
  ModelDrafter& operator=(const ModelDrafter&) = delete;

  // Reads whole prompts with longrope, whose keys depend on the length of the text.
  bool read(Tokens text, Index chunk) override {
    const Index block_size = decoder_.model().block_size();
    const Index count = std::ssize(text);
    if (count >= block_size || !has_room(count)) {
      return false;
    }
    if (chunk == 0 || decoder_.changes_keys(1, block_size)) {
      return true;
    }
    forget_wrong_guesses(text);
    const Index begin = cache_.length();
    if (count - begin <= chunk) {
      return true;
    }
    const auto from = text.begin() + begin;
    read({from, from + chunk - begin % chunk});
    return count - cache_.length() <= chunk;
  }

  std::vector<std::int32_t> draft(Tokens text, Index most, const Sampler& sampler) override {
    const Index count = std::ssize(text);
    const Index room = decoder_.model().block_size() - count;
    most = std::min(most, room);
    if (most < 1 || !has_room(count + most)) {
      return {};
    }
    if (decoder_.changes_keys(cache_.length(), count + most)) {
      cache_ = decoder_.make_cache();
      read_.clear();
    }
    forget_wrong_guesses(text);
    Sampler guesses = sampler.fork();
    std::vector<std::int32_t> known(text.begin(), text.end());
    read({known.begin() + cache_.length(), known.end()});
    while (true) {
      known.push_back(guesses.next(likely(), known));
      if (std::ssize(known) == count + most) {
        return {known.begin() + count, known.end()};
      }
      read({known.back()});
    }
  }

 private:
  // Takes room for a number of positions, in whole blocks; returns false if there is none.
  bool has_room(Index positions) {
    const Index more = rounded_up(positions, KeyValueCache::kBlock) - taken_;
    if (room_ == nullptr || more <= 0) {
      return true;
    }
    if (!room_->take(more)) {
      return false;
    }
    taken_ += more;
    return true;
  }

  // Keeps the keys of tokens that the text has, except its last token, which is read again if
  // necessary for the logits.
  void forget_wrong_guesses(Tokens text) {
    const auto most = std::min(std::ssize(text) - 1, cache_.length());
    const auto wrong = std::mismatch(read_.begin(), read_.begin() + most, text.begin());
    cache_.truncate(wrong.first - read_.begin());
    read_.erase(wrong.first, read_.end());
  }

  std::span<const float> likely() const {
    return decoder_.logits(0).first(static_cast<std::size_t>(vocabulary_));
  }

  void read(const std::vector<std::int32_t>& tokens) {
    decoder_.read(tokens, cache_);
    read_.insert(read_.end(), tokens.begin(), tokens.end());
  }

  Decoder& decoder_;
  Index vocabulary_;
  std::shared_ptr<DraftRoom> room_;  // may be null
  Index taken_ = 0;                  // positions of room_
  KeyValueCache cache_;
  std::vector<std::int32_t> read_;  // the tokens whose keys are in cache_
};

}  // namespace

bool Drafter::read(Tokens, Index) { return true; }

bool DraftRoom::take(Index positions) {
  const Index most = most_;
  const Index used = used_ += positions;
  if (most > 0 && used > most) {
    used_ -= positions;
    return false;
  }
  return true;
}

MakeDrafter ngram_drafter(Index longest) {
  require_value(longest >= 2, "speculate", "expected n-grams of 2 tokens or more, got ", longest);
  return [longest] { return std::make_unique<NgramDrafter>(longest); };
}

MakeDrafter named_drafter(std::string_view name) {
  constexpr std::string_view kNgram = "ngram";
  if (name == kNgram) {
    return ngram_drafter();
  }
  const std::string_view digits = name.substr(std::min(name.size(), kNgram.size() + 1));
  Index longest = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), longest);
  require_value(name.starts_with("ngram:") && read.ec == std::errc() &&
                    read.ptr == digits.data() + digits.size() && longest >= 2 && longest <= 64,
                "speculate", "expected ngram, or ngram:N with N from 2 to 64, got '", name, "'");
  return ngram_drafter(longest);
}

MakeDrafter model_drafter(Decoder& decoder, const Tokenizer& own, const Tokenizer& tokenizer,
                          std::shared_ptr<DraftRoom> room) {
  require_value(decoder.has_steps(), "speculate",
                "expected a model that generates token by token, got one of type '",
                decoder.model().model_type(), "'");
  const Index count = own.vocab_size();
  require_value(count == tokenizer.vocab_size(), "speculate",
                "expected a model with the same tokenizer of ", tokenizer.vocab_size(),
                " tokens, got one of ", count);
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(count); ++id) {
    require_value(own.token_bytes(id) == tokenizer.token_bytes(id), "speculate",
                  "expected a model with the same tokenizer, got one with another token ", id);
  }
  const Index rows = std::min(count, decoder.model().vocab_size());
  return [&decoder, rows, room = std::move(room)] {
    return std::make_unique<ModelDrafter>(decoder, rows, room);
  };
}

}  // namespace headlight
