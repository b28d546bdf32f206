#include "views/html/filled_page.h"

#include <utility>

#include "headlight/base/error.h"
#include "views/html/page_script.h"

namespace headlight {

std::string embedded_json(const Json& value) {
  std::string out;
  for (const char c : value.dump()) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string filled_page(const PageReader& read, const std::string& folder, PageValues values) {
  values["style"] = read("style.css") + (folder.empty() ? "" : read(folder + "style.css"));
  values["script"] = page_script(read, folder + "main.js");
  const std::string file = folder + "index.html";
  const std::string text = read(file);
  std::string_view page = text;
  std::string out;
  for (std::size_t open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    require(close != page.npos, file, ": {{ without }}");
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    require(value != values.end(), file, ": no value has the name {{", name, "}}");
    out.append(page.substr(0, open)).append(value->second);
    page.remove_prefix(close + 2);
  }
  return out.append(page);
}

}  // namespace headlight
