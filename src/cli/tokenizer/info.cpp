#include <spdlog/fmt/fmt.h>

#include <iostream>

#include "base/strings/display_text.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/options.h"
#include "headlight/tokenizers/bpe_tokenizer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/terminal_text.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"
#include "tokenizers/unicode/unicode_class.h"

namespace headlight::cli {
namespace {

Options tokenizer_info_options() {
  return Options(
      {.name = "tokenizer info",
       .summary = "Show the size and special tokens of a tokenizer.",
       .positional = "TOKENIZER",
       .details = "Patterns of tokenizers use the character classes of Unicode " +
                  std::string(kUnicodeVersion) +
                  ", as in Hugging Face tokenizers.\n\n"
                  "JSON keys: kind (char, byte or bpe), vocab_size, merges, special_tokens (ids by "
                  "name), end_of_text and begin_of_text (ids), ends (all ids that end a text), "
                  "longest_token, longest_bytes, prepends_begin_token (whether a prompt begins "
                  "with begin_of_text).",
       .examples = {"headlight tokenizer info runs/bpe",
                    "headlight tokenizer info runs/toy --json"}});
}

struct TokenizerSummary {
  std::vector<SpecialToken> special;
  std::int32_t longest = 0;  // id of the token with the most bytes
  std::size_t longest_bytes = 0;
  std::size_t merges = 0;
};

TokenizerSummary summary_of(const Tokenizer& tokenizer) {
  TokenizerSummary result;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view name = tokenizer.special_name(id);
    const std::size_t bytes = name.empty() ? tokenizer.token_bytes(id).size() : 0;
    if (!name.empty()) {
      result.special.push_back({std::string(name), id});
    }
    if (bytes > result.longest_bytes) {
      result.longest = id;
      result.longest_bytes = bytes;
    }
  }
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    result.merges = bpe->vocabulary().merges.size();
  } else if (const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer)) {
    result.merges = pipeline->merge_count();
  }
  return result;
}

Json id_or_null(std::optional<std::int32_t> id) { return id ? Json(*id) : Json(); }

Json json_of(const Tokenizer& tokenizer, const TokenizerSummary& summary) {
  Json special = Json::object();
  for (const SpecialToken& token : summary.special) {
    special[token.name] = token.id;
  }
  return {{"kind", tokenizer.kind()},
          {"vocab_size", tokenizer.vocab_size()},
          {"merges", summary.merges},
          {"special_tokens", special},
          {"end_of_text", id_or_null(tokenizer.end_token())},
          {"begin_of_text", id_or_null(tokenizer.begin_token())},
          {"ends", tokenizer.stop_tokens()},
          {"longest_token", tokenizer.token_label(summary.longest)},
          {"longest_bytes", summary.longest_bytes},
          {"prepends_begin_token", tokenizer.prepends_begin_token()}};
}

const char* description(std::string_view kind) {
  return kind == "bpe"         ? "byte-pair encoding"
         : kind == "wordpiece" ? "longest pieces of each word"
         : kind == "wordlevel" ? "one token for each word"
         : kind == "unigram"   ? "pieces with the highest sum of scores"
         : kind == "byte"      ? "one token for each byte"
                               : "one token for each character";
}

std::string text_of(const Tokenizer& tokenizer, const TokenizerSummary& summary) {
  std::string text;
  const auto add = [&](const char* title, const auto&... parts) {
    text += pad_right(title, 17) + concat_text(parts...) + "\n";
  };
  add("kind", tokenizer.kind(), " (", description(tokenizer.kind()), ")");
  add("tokens", grouped(tokenizer.vocab_size()));
  add("merges", grouped(static_cast<Index>(summary.merges)));
  for (const SpecialToken& token : summary.special) {
    add("special token", display_label(token.name), " = ", token.id);
  }
  add("longest token", shown_token(summary.longest, tokenizer), " (", summary.longest_bytes,
      " bytes, id ", summary.longest, ")");
  if (tokenizer.prepends_begin_token()) {
    add("a prompt begins", "with ",
        display_label(tokenizer.special_name(tokenizer.begin_of_text())));
  } else {
    add("a prompt begins", "with its text");
  }
  const std::vector<std::string> ends = shown_tokens(tokenizer.stop_tokens(), tokenizer);
  add("a text ends", "with ", ends.empty() ? "no token" : fmt::format("{}", fmt::join(ends, ", ")));
  return text;
}

void tokenizer_info_command(const Options& options) {
  const auto tokenizer = open_tokenizer_aloud(options.positional(), options);
  const TokenizerSummary summary = summary_of(*tokenizer);
  std::cout << (options.json() ? json_line(json_of(*tokenizer, summary))
                               : text_of(*tokenizer, summary));
}

}  // namespace

int run_tokenizer_info(const Words& words) {
  return run(tokenizer_info_options(), words, tokenizer_info_command);
}

}  // namespace headlight::cli
