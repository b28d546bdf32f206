#pragma once

#include <utility>
#include <vector>

#include "base/json.h"
#include "headlight/generate/generator.h"
#include "headlight/tokenizers/streaming_decoder.h"

namespace headlight::serve {

// Tokens of a text with their log-probabilities and offsets in the text.
class TokenLog {
 public:
  struct Entry {
    TokenChoice choice;
    bool is_first = false;  // first token of a text: it has no prediction
    Index character = 0;    // offset in the text, from 0
    std::size_t byte = 0;
  };

  // `goes_on`: continues another text. `shown`: special tokens in the text; see StreamingDecoder.
  // `character`: its first offset.
  TokenLog(const Tokenizer& tokenizer, bool continues, Index character,
           std::vector<std::int32_t> shown = {})
      : decoder_(tokenizer, continues, std::move(shown)), character_(character) {}

  void push(TokenChoice choice, bool is_first = false);
  // Removes and returns the entries that begin before byte `end`.
  std::vector<Entry> take(std::size_t end);

 private:
  StreamingDecoder decoder_;
  std::vector<Entry> entries_;
  std::size_t taken_ = 0;
  Index character_;
  std::size_t byte_ = 0;
};

// Returns {"content": [{token, logprob, bytes, top_logprobs}]} for chats.
Json chat_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer);
// Returns {tokens, token_logprobs, top_logprobs, text_offset} for completions. top_logprobs always
// has the sampled token, if need be as one more entry. `ids` adds token_ids and top_tokens, [{id,
// token, logprob}], which keep tokens of equal names apart.
Json completion_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer,
                         bool ids);

}  // namespace headlight::serve
