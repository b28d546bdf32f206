#include <array>
#include <iostream>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/text_data.h"
#include "text/text_encoder.h"
#include "views/report/json_output.h"
#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

// Background colours of neighbouring tokens, with black letters.
constexpr std::array kColours{"\x1B[30;48;5;153m", "\x1B[30;48;5;222m", "\x1B[30;48;5;157m",
                              "\x1B[30;48;5;217m"};
constexpr const char* kFaint = "\x1B[2m";
constexpr const char* kPlain = "\x1B[0m";

Options tokenizer_show_options() {
  Options options(
      {.name = "tokenizer show",
       .summary = "Print the tokens of a text with their ids.",
       .positional = "TOKENIZER TEXT",
       .details = "Prints each token above its id: a blank as ·, a line end as ⏎, a tab as ⇥, and "
                  "bytes that are only part of a character as <0xEA>. Uses colours on a terminal, "
                  "unless NO_COLOR is set. Names of special tokens are read as those tokens; "
                  "--special_tokens off reads them as plain text.\n\n"
                  "JSON keys: tokens (for each: id, label, and bytes, the number of bytes).",
       .examples = {"headlight tokenizer show runs/bpe \"Once upon a time\"",
                    "headlight tokenizer show runs/bpe \"안녕하세요\" --json"}});
  add_special_tokens_option(options, "on");
  return options;
}

struct Cell {
  std::string label;
  std::string id;
  std::size_t width = 0;  // of label or id, whichever is wider
};

std::vector<Cell> cells_of(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  std::vector<Cell> cells;
  for (const std::int32_t id : ids) {
    Cell cell{.label = shown_token(id, tokenizer), .id = std::to_string(id)};
    cell.width = std::max(display_width(cell.label), cell.id.size());
    cells.push_back(std::move(cell));
  }
  return cells;
}

// One row of tokens with their ids below.
std::string row_text(const std::vector<Cell>& cells, std::size_t begin, std::size_t end) {
  const bool colours = has_colours(Stream::output);
  std::string labels;
  std::string ids;
  for (std::size_t i = begin; i < end; ++i) {
    const Cell& cell = cells[i];
    labels += colours ? kColours[i % kColours.size()] + cell.label + kPlain : cell.label;
    ids += colours ? kFaint + cell.id + kPlain : cell.id;
    if (i + 1 < end) {
      labels += std::string(cell.width - display_width(cell.label) + 1, ' ');
      ids += std::string(cell.width - cell.id.size() + 1, ' ');
    }
  }
  return labels + "\n" + ids + "\n";
}

std::string rows_text(const std::vector<Cell>& cells, std::size_t width) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    std::size_t used = cells[begin].width;
    for (end = begin + 1; end < cells.size() && used + 1 + cells[end].width <= width; ++end) {
      used += 1 + cells[end].width;
    }
    text += (begin > 0 ? "\n" : "") + row_text(cells, begin, end);
  }
  return text;
}

Json json_of(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  const auto token_of = [&](std::int32_t id) -> Json {
    return {{"id", id},
            {"label", tokenizer.token_label(id)},
            {"bytes", tokenizer.token_bytes(id).size()}};
  };
  return {{"tokens", transformed(ids, token_of)}};
}

void tokenizer_show_command(const Options& options) {
  require(options.positionals().size() == 2, "expected TOKENIZER TEXT, got ",
          options.positionals().size(),
          " arguments; put the text in quotes (see headlight tokenizer show --help)");
  const auto tokenizer = open_tokenizer_aloud(options.positionals()[0]);
  const TextEncoder encoder(*tokenizer, special_tokens_option(options));
  const std::vector<std::int32_t> ids = encoder.encode(options.positionals()[1]);
  const auto width = static_cast<std::size_t>(columns_of(Stream::output));
  std::cout << (options.json() ? json_line(json_of(ids, *tokenizer))
                               : rows_text(cells_of(ids, *tokenizer), width));
}

}  // namespace

int run_tokenizer_show(const Words& words) {
  return run(tokenizer_show_options(), words, tokenizer_show_command);
}

}  // namespace headlight::cli
