#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "show/html/page_files.h"

namespace headlight {

// Replaces each {{name}} in a text by the output of `append` for it. Throws Error "FILE: ..." for a
// {{ without its }}.
std::string filled_text(std::string_view text, const std::string& file,
                        const std::function<void(std::string_view name, std::string& out)>& append);

// Replacements of the placeholders {{name}} in index.html.
using PageValues = std::map<std::string_view, std::string>;

// Returns index.html of `folder` ("" or "results/") with its placeholders replaced by `values`, the
// style and the script. The style is style.css followed by that of the folder. The script is the
// folder's main.js with its imports. Values must have their markup escaped; placeholders inside
// values are not replaced. Throws Error for a placeholder without a value.
//
// The content security policy of index.html allows no request but the data's and no script but the
// page's own: a token that slipped through as markup could neither run nor send anything.
std::string filled_page(const PageReader& read, const std::string& folder, PageValues values);

// Returns JSON that HTML parsers cannot read as markup: <, > and & are JSON escapes.
std::string embedded_json(const Json& value);

}  // namespace headlight
