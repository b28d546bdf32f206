#include "cli/token_report.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <iostream>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

// Colours of tokens by probability: black letters on red that deepens as the probability falls.
// Readable on light and dark terminals. Likely tokens have no colour.
struct Shade {
  double least;  // probability
  const char* name;
  const char* style;
};

constexpr std::array kShades{Shade{0.5, "50% and more", ""},
                             Shade{0.1, "10 to 50%", "\x1B[38;5;16;48;5;229m"},
                             Shade{0.01, "1 to 10%", "\x1B[38;5;16;48;5;221m"},
                             Shade{0.001, "0.1 to 1%", "\x1B[38;5;16;48;5;209m"},
                             Shade{0, "less than 0.1%", "\x1B[38;5;231;48;5;160m"}};

const char* style_of(double log_probability) {
  for (const Shade& shade : kShades) {
    if (std::exp(log_probability) >= shade.least) {
      return shade.style;
    }
  }
  return kShades.back().style;
}

std::string percent(double log_probability) {
  return fixed_number(100 * std::exp(log_probability), 2) + "%";
}

}  // namespace

TokenReport::TokenReport(const Tokenizer& tokenizer, const Options& options)
    : tokenizer_(&tokenizer), options_(options), decoder_(tokenizer) {}

void TokenReport::add(const TokenEvaluation& token) {
  require(!token.is_predicted() || !std::isnan(token.log_probability), "token ", token.position,
          ": its log-probability is not a number: the model's weights are too large");
  if (options_.limit > 0 && count_ >= options_.limit) {
    ++count_;
    return;
  }
  if (options_.view == TokenView::table) {
    print_row(token);
  } else if (options_.view == TokenView::text) {
    print_text(token);
  } else {
    print_json_line(token);
  }
  ++count_;
}

void TokenReport::print_row(const TokenEvaluation& token) const {
  if (count_ == 0) {
    std::cout << (options_.documents ? "document  " : "")
              << "position  log-probability (nats)  probability    rank  entropy (nats)  token\n";
  }
  const bool known = token.is_predicted();
  std::cout << (options_.documents ? fmt::format("{:8}  ", token.sequence) : "")
            << fmt::format("{:8}  {:>22}  {:>11}  {:>6}  {:>14}  {}\n", token.position,
                           known ? fixed_number(token.log_probability, 4) : "-",
                           known ? percent(token.log_probability) : "-",
                           known ? std::to_string(token.rank) : "-",
                           known ? fixed_number(token.entropy, 4) : "-",
                           shown_token(token.token, *tokenizer_));
}

void TokenReport::print_json_line(const TokenEvaluation& token) const {
  Json line;
  if (options_.documents) {
    line["document"] = token.sequence;
  }
  line["position"] = token.position;
  line.update(token_json(token.token, *tokenizer_));
  const bool known = token.is_predicted();
  line["logprob"] = known ? Json(token.log_probability) : Json();
  line["rank"] = known ? Json(token.rank) : Json();
  line["entropy"] = known ? Json(token.entropy) : Json();
  print_json(line);
}

// Prints a character of several tokens once it is complete, with their joint probability.
void TokenReport::print_text(const TokenEvaluation& token) {
  if (token.sequence != sequence_ && !at_start_) {
    std::cout << "\n";
    at_start_ = true;
  }
  sequence_ = token.sequence;
  if (!tokenizer_->special_name(token.token).empty()) {
    print_colour(decoder_.finish(), pending_);
    pending_ = 0;
    const std::string name = label_of_id(token.token, *tokenizer_);
    if (token.is_predicted()) {
      print_colour(name, token.log_probability);
    } else {
      std::cout << kFaintStyle << display_label(name) << kStyleEnd;
      at_start_ = false;
    }
    return;
  }
  pending_ += token.is_predicted() ? token.log_probability : 0;
  const std::string text = decoder_.push(token.token);
  if (!text.empty()) {
    print_colour(text, pending_);
    pending_ = 0;
  }
}

// Prints text in its colour. Coloured line ends also get a visible mark.
void TokenReport::print_colour(std::string_view text, double log_probability) {
  const std::string style = style_of(log_probability);
  const std::string reset = style.empty() ? "" : kStyleEnd;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const bool breaks = end < text.size();
    std::string part;
    for (std::size_t begin = 0; begin < end;) {  // keeps blanks
      const std::size_t blank = std::min(text.find(' ', begin), end);
      part += begin < blank ? display_label(text.substr(begin, blank - begin)) : "";
      part += blank < end ? " " : "";
      begin = blank + 1;
    }
    part += breaks && !style.empty() ? "⏎" : "";
    std::cout << (part.empty() ? "" : style + part + reset) << (breaks ? "\n" : "");
    at_start_ = breaks;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void TokenReport::finish() {
  if (options_.view == TokenView::json) {
    return;
  }
  if (options_.view == TokenView::text) {
    print_colour(decoder_.finish(), pending_);
    std::cout << (at_start_ ? "" : "\n") << "\nprobability of a token:";
    for (const Shade& shade : kShades) {
      std::cout << "  " << shade.style << " " << shade.name << " " << kStyleEnd;
    }
    std::cout << "\n";
  }
  if (options_.limit > 0 && count_ > options_.limit) {
    std::cout << "... and " << counted(count_ - options_.limit, "more token")
              << ", included in the totals below\n";
  }
  std::cout << "\n";
}

std::string choices_table(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer) {
  const bool alternatives = !choices.empty() && !choices.front().likeliest.empty();
  std::vector<Table::Column> columns{
      {"position"}, {"log-probability (nats)"}, {"probability"}, {"rank"}, {"chosen", true}};
  if (alternatives) {
    columns.push_back({"likeliest", true});
  }
  Table table(columns);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const TokenChoice& choice = choices[i];
    std::vector<std::string> cells{std::to_string(i), fixed_number(choice.log_probability, 4),
                                   percent(choice.log_probability), std::to_string(choice.rank),
                                   shown_token(choice.token, tokenizer)};
    std::string others;
    for (const TokenLogProbability& other : choice.likeliest) {
      others += (others.empty() ? "" : "   ") + shown_token(other.token, tokenizer) + " " +
                percent(other.log_probability);
    }
    if (alternatives) {
      cells.push_back(others);
    }
    table.add(std::move(cells));
  }
  return table.text();
}

Json choices_json(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer) {
  Json list = Json::array();
  for (const TokenChoice& choice : choices) {
    Json json = token_json(choice.token, tokenizer);
    json["logprob"] = choice.log_probability;
    json["rank"] = choice.rank;
    json["top_logprobs"] = Json::array();
    for (const TokenLogProbability& other : choice.likeliest) {
      Json entry = token_json(other.token, tokenizer);
      entry["logprob"] = other.log_probability;
      json["top_logprobs"].push_back(std::move(entry));
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace headlight::cli
