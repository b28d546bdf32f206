#include "headlight/show/attention/attention_html.h"

#include <algorithm>

#include "base/strings/display_text.h"
#include "show/attention/attention_page_data.h"
#include "show/attention/layer_weights.h"
#include "show/html/filled_page.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

std::string counts(const AttentionMaps& maps, Language language) {
  Index heads = 0;
  for (const LayerAttention& layer : maps.layers) {
    heads += std::ssize(layer.heads);
  }
  const Index layers = std::ssize(maps.layers);
  const std::string cells = counted_cells(std::ssize(maps.tokens), maps.unit, language);
  return language == Language::korean
             ? concat_text(layers, "개 층, 헤드 ", heads, "개, ", cells, "의 어텐션")
             : "Attention of " + counted(heads, "head") + " in " + counted(layers, "layer") +
                   " over " + cells;
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
  return filled_page(page_file, "",
                     {{"data", attention_page_data(documents, options)},
                      {"title", page_title(documents)},
                      {"language", std::string(name_of(options.style.language))},
                      {"counts", counts(documents.front(), options.style.language)}});
}

std::string attention_html(const AttentionMaps& maps) {
  return attention_html(std::vector<AttentionMaps>{maps});
}

}  // namespace headlight
