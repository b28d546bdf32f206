#include "headlight/show/attention/attention_html.h"

#include <algorithm>
#include <array>

#include "base/strings/display_text.h"
#include "interpret/words.h"
#include "show/attention/attention_page_data.h"
#include "show/attention/layer_weights.h"
#include "show/html/filled_page.h"
#include "show/plot/svg.h"

namespace headlight {
namespace {

constexpr std::array<std::string_view, 1> kWordSections{"views"};

std::string counts(const AttentionMaps& maps, Language language) {
  Index heads = 0;
  for (const LayerAttention& layer : maps.layers) {
    heads += std::ssize(layer.heads);
  }
  return say(language, "counts",
             {{"heads", heads},
              {"layers", std::ssize(maps.layers)},
              {"cells", counted_cells(std::ssize(maps.tokens), maps.unit, language)}});
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
  const Language language = options.style.language;
  std::string data = data_element("data", attention_page_data(documents, options));
  const std::string title = page_title(documents);
  PageValues values{{"attributes", concat_text("lang=\"", name_of(language), "\"")},
                    {"title", title + " – attention"},
                    {"heading", title},
                    {"counts", counts(documents.front(), language)},
                    {"words", embedded_json(page_words(std::array{language}, kWordSections))}};
  values["data"] = std::move(data);  // large
  return page_start({page_files(), ""}, std::move(values)).append(kPageEnd);
}

std::string attention_html(const AttentionMaps& maps) {
  return attention_html(std::vector<AttentionMaps>{maps});
}

}  // namespace headlight
