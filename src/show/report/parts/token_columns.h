#pragma once

#include <string>
#include <vector>

#include "headlight/interpret/directions/head_directions.h"
#include "headlight/show/text/coloured_text.h"
#include "show/result/result_table.h"

// What results say about tokens: those along a direction, and the colours of a text.
namespace headlight {

// Adds a column of lists [{id, token, product}], in the text of labels.
void add_tokens(ResultTable& table, const std::string& name,
                const std::vector<std::vector<TokenProduct>>& tokens, const Tokenizer& tokenizer);

// Values of the tokens of a text.
struct TokenValues {
  std::string name;  // of the text, or of what is measured
  std::vector<std::int32_t> ids;
  std::vector<double> values;  // of the ids
};

// Returns a table of the tokens of all texts, with `names` as the column of their names, which the
// text of the table has if there are several, and `value` as that of their values.
ResultTable token_value_table(const std::vector<TokenValues>& texts, const std::string& names,
                              const std::string& value, const std::string& title,
                              const Tokenizer& tokenizer);

// Returns the texts in the colours of their values; tokens that cut a character are joined.
std::vector<ColouredText> token_colours(const std::vector<TokenValues>& texts,
                                        const Tokenizer& tokenizer);

}  // namespace headlight
