#include "show/html/filled_page.h"

#include <array>

#include "headlight/base/error.h"
#include "show/html/page_script.h"

namespace headlight {

std::string embedded_json(const Json& value) {
  constexpr std::string_view kMarkup = "<>&";
  constexpr std::array kEscapes{"\\u003c", "\\u003e", "\\u0026"};
  std::string out;
  for (const char c : value.dump()) {
    const std::size_t mark = kMarkup.find(c);
    if (mark == kMarkup.npos) {
      out += c;
    } else {
      out += kEscapes[mark];
    }
  }
  return out;
}

std::string filled_text(
    std::string_view text, const std::string& file,
    const std::function<void(std::string_view name, std::string& out)>& append) {
  std::string out;
  for (std::size_t open = text.find("{{"); open != text.npos; open = text.find("{{")) {
    const std::size_t close = text.find("}}", open);
    require(close != text.npos, file, ": {{ without }}");
    out.append(text.substr(0, open));
    append(text.substr(open + 2, close - open - 2), out);
    text.remove_prefix(close + 2);
  }
  return out.append(text);
}

std::string filled_page(const PageReader& read, const std::string& folder, PageValues values) {
  values["style"] = read("style.css") + (folder.empty() ? "" : read(folder + "style.css"));
  values["script"] = page_script(read, folder + "main.js");
  const std::string file = folder + "index.html";
  return filled_text(read(file), file, [&](std::string_view name, std::string& out) {
    const auto value = values.find(name);
    require(value != values.end(), file, ": no value has the name {{", name, "}}");
    out += value->second;
  });
}

}  // namespace headlight
