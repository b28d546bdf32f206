#pragma once

#include <filesystem>
#include <string>

namespace headlight {

// Returns the chat template (Jinja) of a GGUF file, or of chat_template.jinja or
// tokenizer_config.json in a folder. If there are several, returns the one named "default"; if
// there is none, "". Throws Error for a file that is unreadable or longer than 64 MiB, and for a
// damaged GGUF file.
std::string read_chat_template(const std::filesystem::path& place);

}  // namespace headlight
