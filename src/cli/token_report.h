#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/generate/generator.h"
#include "headlight/text/streaming_decoder.h"
#include "headlight/train/evaluation.h"

// Tokens with their log-probabilities, for people and for programs.
namespace headlight::cli {

// How an evaluation shows its tokens.
enum class TokenView {
  table,  // a row for each
  text,   // the text itself, in colours by probability
  json,   // a JSON object on a line for each
};

// Prints the tokens of an evaluation on stdout one by one, so that no text is too long.
class TokenReport {
 public:
  struct Options {
    TokenView view = TokenView::table;
    Index limit = 0;         // tokens that are shown, the first ones; 0: all
    bool documents = false;  // tell the number of each one's document
  };

  // The tokenizer must outlive the report.
  TokenReport(const Tokenizer& tokenizer, const Options& options);

  // Throws Error when the model gives the token a log-probability that is not a number.
  void add(const TokenEvaluation& token);
  // After the last token: what the colours mean, and how many tokens were not shown.
  void finish();

 private:
  void print_row(const TokenEvaluation& token) const;
  void print_json_line(const TokenEvaluation& token) const;
  void print_text(const TokenEvaluation& token);
  void print_colour(std::string_view text, double log_probability);

  const Tokenizer* tokenizer_;
  Options options_;
  StreamingDecoder decoder_;
  double pending_ = 0;    // log-probability of the tokens that began a character
  Index sequence_ = 0;    // of the last token
  bool at_start_ = true;  // of a line
  Index count_ = 0;       // tokens so far
};

// The tokens of a generated text in rows, with the likeliest ones in their places.
std::string choices_table(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer);
// The same as a list of {id, token, logprob, rank, top_logprobs}.
Json choices_json(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer);

}  // namespace headlight::cli
