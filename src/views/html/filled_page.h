#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "views/html/page_files.h"

namespace headlight {

// What stands in index.html in place of {{name}}.
using PageValues = std::map<std::string_view, std::string>;

// The index.html of a folder of the page's files ("", or "results/"), with `values` for what its
// data decides, and its style and script: style.css, with that of the folder behind it, and main.js
// of the folder with what it imports. The values are not searched again: a title may hold braces.
// Their markup must be escaped. Throws Error for a name without a value.
//
// The policy of index.html forbids every request but for the data, and every script but the page's
// own: even a token that slipped through as markup could neither run nor report home.
std::string filled_page(const PageReader& read, const std::string& folder, PageValues values);

// JSON that no HTML parser can take for markup: the characters that could end the element or open
// another stand as escapes.
std::string embedded_json(const Json& value);

}  // namespace headlight
