#include <cctype>
#include <iostream>
#include <span>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "headlight/base/utf8.h"
#include "show/report/parts/json_output.h"
#include "storage/input_file.h"
#include "tokenizers/bytes_of_ids.h"

namespace headlight::cli {
namespace {

constexpr Index kLargestText = Index{1} << 28;  // bytes of a text file of ids

using Ids = std::vector<std::int32_t>;

Options tokenizer_decode_options() {
  Options options(
      {.name = "tokenizer decode",
       .summary = "Turn token ids into text.",
       .positional = "TOKENIZER",
       .details =
           "Writes exactly the bytes of the tokens, without a final line end. Special tokens "
           "are written by name, so that the output of headlight tokenizer encode gives its "
           "input again. --skip_special leaves them out.\n\n"
           "JSON keys: text (bytes that are not part of a character become U+FFFD).",
       .examples = {"headlight tokenizer decode runs/bpe --ids 464,2068,7586",
                    "headlight tokenizer decode runs/bpe --file train.bin > book.txt"}});
  options.value("ids", "Decode these ids, separated by commas")
      .value("file", "Decode the ids in this file: NAME.bin, or text with any separators")
      .choice("token_dtype", kTokenDtypeHelp, kChoiceNames<TokenDtype>, "auto")
      .flag("skip_special", "Leave special tokens out");
  options.paths({"file"});
  return options;
}

// Ids in a text file, separated by characters that are no digits.
Ids ids_in_text(const std::string& path, const Tokenizer& tokenizer) {
  const std::string text = read_whole_file(path, kLargestText);
  Ids ids;
  for (std::size_t i = 0; i < text.size();) {
    Index id = 0;
    const std::size_t begin = i;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      id = std::min<Index>(10 * id + (text[i] - '0'), tokenizer.vocab_size());
    }
    if (i > begin) {
      ids.push_back(checked_id(id, tokenizer, path));
    } else {
      require(std::string_view(" \t\r\n,[]").find(text[i]) != std::string_view::npos, path,
              ": expected ids between blanks or commas at byte ", i);
      ++i;
    }
  }
  return ids;
}

// Passes the ids of --ids or --file to `use`. Passes a token file (.bin) part by part, but ids that
// are written as text at once.
template <class Use>
void decode_source(const Options& options, const Tokenizer& tokenizer, const Use& use) {
  const std::string path = options.text("file");
  if (options.given("ids")) {
    use(transformed(options.integers("ids"),
                    [&](Index id) { return checked_id(id, tokenizer, "--ids"); }));
  } else if (is_token_file(path)) {
    const TokenFile file =
        open_token_file(path, tokenizer, options.chosen<TokenDtype>("token_dtype"));
    if (!file.note.empty()) {
      log_info(file.note);
    }
    file.ids.for_each_part(use);
  } else {
    use(ids_in_text(path, tokenizer));
  }
}

void tokenizer_decode_command(const Options& options) {
  require(options.given("ids") != options.given("file"), "expected either --ids or --file");
  const auto tokenizer = open_tokenizer_aloud(options.positional(), options);
  BytesOfIds bytes_of(*tokenizer, options.given("skip_special"));
  const bool at_once = options.json() || is_terminal(Stream::output);
  std::string whole;
  decode_source(options, *tokenizer, [&](std::span<const std::int32_t> ids) {
    const std::string bytes = bytes_of.next(ids);
    at_once ? void(whole += bytes) : void(std::cout << bytes);
  });
  if (options.json()) {
    print_json({{"text", replace_invalid_utf8(whole)}});
  } else {
    print_untrusted(whole);
  }
}

}  // namespace

int run_tokenizer_decode(const Words& words) {
  return run(tokenizer_decode_options(), words, tokenizer_decode_command);
}

}  // namespace headlight::cli
