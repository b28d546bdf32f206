#pragma once

#include <filesystem>
#include <string>

namespace headlight {

// The chat template of a GGUF file, or of chat_template.jinja or tokenizer_config.json in a folder:
// how a model was taught to read chats, in Jinja. "": there is none. Of several the one called
// default. Throws Error as reading those files does.
std::string read_chat_template(const std::filesystem::path& place);

}  // namespace headlight
