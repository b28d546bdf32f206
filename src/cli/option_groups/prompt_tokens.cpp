#include "cli/option_groups/prompt_tokens.h"

#include <algorithm>
#include <sstream>

#include "base/strings/read_number.h"
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

std::vector<std::int32_t> block_tokens(const Options& options, const std::string& name,
                                       const LoadedModel& loaded) {
  std::vector<std::int32_t> tokens = text_tokens(options, name, *loaded.tokenizer);
  const Index block = loaded.model->config().block_size;
  require(std::ssize(tokens) <= block, "--", options.given(name) ? name : "ids",
          ": expected at most ", block, " tokens, the context length of the model, got ",
          tokens.size());
  return tokens;
}

namespace {

// Token id of a text like "#42".
std::int32_t numbered_token(const std::string& text, const std::string& about,
                            const Tokenizer& tokenizer) {
  const auto id = read_number<std::int32_t>(std::string_view(text).substr(1)).value_or(-1);
  require(id >= 0 && id < tokenizer.vocab_size(), about, ": expected a token from #0 to #",
          tokenizer.vocab_size() - 1, ", got '", text, "'");
  return id;
}

bool is_numbered(const std::string& text) { return text.size() > 1 && text[0] == '#'; }

}  // namespace

std::int32_t token_of(const std::string& text, const std::string& about,
                      const Tokenizer& tokenizer) {
  if (is_numbered(text)) {
    return numbered_token(text, about, tokenizer);
  }
  require_utf8(text, about);
  return only_token(tokenizer.encode(text), text, tokenizer, about);
}

std::int32_t token_option(const Options& options, const std::string& name,
                          const Tokenizer& tokenizer) {
  return token_of(options.text(name), "--" + name, tokenizer);
}

}  // namespace headlight::cli
