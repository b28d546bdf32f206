#pragma once

#include <string>
#include <vector>

#include "headlight/data/dataset.h"
#include "headlight/data/learned_tokens.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/io/text_files.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

struct ConversationOptions {
  Learn learn = Learn::assistant;
  // Key of the list of messages; empty: "messages" or "conversations".
  std::string key = {};
  Index block_size = 0;  // most input tokens of a conversation; longer ones are cut at their end
};

enum class ConversationKind {
  none,           // another file
  conversations,  // or prompts with their completions
  pairs,          // of answers: a preferred and a rejected one
};

// Returns the kind of the first record of a file of JSON lines, or of one JSON list. `key`: see
// ConversationOptions.
ConversationKind kind_of_conversations(const TextFile& file, const std::string& key);

// Reads a file of conversations. Each becomes a document. A record is one of
// - {"messages": [{"role": "user", "content": "..."}, ...]}, or under "conversations" with "from"
//   and "value", as ShareGPT has them;
// - {"prompt": ..., "completion": ...}: two lists of messages, or two texts, which are joined as
//   they are, without the chat template, and end with the token that ends texts;
// - {"instruction": "...", "input": "...", "output": "..."}: a user's message and its answer;
// - {"prompt": ..., "chosen": ..., "rejected": ...}: a pair of answers, as messages or texts,
//   learned from the first token that differs. Without "prompt", both begin with it. All records of
//   a file are pairs, or none is.
// Further members of messages and "tools" of a record, a list or its JSON as text, are given to the
// chat template.
// Adds a line to `notes` with the numbers of conversations and of learned tokens, and a line to
// `warnings` if some are too long or have nothing to learn, and for likely mistakes: special tokens
// spelled out in messages, and decomposed Hangul. Throws Error "NAME: line N: ..." for a
// record of another kind, and for messages that the chat template refuses.
TokenDataset read_conversations(const TextFile& file, const ConversationOptions& options,
                                const ChatFormat& format, const Tokenizer& tokenizer,
                                std::vector<std::string>& notes,
                                std::vector<std::string>& warnings);

}  // namespace headlight
