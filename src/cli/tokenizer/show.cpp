#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "base/strings/printable.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "runs/conversations/conversations.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/terminal_text.h"
#include "tokenizers/text_encoder.h"

namespace headlight::cli {
namespace {

// Background colours of neighbouring tokens, with black letters.
constexpr std::array kColours{"\x1B[30;48;5;153m", "\x1B[30;48;5;222m", "\x1B[30;48;5;157m",
                              "\x1B[30;48;5;217m"};

Options tokenizer_show_options() {
  Options options(
      {.name = "tokenizer show",
       .summary = "Print the tokens of a text with their ids.",
       .positional = "TOKENIZER [TEXT]",
       .details =
           "Prints each token above its id: a blank as ·, a line end as ⏎, a tab as ⇥, and "
           "bytes that are only part of a character as <0xEA>. Uses colours on a terminal, "
           "unless NO_COLOR is set. Names of special tokens are read as those tokens; "
           "--special_tokens off reads them as plain text. With --template, names in messages are "
           "plain text unless --special_tokens on is given, as in headlight train.\n\n"
           "--template FILE shows the first conversation of a file as headlight train "
           "reads it, in the model's chat template. Learned tokens have colours; without "
           "colours, a star follows their ids.\n\n"
           "JSON keys: tokens (for each: id, label, bytes, the number of bytes, and with "
           "--template learned).",
       .examples = {"headlight tokenizer show runs/bpe \"Once upon a time\"",
                    "headlight tokenizer show runs/bpe \"안녕하세요\" --json",
                    "headlight tokenizer show smollm2 --template data/cards.jsonl"}});
  add_special_tokens_option(options, "on");
  options.value("template", "Show the first conversation of this file")
      .choice("learn", "template: learned tokens, as in headlight train", kChoiceNames<Learn>,
              "assistant");
  options.paths({"template"});
  return options;
}

struct Cell {
  std::string label;
  std::string id;
  bool is_learned = true;
  std::size_t width = 0;  // of label or id, whichever is wider
};

// `marks`: learned tokens get a star.
std::vector<Cell> cells_of(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
                           bool marks) {
  std::vector<Cell> cells;
  for (const std::int32_t token : tokens) {
    const bool learned = is_learned(token);
    Cell cell{.label = shown_token(id_of(token), tokenizer),
              .id = std::to_string(id_of(token)) + (marks && learned ? "*" : ""),
              .is_learned = learned};
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
    const char* colour = cell.is_learned ? kColours[i % kColours.size()] : kFaintStyle;
    labels += colours ? colour + cell.label + kStyleEnd : cell.label;
    ids += colours ? kFaintStyle + cell.id + kStyleEnd : cell.id;
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

Json json_of(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
             bool has_learned) {
  const auto json_of_token = [&](std::int32_t token) {
    const std::int32_t id = id_of(token);
    Json json{{"id", id},
              {"label", tokenizer.token_label(id)},
              {"bytes", tokenizer.token_bytes(id).size()}};
    if (has_learned) {
      json["learned"] = is_learned(token);
    }
    return json;
  };
  return {{"tokens", transformed(tokens, json_of_token)}};
}

// Returns the tokens of the first conversation of a file, or of its first preferred answer.
std::vector<std::int32_t> tokens_of_conversation(const Options& options, Tokenizer& tokenizer) {
  const TextFile file{.path = options.text("template")};
  require(std::filesystem::exists(file.path), shown(file.path), ": no such file");
  require(kind_of_conversations(file, "") != ConversationKind::none, shown(file.path),
          ": expected conversations in JSON (see headlight train --help)");
  tokenizer.set_reads_special(options.given("special_tokens") && special_tokens_option(options));
  const ChatFormat format(tokenizer.chat_template(), tokenizer);
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  const TokenDataset dataset = read_conversations(file, {.learn = options.chosen<Learn>("learn")},
                                                  format, tokenizer, notes, warnings);
  log_warnings(warnings);
  const TokenSequence first = dataset.sequences.front();
  std::vector<std::int32_t> tokens = first.tokens(0, first.size());
  tokens.erase(std::find(tokens.begin(), tokens.end(), kPairBreak), tokens.end());
  return tokens;
}

void tokenizer_show_command(const Options& options) {
  const bool has_template = options.given("template");
  require(options.positionals().size() == (has_template ? 1 : 2), "expected ",
          has_template ? "TOKENIZER" : "TOKENIZER TEXT", ", got ", options.positionals().size(),
          " arguments; put the text in quotes (see headlight tokenizer show --help)");
  const auto tokenizer = open_tokenizer_aloud(options.positionals()[0], options);
  std::vector<std::int32_t> tokens;
  if (has_template) {
    tokens = tokens_of_conversation(options, *tokenizer);
  } else {
    tokens =
        TextEncoder(*tokenizer, special_tokens_option(options)).encode(options.positionals()[1]);
  }
  const auto width = static_cast<std::size_t>(columns_of(Stream::output));
  const bool marks = has_template && !has_colours(Stream::output);
  std::cout << (options.json() ? json_line(json_of(tokens, *tokenizer, has_template))
                               : rows_text(cells_of(tokens, *tokenizer, marks), width));
}

}  // namespace

int run_tokenizer_show(const Words& words) {
  return run(tokenizer_show_options(), words, tokenizer_show_command);
}

}  // namespace headlight::cli
