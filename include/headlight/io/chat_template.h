#pragma once

#include <filesystem>
#include <string>

namespace headlight {

// How a model was taught to read chats, as a template in Jinja: that of the GGUF file, or of
// chat_template.jinja or tokenizer_config.json in the directory that load_model would read. "":
// there is none. Of several the one called default. Throws Error as reading those files does.
std::string read_chat_template(const std::filesystem::path& model);

}  // namespace headlight
