#pragma once

#include <string>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/datasets/learned_tokens.h"
#include "headlight/datasets/text_files.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/tokenizers/tokenizer.h"
#include "runs/conversations/chat_record.h"

namespace headlight {

struct ConversationOptions {
  Learn learn = Learn::assistant;
  // Key of the list of messages; empty: "messages" or "conversations".
  std::string key = {};
  Index block_size = 0;  // most input tokens of a conversation; longer ones are cut at their end
  BeginToken begin = BeginToken::automatic;  // of prompts and completions in text
};

// Returns the kind of the first record of a file that read_records() reads as records. `key`: see
// ConversationOptions. Throws Error for records of a known format that cannot be learned.
ConversationKind kind_of_conversations(const TextFile& file, const std::string& key);

// Returns a line that warns if the first record of a file of texts also has a conversation; "" if
// not.
std::string warning_of_texts(const TextFile& file);

// Reads a file of conversations. Each becomes a document. A record is one of
// - {"messages": [{"role": "user", "content": "..."}, ...]}, or under "conversations" with "from"
//   and "value", as ShareGPT has them;
// - {"prompt": ..., "completion": ...}: two lists of messages, or two texts, which are joined as
//   they are, without the chat template, and end with the token that ends texts;
// - {"instruction": "...", "input": "...", "output": "..."}: a user's message and its answer;
// - {"prompt": ..., "chosen": ..., "rejected": ...}: a pair of answers, as messages or texts,
//   learned from the first token that differs. Without "prompt", both begin with it. All records of
//   a file are pairs, or none is;
// or has other names of these keys: see record_keys.cpp. Everything after a prompt is learned, from
// the first token on that the prompt alone does not have. Answers with "weight": 0 are not learned.
// Further members of messages and "tools" of a record, a list or its JSON as text, are given to the
// chat template.
// Adds a line to `notes` with the numbers of conversations and of learned tokens, and lines to
// `warnings` if some are too long or have nothing to learn, for keys that are not used, and for
// likely mistakes: special tokens spelled out in messages, and decomposed Hangul. Throws Error
// "NAME: line N: ..." for a record of another kind, for keys that cannot be obeyed, and for
// messages that the chat template refuses.
TokenDataset read_conversations(const TextFile& file, const ConversationOptions& options,
                                const ChatFormat& format, const Tokenizer& tokenizer,
                                std::vector<std::string>& notes,
                                std::vector<std::string>& warnings);

}  // namespace headlight
