#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/datasets/text_files.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// A prompt of a file, for a model to continue.
struct FilePrompt {
  Json id = {};    // value of "id" or "custom_id" in the record; null: none
  Json text = {};  // text of the prompt, or its list of messages
  std::vector<std::int32_t> ids = {};
  bool is_chat = false;  // messages in the chat template
};

// Reads a file of prompts. Each record (see read_records()) is a text, {"prompt": ...},
// {"text": ...}, or a conversation as read_conversations() has them, without its last answer.
// Texts are encoded as Tokenizer::encode_prompt() does, messages by the chat template. Adds lines
// to `warnings` for keys that are not used and for likely mistakes. Throws Error "NAME: line N:
// ..." for other records, and if there is no prompt.
std::vector<FilePrompt> read_prompts(const TextFile& file, const ChatFormat& format,
                                     const Tokenizer& tokenizer,
                                     std::vector<std::string>& warnings);

}  // namespace headlight
