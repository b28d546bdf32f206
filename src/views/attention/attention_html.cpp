#include "headlight/views/attention_html.h"

#include <algorithm>
#include <map>

#include "base/display_text.h"
#include "views/attention/attention_page_data.h"
#include "views/attention/fetching_page.h"
#include "views/attention/page_script.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string counts(const AttentionMaps& maps) {
  std::size_t heads = 0;
  for (const LayerAttention& layer : maps.layers) {
    heads += layer.heads.size();
  }
  return "Attention of " + counted(static_cast<Index>(heads), "head") + " in " +
         counted(static_cast<Index>(maps.layers.size()), "layer") + " over " +
         counted(static_cast<Index>(maps.tokens.size()), "token");
}

// The titles of the documents, each once: "toy", "toy and other".
std::string page_title(const std::vector<AttentionMaps>& documents) {
  std::vector<std::string> titles;
  for (const AttentionMaps& maps : documents) {
    const std::string title = printable_text(maps.title.empty() ? "Attention" : maps.title);
    if (std::find(titles.begin(), titles.end(), title) == titles.end()) {
      titles.push_back(title);
    }
  }
  std::string joined = titles.front();
  for (std::size_t i = 1; i < titles.size(); ++i) {
    joined += (i + 1 == titles.size() ? " and " : ", ") + titles[i];
  }
  return escape_markup(joined);
}

// What stands in index.html in place of {{name}}.
using Values = std::map<std::string_view, std::string>;

// index.html with values in place of the {{names}}. The values are not searched again: a title may
// hold braces.
std::string filled_template(std::string_view page, const Values& values) {
  std::string out;
  for (std::size_t open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    require(close != page.npos, "index.html: {{ without }}");
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    require(value != values.end(), "index.html: no value has the name {{", name, "}}");
    out.append(page.substr(0, open)).append(value->second);
    page.remove_prefix(close + 2);
  }
  return out.append(page);
}

// The page of `read`, with `values` for what its data decides. Its policy forbids every request but
// for the data, and every script but the page's own: even a token that slipped through as markup
// could neither run nor report home.
std::string filled_page(const PageReader& read, Values values) {
  values["style"] = read("style.css");
  values["script"] = page_script(read);
  return filled_template(read("index.html"), values);
}

}  // namespace

std::string attention_html(const std::vector<AttentionMaps>& documents,
                           const AttentionPageOptions& options) {
  return filled_page(page_reader(options.page_files),
                     {{"data", attention_page_data(documents, options)},
                      {"address", ""},
                      {"connections", ""},
                      {"title", page_title(documents)},
                      {"counts", counts(documents.front())}});
}

std::string fetching_attention_page(const std::string& title, const std::string& address,
                                    const std::string& page_files) {
  return filled_page(page_reader(page_files),
                     {{"data", ""},
                      {"address", " data-address=\"" + escape_markup(address) + "\""},
                      {"connections", " connect-src 'self';"},
                      {"title", escape_markup(printable_text(title))},
                      {"counts", ""}});
}

std::string attention_html(const AttentionMaps& maps) {
  return attention_html(std::vector<AttentionMaps>{maps});
}

}  // namespace headlight
