#include "cli/option_groups/prompt_tokens.h"

#include <algorithm>

#include "base/transformed.h"
#include "cli/terminal/log.h"
#include "datasets/input_format_check.h"
#include "headlight/base/utf8.h"
#include "show/report/parts/numbers.h"
#include "tokenizers/special_names.h"

namespace headlight::cli {

void add_ids_option(Options& options) {
  options.value("ids", "Token ids instead of --text, e.g. 1,4093; no token is added");
}

bool gives_text(const Options& options) {
  for (const char* other : {"text", "data", "file"}) {
    require(!options.given("ids") || !options.given(other), "expected either --ids or --", other);
  }
  return options.given("text") || options.given("ids");
}

std::vector<std::int32_t> ids_option(const Options& options, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids = transformed(
      options.integers("ids"), [&](Index id) { return checked_id(id, tokenizer, "--ids"); });
  require(!ids.empty(), "--ids: expected token ids, e.g. 1,4093, got none");
  return ids;
}

std::int32_t checked_id(Index id, const Tokenizer& tokenizer, const std::string& where) {
  require(id >= 0 && id < tokenizer.vocab_size(), where, ": expected ids from 0 to ",
          tokenizer.vocab_size() - 1, ", got ", id);
  return static_cast<std::int32_t>(id);
}

std::vector<std::int32_t> text_tokens(const Options& options, const std::string& name,
                                      const Tokenizer& tokenizer) {
  if (name == "text" && gives_text(options) && options.given("ids")) {
    return ids_option(options, tokenizer);
  }
  const std::string text = options.text(name);
  require(!text.empty(), "--", name, ": expected a text");
  require_utf8(text, "--" + name);
  std::vector<std::int32_t> tokens = tokenizer.encode_prompt(text);
  warn_about_special_names({text}, tokenizer, "--" + name);
  warn_about_decomposed(text, "--" + name);
  warn_about_unknown(tokens, tokenizer, "--" + name);
  return tokens;
}

void warn_about_unknown(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
                        const std::string& where) {
  const auto unknown =
      std::ranges::count_if(tokens, [&](std::int32_t id) { return id == tokenizer.unknown(); });
  if (unknown > 0) {
    log_warning(where + ": not in the vocabulary: " + counted(unknown, "character"));
  }
}

void warn_about_special_names(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                              const std::string& where) {
  SpecialNameCount names(tokenizer);
  for (const std::string& text : texts) {
    names.add(text);
  }
  if (const std::string warning = names.warning(where); !warning.empty()) {
    log_warning(warning);
  }
}

void warn_about_decomposed(const std::string& text, const std::string& where) {
  if (has_decomposed_hangul(text)) {
    log_warning(decomposed_hangul_line(where));
  }
}

}  // namespace headlight::cli
