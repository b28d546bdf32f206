#include "headlight/views/attention/attention_html.h"

#include <algorithm>

#include "base/display_text.h"
#include "views/attention/attention_page_data.h"
#include "views/html/filled_page.h"
#include "views/plot/svg.h"
#include "views/report/numbers.h"

namespace headlight {
namespace {

std::string counts(const AttentionMaps& maps) {
  Index heads = 0;
  for (const LayerAttention& layer : maps.layers) {
    heads += std::ssize(layer.heads);
  }
  return "Attention of " + counted(heads, "head") + " in " +
         counted(std::ssize(maps.layers), "layer") + " over " +
         counted(std::ssize(maps.tokens), "token");
}

// Returns the distinct titles of the documents: "toy", "toy and other".
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

std::string attention_html(const std::vector<AttentionMaps>& documents,
                           const AttentionPageOptions& options) {
  return filled_page(page_reader(options.page_files), "",
                     {{"data", attention_page_data(documents, options)},
                      {"title", page_title(documents)},
                      {"counts", counts(documents.front())}});
}

std::string attention_html(const AttentionMaps& maps) {
  return attention_html(std::vector<AttentionMaps>{maps});
}

}  // namespace headlight
