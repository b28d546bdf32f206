#pragma once

#include <string>

#include "cli/terminal/options.h"
#include "headlight/interpret/scores/head_verdict.h"

namespace headlight::cli {

// Language of the locale: LC_ALL, LC_MESSAGES or LANG, the first that is not empty.
Language locale_language();

// Adds --lang. Its default is locale_language().
Options& add_language_option(Options& options, const std::string& help);
// Returns the language of --lang, else locale_language().
Language language_option(const Options& options);

}  // namespace headlight::cli
