#pragma once

#include <span>

#include "base/embedded_file.h"

namespace headlight {

// Returns the files of src/formats/chat_template/known.
std::span<const EmbeddedFile> known_chat_templates();

}  // namespace headlight
