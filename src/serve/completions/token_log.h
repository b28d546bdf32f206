#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/generate/generator.h"
#include "headlight/text/streaming_decoder.h"

namespace headlight::serve {

// The tokens of a text with what the model thought of them, and where in the text each begins.
class TokenLog {
 public:
  struct Entry {
    TokenChoice choice;
    bool is_first = false;  // of a text: nothing was thought of it
    Index character = 0;    // of the text, from 0
    std::size_t byte = 0;
  };

  // A text that goes on another; see StreamingDecoder. Characters are counted from `character`.
  TokenLog(const Tokenizer& tokenizer, bool goes_on, Index character)
      : decoder_(tokenizer, goes_on), character_(character) {}

  void push(TokenChoice choice, bool is_first = false);
  // Those that begin before that byte of the text and have not been taken yet.
  std::vector<Entry> take(std::size_t end);

 private:
  StreamingDecoder decoder_;
  std::vector<Entry> entries_;
  std::size_t taken_ = 0;
  Index character_;
  std::size_t byte_ = 0;
};

// {"content": [{token, logprob, bytes, top_logprobs}]}, of chats.
Json chat_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer);
// {tokens, token_logprobs, top_logprobs, text_offset}, of completions, where the chosen token is
// among the top ones, too, and so one more may be there; with `ids` also token_ids
// and top_tokens, [{id, token, logprob}], where tokens of one name stay apart.
Json completion_logprobs(const std::vector<TokenLog::Entry>& entries, const Tokenizer& tokenizer,
                         bool ids);

}  // namespace headlight::serve
