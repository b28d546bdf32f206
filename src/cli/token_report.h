#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/generate/generator.h"
#include "headlight/tokenizers/streaming_decoder.h"
#include "headlight/train/evaluation.h"

// Tokens with their log-probabilities, as text and as JSON.
namespace headlight::cli {

// Format of the tokens of an evaluation.
enum class TokenView {
  table,  // one row a token
  text,   // the text itself, coloured by probability
  json,   // one JSON object a line and token
};

// Prints the tokens of an evaluation on stdout one by one, so that texts may have any length.
class TokenReport {
 public:
  struct Options {
    TokenView view = TokenView::table;
    Index limit = 0;         // number of first tokens to show; 0: all
    bool documents = false;  // show the document number of each token
  };

  // The tokenizer must outlive the report.
  TokenReport(const Tokenizer& tokenizer, const Options& options);

  // Throws Error if the token's log-probability is not a number.
  void add(const TokenEvaluation& token);
  // Prints the colour legend and the number of hidden tokens. Call it after the last token.
  void finish();

 private:
  void print_row(const TokenEvaluation& token) const;
  void print_json_line(const TokenEvaluation& token) const;
  void print_text(const TokenEvaluation& token);
  void print_colour(std::string_view text, double log_probability);

  const Tokenizer* tokenizer_;
  Options options_;
  StreamingDecoder decoder_;
  double pending_ = 0;    // log-probability of an incomplete character
  Index sequence_ = 0;    // sequence of the last token
  bool at_start_ = true;  // of a line
  Index count_ = 0;       // tokens so far
};

// Table of generated tokens with their likeliest alternatives.
std::string choices_table(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer);
// JSON list of {id, token, logprob, rank, top_logprobs}.
Json choices_json(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer);

}  // namespace headlight::cli
