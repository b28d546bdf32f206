#include "cli/chat/line_editor/line_editor.h"

namespace headlight::cli {

std::unique_ptr<LineEditor> open_line_editor() { return nullptr; }

}  // namespace headlight::cli
