#include "cli/terminal/language.h"

#include <cstdlib>
#include <string_view>

#include "headlight/base/choices.h"

namespace headlight::cli {

Language locale_language() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    const std::string_view locale = value == nullptr ? "" : value;
    if (!locale.empty()) {  // such as "ko_KR.UTF-8"
      return locale.substr(0, locale.find_first_of("_.@")) == "ko" ? Language::korean
                                                                   : Language::english;
    }
  }
  return Language::english;
}

Options& add_language_option(Options& options, const std::string& help) {
  return options.choice("lang", help + " (default: that of the locale, else en)",
                        kChoiceNames<Language>);
}

Language language_option(const Options& options) {
  return options.given("lang") ? options.chosen<Language>("lang") : locale_language();
}

}  // namespace headlight::cli
