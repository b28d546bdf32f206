#include "show/report/parts/token_columns.h"

#include "base/transformed.h"
#include "show/report/parts/json_output.h"

namespace headlight {

void add_tokens(ResultTable& table, const std::string& name,
                const std::vector<std::vector<TokenProduct>>& tokens, const Tokenizer& tokenizer) {
  const ColumnsOf of_rows{tokens};
  const auto json = [&](const std::vector<TokenProduct>& row) {
    return Json(transformed(row, [&](const TokenProduct& token) {
      Json one = token_json(token.id, tokenizer);
      one["product"] = token.product;
      return one;
    }));
  };
  ResultColumn column = of_rows(name, json, name, ColumnUse::json);
  for (const std::vector<TokenProduct>& row : tokens) {
    std::string& labels = column.shown.emplace_back();
    for (const TokenProduct& token : row) {
      labels += (labels.empty() ? "" : " ") + quoted_label(token.id, tokenizer);
    }
  }
  table.columns.push_back(std::move(column));
}

ResultTable token_value_table(const std::vector<TokenValues>& texts, const std::string& names,
                              const std::string& value, const std::string& title,
                              const Tokenizer& tokenizer) {
  std::vector<std::string> of_text;
  std::vector<Index> positions;
  std::vector<std::int32_t> ids;
  std::vector<double> values;
  for (const TokenValues& text : texts) {
    for (std::size_t t = 0; t < text.ids.size(); ++t) {
      of_text.push_back(text.name);
      positions.push_back(static_cast<Index>(t));
      ids.push_back(text.ids[t]);
      values.push_back(text.values[t]);
    }
  }
  const bool has_several = texts.size() > 1;
  const ColumnsOf of_ids{ids};
  const auto label = [&](std::int32_t id) { return quoted_label(id, tokenizer); };
  std::vector<std::string> places = transformed(ids, label);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = concat_text(positions[i], " ", places[i]);
  }
  return {.columns = {{names, of_text, has_several ? names : ""},
                      {"position", column_values(positions), "position"},
                      of_ids("id", [](std::int32_t id) { return id; }),
                      of_ids(
                          "token", [&](std::int32_t id) { return label_of_id(id, tokenizer); }, "",
                          ColumnUse::json),
                      of_ids.hidden("label", label, "token"),
                      {"place", places, "", ColumnUse::none},
                      {value, values, value}},
          .views = {{value,
                     value,
                     title,
                     {.title = "token", .column = "place"},
                     {.title = names, .column = has_several ? names : ""}}}};
}

std::vector<ColouredText> token_colours(const std::vector<TokenValues>& texts,
                                        const Tokenizer& tokenizer) {
  const auto label = [&](std::int32_t id) { return label_of_id(id, tokenizer); };
  return transformed(texts, [&](const TokenValues& text) {
    return merged_text(
        {.label = text.name, .tokens = transformed(text.ids, label), .values = text.values},
        character_cells(text.ids, tokenizer));
  });
}

}  // namespace headlight
