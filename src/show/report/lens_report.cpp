#include "show/report/lens_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/transformed.h"
#include "headlight/base/terminal_width.h"
#include "headlight/show/plot/line_plot.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr Index kCell = 12;  // columns of a token in a table
constexpr Index kGapWidth = 2;

// A result with one position for each character, the last of its tokens.
struct WholeLens {
  LensResult result;
  std::vector<std::string> labels;   // of the characters
  std::vector<std::size_t> indices;  // indices of these positions in the whole result
};

WholeLens whole_lens(const LensResult& result, const Tokenizer& tokenizer) {
  WholeLens whole;
  for (const LensRow& row : result.rows) {
    whole.result.rows.push_back({row.label, {}});
  }
  for (const TokenCell& cell : character_cells(result.tokens, tokenizer)) {
    const auto last = static_cast<std::size_t>(cell.end - 1);
    whole.labels.push_back(shown_cell(cell, result.tokens, tokenizer));
    whole.indices.push_back(last);
    whole.result.positions.push_back(result.positions[last]);
    whole.result.tokens.push_back(result.tokens[last]);
    whole.result.targets.push_back(result.targets[last]);
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
      whole.result.rows[row].readings.push_back(result.rows[row].readings[last]);
    }
  }
  return whole;
}

// Labels of the tokens that the lens predicts.
struct Labels {
  const PredictedTexts& texts;
  const Tokenizer& tokenizer;

  // Returns the label of a token after the position at an index of the whole result.
  std::string of(std::size_t index, std::int32_t token) const {
    const auto found = texts.find({index, token});
    return found == texts.end() ? shown_token(token, tokenizer) : found->second;
  }
};

std::string cell_of(const std::string& label) {
  return terminal_label(terminal_characters(label), kCell);
}

std::string percent(double log_probability, int decimals) {
  return fixed_number(100 * std::exp(log_probability), decimals) + "%";
}

// Returns the cells of one position: its token, the likeliest next token by row, and the target.
std::vector<std::string> overview_column(const WholeLens& whole, std::size_t i,
                                         const Labels& labels) {
  const std::size_t index = whole.indices[i];
  std::vector<std::string> column{cell_of(whole.labels[i])};
  for (const LensRow& row : whole.result.rows) {
    column.push_back(cell_of(labels.of(index, row.readings[i].likeliest.front().token)));
  }
  column.push_back(cell_of(labels.of(index, whole.result.targets[i])));
  return column;
}

// Returns columns side by side; the first cell of each is its title.
std::string table_of(const std::vector<std::vector<std::string>>& columns) {
  Table table(transformed(columns, [](const auto& column) {
    return Table::Column{column.front(), true};
  }));
  for (std::size_t line = 1; line < columns.front().size(); ++line) {
    table.add(transformed(columns, [&](const auto& column) { return column[line]; }));
  }
  return table.text();
}

std::string overview(const WholeLens& whole, const Labels& labels, Index columns) {
  std::vector<std::string> margin{"layer"};
  for (const LensRow& row : whole.result.rows) {
    margin.push_back(row.label.name);
  }
  margin.emplace_back("target");
  std::string text;
  std::vector<std::vector<std::string>> block{margin};
  Index width = widest(margin);
  for (std::size_t i = 0; i < whole.indices.size(); ++i) {
    std::vector<std::string> column = overview_column(whole, i, labels);
    const Index added = kGapWidth + widest(column);
    if (block.size() > 1 && width + added > columns) {
      text += table_of(block) + "\n";
      block.resize(1);
      width = widest(margin);
    }
    width += added;
    block.push_back(std::move(column));
  }
  return text + table_of(block);
}

// Returns "Paris 81.2%  the 2.1%": as many tokens after a position as fit `room` columns, at least
// one.
std::string choices_text(const std::vector<TokenLogProbability>& choices, std::size_t index,
                         const Labels& labels, Index room) {
  std::string text;
  for (const TokenLogProbability& choice : choices) {
    const std::string next = (text.empty() ? "" : "  ") + cell_of(labels.of(index, choice.token)) +
                             " " + percent(choice.log_probability, 1);
    if (!text.empty() && terminal_width(text) + terminal_width(next) > room) {
      break;
    }
    text += next;
  }
  return text;
}

// Returns the table of all numbers at one position.
std::string details(const LensResult& result, std::size_t position, const Labels& labels,
                    Index columns) {
  constexpr Index kNumbers = 56;  // width of the columns before the tokens
  Table table({{"layer", true},
               {"probability"},
               {"logprob"},
               {"rank"},
               {"entropy"},
               {"KL"},
               {"likeliest", true}});
  for (const LensRow& row : result.rows) {
    const LensReading& reading = row.readings[position];
    table.add({row.label.name, percent(reading.log_probability, 2),
               fixed_number(reading.log_probability, 3), grouped(reading.rank),
               fixed_number(reading.entropy, 3), fixed_number(reading.divergence, 3),
               choices_text(reading.likeliest, position, labels, columns - kNumbers)});
  }
  return table.text();
}

Json reading_json(const LensReading& reading, const Tokenizer& tokenizer) {
  Json json{{"probability", std::exp(reading.log_probability)},
            {"logprob", reading.log_probability},
            {"rank", reading.rank},
            {"entropy", reading.entropy},
            {"kl", reading.divergence}};
  json["top"] = likeliest_json(reading.likeliest, tokenizer);
  return json;
}

// Returns one number of every reading, [R, P].
template <class T, class Get>
std::vector<T> values_of(const LensResult& result, const Get& get) {
  std::vector<T> values;
  for (const LensRow& row : result.rows) {
    for (const LensReading& reading : row.readings) {
      values.push_back(static_cast<T>(std::invoke(get, reading)));
    }
  }
  return values;
}

// Returns one number of every likeliest token, [R, P, k].
template <class T, class Get>
Tensor choices_of(const LensResult& result, const Get& get) {
  std::vector<T> values;
  for (const LensRow& row : result.rows) {
    for (const LensReading& reading : row.readings) {
      for (const TokenLogProbability& choice : reading.likeliest) {
        values.push_back(static_cast<T>(std::invoke(get, choice)));
      }
    }
  }
  return Tensor::from(values, {std::ssize(result.rows), std::ssize(result.positions),
                               std::ssize(result.rows.front().readings.front().likeliest)});
}

template <class T>
Tensor integers_of(const std::vector<T>& values) {
  const std::vector<std::int32_t> ids(values.begin(), values.end());
  return Tensor::from(ids, {std::ssize(ids)});
}

// Returns the curve of `value` over the layers and the output. It omits the embedding row: its
// values are so large that they would flatten the curves.
PlotSeries series_of(const LensMeansResult& result, const char* name, double LensMeans::*value) {
  PlotSeries series;
  series.name = name;
  for (const LensMeans& row : result.rows) {
    if (row.label.layer >= 0) {
      series.x.push_back(static_cast<double>(row.label.layer));
      series.y.push_back(row.*value);
    }
  }
  return series;
}

// Returns "layer", or "layer (30: the output)" if the output is a row of its own.
std::string layer_axis(const LensMeansResult& result) {
  const LensLabel& last = result.rows.back().label;
  return last.name == std::to_string(last.layer)
             ? "layer"
             : "layer (" + std::to_string(last.layer) + ": the output)";
}

// Returns a heat map of the target's probability; cells show the likeliest token.
MatrixPlot probability_plot(const WholeLens& whole, const Labels& labels, const LensView& view) {
  const LensResult& result = whole.result;
  MatrixPlot plot{.title = "Logit lens on " + std::string(name_of(view.point)) +
                           ": likeliest next token; blue: probability of the actual one",
                  .row_title = "layer",
                  .column_title = "token, the last followed by '" +
                                  labels.of(whole.indices.back(), result.targets.back()) + "'",
                  .columns = whole.labels,
                  .limit = 1};
  for (const LensRow& row : result.rows) {
    plot.rows.push_back(row.label.name);
    for (std::size_t i = 0; i < row.readings.size(); ++i) {
      plot.values.push_back(std::exp(row.readings[i].log_probability));
      plot.texts.push_back(labels.of(whole.indices[i], row.readings[i].likeliest.front().token));
    }
  }
  return plot;
}

}  // namespace

std::string lens_text(const LensResult& result, const PredictedTexts& texts,
                      const Tokenizer& tokenizer, Index columns) {
  const Labels labels{texts, tokenizer};
  const WholeLens whole = whole_lens(result, tokenizer);
  const std::size_t last = result.positions.size() - 1;
  const LensReading& final = result.rows.back().readings[last];
  std::string text;
  if (last > 0) {
    text = "likeliest next token after each token\n\n" + overview(whole, labels, columns) + "\n";
  }
  const std::string summary = "after '" + whole.labels.back() + "' (position " +
                              std::to_string(result.positions[last]) + "): target '" +
                              labels.of(last, result.targets[last]) + "', which the model gives " +
                              percent(final.log_probability, 2) + " (rank " + grouped(final.rank) +
                              "); logprob, entropy and KL in nats";
  return text + wrapped(summary, static_cast<std::size_t>(columns)) + "\n" +
         details(result, last, labels, columns);
}

Json lens_facts(const LensResult& result, const LensView& view, const Tokenizer& tokenizer) {
  Json json{{"point", name_of(view.point)}, {"positions", Json::array()}};
  for (std::size_t i = 0; i < result.positions.size(); ++i) {
    Json position{{"position", result.positions[i]}};
    position.update(token_json(result.tokens[i], tokenizer));
    position["target"] = token_json(result.targets[i], tokenizer);
    json["positions"].push_back(std::move(position));
  }
  return json;
}

ResultTable lens_table(std::shared_ptr<const LensResult> result, const Tokenizer& tokenizer) {
  const ColumnsOf of_rows{result->rows};
  const auto readings = [=, &tokenizer](std::size_t row) -> Json {
    return transformed(result->rows[row].readings,
                       [&](const auto& reading) { return reading_json(reading, tokenizer); });
  };
  return {.columns = {of_rows("row", [](const LensRow& row) { return row.label.name; }),
                      of_rows("layer", [](const LensRow& row) { return row.label.layer; }),
                      {"readings", readings}}};
}

MatrixPlot lens_plot(const LensResult& result, const PredictedTexts& texts, const LensView& view,
                     const Tokenizer& tokenizer) {
  return probability_plot(whole_lens(result, tokenizer), {texts, tokenizer}, view);
}

std::vector<ResultGrid> lens_grids(const LensResult& result, const PredictedTexts& texts,
                                   const LensView& view, const Tokenizer& tokenizer) {
  const WholeLens whole = whole_lens(result, tokenizer);
  MatrixPlot shown = probability_plot(whole, {texts, tokenizer}, view);
  shown.column_title = "token";
  std::vector<ResultGrid> grids{{"probability", shown}};
  const auto add = [&](const char* name, const char* title, const auto& value) {
    MatrixPlot plot{.title = title,
                    .row_title = shown.row_title,
                    .column_title = shown.column_title,
                    .rows = shown.rows,
                    .columns = shown.columns,
                    .values = values_of<double>(whole.result, value)};
    grids.push_back({name, std::move(plot)});
  };
  add("rank", "Rank of the actual next token (1: the likeliest)", &LensReading::rank);
  add("entropy", "Entropy, nats", &LensReading::entropy);
  add("kl", "KL divergence from the output of the model, nats", &LensReading::divergence);
  return grids;
}

ResultArrays lens_arrays(const LensResult& result, const Tokenizer& tokenizer) {
  const Shape shape{std::ssize(result.rows), std::ssize(result.positions)};
  const auto probability = [](const auto& known) { return std::exp(known.log_probability); };
  const auto layer = [](const LensRow& row) { return row.label.layer; };
  const auto name = [](const LensRow& row) { return row.label.name; };
  const auto floats = [&](const auto& value) {
    return Tensor::from(values_of<float>(result, value), shape);
  };
  NamedTensors tensors{
      {"probability", floats(probability)},
      {"log_probability", floats(&LensReading::log_probability)},
      {"rank", Tensor::from(values_of<std::int32_t>(result, &LensReading::rank), shape)},
      {"entropy", floats(&LensReading::entropy)},
      {"kl", floats(&LensReading::divergence)},
      {"top_ids", choices_of<std::int32_t>(result, &TokenLogProbability::token)},
      {"top_probabilities", choices_of<float>(result, probability)},
      {"layers", integers_of(transformed(result.rows, layer))},
      {"positions", integers_of(result.positions)},
      {"tokens", integers_of(result.tokens)},
      {"targets", integers_of(result.targets)}};
  return {std::move(tensors),
          {{"rows", transformed(result.rows, name)},
           {"token_labels", shown_tokens(result.tokens, tokenizer)}}};
}

ResultTable lens_means_table(const LensMeansResult& result) {
  const ColumnsOf of_rows{result.rows};
  const auto name = [](const LensMeans& row) { return row.label.name; };
  const auto layer = [](const LensMeans& row) { return row.label.layer; };
  ResultTable table{.columns = {of_rows("row", name, "layer"), of_rows("layer", layer)}};
  const auto add = [&](const ResultColumn& column, const char* title) {
    table.views.push_back({column.name, column.name, title, {.title = "layer", .column = "row"}});
    table.columns.push_back(column);
  };
  add(of_rows("loss", &LensMeans::loss, "loss").as(NumberForm::plain, 4), "Loss, nats a token");
  add(of_rows("accuracy", &LensMeans::accuracy, "accuracy").as(NumberForm::percent, 2),
      "Share of tokens predicted correctly");
  add(of_rows("entropy", &LensMeans::entropy, "entropy").as(NumberForm::plain, 4), "Entropy, nats");
  add(of_rows("kl", &LensMeans::divergence, "KL").as(NumberForm::plain, 4),
      "KL divergence from the output of the model, nats");
  return table;
}

std::string lens_means_svg(const LensMeansResult& result) {
  const LinePlot nats{.title = "Logit lens: predictions after each layer",
                      .x_label = layer_axis(result),
                      .y_label = "nats a token",
                      .series = {series_of(result, "loss", &LensMeans::loss),
                                 series_of(result, "entropy", &LensMeans::entropy),
                                 series_of(result, "KL to the output", &LensMeans::divergence)},
                      .y_from_zero = true,
                      .points = true};
  const LinePlot hits{.title = "Share of tokens that the layer predicts correctly",
                      .x_label = layer_axis(result),
                      .y_label = "accuracy",
                      .series = {series_of(result, "", &LensMeans::accuracy)},
                      .y_from_zero = true,
                      .points = true};
  return line_panels_svg({nats, hits});
}

}  // namespace headlight
