#include "serve/page_files.h"

#include <array>

#include "interpret/words.h"

namespace headlight::serve {

PageValues live_page_values(std::string_view language) {
  constexpr std::array kLanguages{Language::english, Language::korean};
  constexpr std::array<std::string_view, 2> kSections{"views", "live"};
  return {{"attributes", concat_text("lang=\"", language, "\"")},
          {"title", "Headlight"},
          {"icon", "<link rel=\"icon\" href=\"data:,\">\n"},  // spares the browser a request
          {"words", embedded_json(page_words(kLanguages, kSections))}};
}

}  // namespace headlight::serve
