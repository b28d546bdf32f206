#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "headlight/base/error.h"

namespace headlight {

// Characters around the names in a text.
struct NameMarks {
  std::string_view open = "{{";
  std::string_view close = "}}";
};

// Replaces each {{name}} in a text by the output of `append` for it. Throws Error "FILE: ..." for a
// {{ without its }}.
inline std::string filled_text(
    std::string_view text, std::string_view file,
    const std::function<void(std::string_view name, std::string& out)>& append,
    NameMarks marks = {}) {
  std::string out;
  for (std::size_t open = text.find(marks.open); open != text.npos; open = text.find(marks.open)) {
    const std::size_t close = text.find(marks.close, open);
    require(close != text.npos, file, ": ", marks.open, " without ", marks.close);
    out.append(text.substr(0, open));
    const std::size_t begin = open + marks.open.size();
    append(text.substr(begin, close - begin), out);
    text.remove_prefix(close + marks.close.size());
  }
  return out.append(text);
}

}  // namespace headlight
