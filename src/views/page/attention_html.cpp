#include "headlight/views/attention_html.h"

#include <algorithm>

#include "views/attention/attention_view.h"
#include "views/page/attention_page.h"
#include "views/page/attention_page_data.h"

namespace headlight {
namespace {

// The policy forbids every request, and every script but the page's own: even a token that slipped
// through as markup could neither run nor report home.
constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'nonce-headlight'; style-src 'nonce-headlight'; img-src data:; "
    "base-uri 'none'; form-action 'none'\">\n";

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

}  // namespace

AttentionView parse_attention_view(std::string_view name) {
  constexpr std::string_view kNames[] = {"model", "head", "neuron", "grid"};
  for (int i = 0; i < 4; ++i) {
    if (kNames[i] == name) {
      return static_cast<AttentionView>(i);
    }
  }
  fail("view: expected model, head, neuron or grid, got '", name, "'");
}

std::string attention_html(const std::vector<AttentionMaps>& documents,
                           const AttentionPageOptions& options) {
  const std::string data = attention_page_data(documents, options);
  const std::string title = page_title(documents);
  std::string out(kHead);
  out += "<title>" + title + " – attention</title>\n<style nonce=\"headlight\">\n";
  out += attention_page_style();
  out += attention_page_view_style();
  out += "</style>\n</head>\n<body>\n<header class=\"top\">\n<div class=\"heading\"><h1>" + title;
  out += "</h1>\n<p id=\"counts\">" + counts(documents.front()) + "</p></div>\n";
  out += attention_page_markup();
  out += data;
  out += "<script type=\"module\" nonce=\"headlight\">\n";
  for (const auto part :
       {attention_page_data_script, attention_page_map_script, attention_page_axes_script,
        attention_page_text_script, attention_page_model_script, attention_page_lines_script,
        attention_page_neuron_script, attention_page_grid_script, attention_page_control_script}) {
    out += part();
  }
  return out + "</script>\n</body>\n</html>\n";
}

std::string attention_html(const AttentionMaps& maps) {
  return attention_html(std::vector<AttentionMaps>{maps});
}

}  // namespace headlight
