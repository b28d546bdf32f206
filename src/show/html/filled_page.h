#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "show/html/page_files.h"

namespace headlight {

// Replacements of the placeholders {{name}} in shell.html and in the page's own body.html. Values
// must have their markup escaped; placeholders inside values are not replaced.
using PageValues = std::map<std::string, std::string, std::less<>>;

// Files of a kind of page, in `files`: FOLDERbody.html, FOLDERstyle.css and FOLDERmain.js.
struct PageKind {
  std::span<const EmbeddedFile> files;
  std::string folder;
};

// Returns a page without its end, kPageEnd: shell.html around the body of a kind of page. Values
// that are not given are those of a page in one file without network requests: style, script,
// policy. Throws Error for a placeholder without a value.
//
// The content security policy allows no request but the data's and no script but the page's own: a
// token that slipped through as markup could neither run nor send anything.
std::string page_start(const PageKind& kind, PageValues values);

inline constexpr std::string_view kPageEnd = "</body>\n</html>\n";

// Returns the meta element of a content security policy that allows styles and scripts with the
// page's nonce, `scripts` of other origins, and what `more` says.
std::string policy_element(std::string_view scripts = "", std::string_view more = "");

// Returns an element of a style or script that the policy allows.
std::string allowed_element(std::string_view tag, std::string_view attributes,
                            std::string_view contents);

// Returns an element with data of a page.
std::string data_element(std::string_view id, const std::string& json);

// Returns JSON that HTML parsers cannot read as markup: <, > and & are JSON escapes.
std::string embedded_json(const Json& value);

}  // namespace headlight
