#include "show/html/filled_page.h"

#include <array>

#include "base/strings/filled_text.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

std::string filled(std::string_view text, const std::string& file, const PageValues& values) {
  return filled_text(text, file, [&](std::string_view name, std::string& out) {
    const auto value = values.find(name);
    require(value != values.end(), file, ": no value has the name {{", name, "}}");
    out += value->second;
  });
}

}  // namespace

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

std::string policy_element(std::string_view scripts, std::string_view more) {
  return concat_text(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'nonce-headlight'",
      scripts, "; style-src 'nonce-headlight'; img-src data:; ", more,
      "base-uri 'none'; form-action 'none'\">\n");
}

std::string allowed_element(std::string_view tag, std::string_view attributes,
                            std::string_view contents) {
  return concat_text("<", tag, attributes, " nonce=\"headlight\">\n", contents, "</", tag, ">\n");
}

std::string data_element(std::string_view id, const std::string& json) {
  return concat_text("<script type=\"application/json\" id=\"", id, "\">", json, "</script>\n");
}

std::string page_start(const PageKind& kind, PageValues values) {
  const auto own = [&](const char* name) { return contents_of(kind.files, kind.folder + name); };
  if (!values.contains("style")) {
    values["style"] = allowed_element("style", "", own("style.css"));
  }
  if (!values.contains("script")) {
    values["script"] = allowed_element("script", " type=\"module\"", own("main.js"));
  }
  values.try_emplace("policy", policy_element());
  values.try_emplace("icon", "");
  values.try_emplace("data", "");
  values["controls"] = contents_of(page_files(), "controls.html");
  values["views"] = contents_of(page_files(), "views.html");
  values["body"] = filled(own("body.html"), kind.folder + "body.html", values);
  return filled(contents_of(page_files(), "shell.html"), "shell.html", values);
}

}  // namespace headlight
