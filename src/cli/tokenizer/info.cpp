#include <cstdio>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/terminal/loading.h"
#include "cli/terminal/options.h"
#include "cli/tokenizer/tokenizer.h"
#include "formats/tokenizers/pipeline_tokenizer.h"
#include "headlight/text/bpe_tokenizer.h"
#include "text/unicode_class.h"
#include "views/report/json_output.h"
#include "views/report/numbers.h"

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

struct Summary {
  std::vector<SpecialToken> special;
  std::int32_t longest = 0;  // id of the token with the most bytes
  std::size_t longest_bytes = 0;
  std::size_t merges = 0;
};

Summary summary_of(const Tokenizer& tokenizer) {
  Summary result;
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

Json json_of(const Tokenizer& tokenizer, const Summary& summary) {
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
  return kind == "bpe"    ? "byte-pair encoding"
         : kind == "byte" ? "one token for each byte"
                          : "one token for each character";
}

void print_text(const Tokenizer& tokenizer, const Summary& summary) {
  std::printf("%-16s %s (%s)\n", "kind", std::string(tokenizer.kind()).c_str(),
              description(tokenizer.kind()));
  std::printf("%-16s %s\n", "tokens", grouped(tokenizer.vocab_size()).c_str());
  std::printf("%-16s %s\n", "merges", grouped(static_cast<Index>(summary.merges)).c_str());
  for (const SpecialToken& token : summary.special) {
    std::printf("%-16s %s = %d\n", "special token", display_label(token.name).c_str(),
                static_cast<int>(token.id));
  }
  std::printf("%-16s %s (%zu bytes, id %d)\n", "longest token",
              display_label(tokenizer.token_label(summary.longest)).c_str(), summary.longest_bytes,
              static_cast<int>(summary.longest));
  std::printf(
      "%-16s %s\n", "a prompt begins",
      tokenizer.prepends_begin_token()
          ? concat_text("with ", display_label(tokenizer.special_name(tokenizer.begin_of_text())))
                .c_str()
          : "with its text");
  std::string ends;
  for (const std::int32_t id : tokenizer.stop_tokens()) {
    ends += (ends.empty() ? "" : ", ") + display_label(tokenizer.token_label(id));
  }
  std::printf("%-16s %s\n", "a text ends",
              ends.empty() ? "with no token" : ("with " + ends).c_str());
}

int tokenizer_info_command(const Options& options) {
  const auto tokenizer = open_tokenizer_aloud(options.positional());
  const Summary summary = summary_of(*tokenizer);
  if (options.json()) {
    print_json(json_of(*tokenizer, summary));
  } else {
    print_text(*tokenizer, summary);
  }
  return 0;
}

}  // namespace

int run_tokenizer_info(const std::vector<std::string>& arguments) {
  return run_command(tokenizer_info_options(), arguments, tokenizer_info_command);
}

}  // namespace headlight::cli
