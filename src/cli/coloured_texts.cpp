#include "cli/coloured_texts.h"

#include <iostream>
#include <utility>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/interpret/features/top_examples.h"
#include "headlight/show/text/coloured_text.h"
#include "headlight/storage/file_writer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

// Parses a name of one column. Throws Error for other names.
PointRange column_of_name(const std::string& name) {
  const PointRange point = parse_point("names", name);
  const bool is_one_layer = !is_in_layer(point.point) || point.layers.first == point.layers.last;
  require_value(is_one_layer && items_of(point.point) == PointItems::features && point.items &&
                    point.items->first == point.items->last,
                "names", "expected neurons or elements with --html, such as neuron.3.17, got ",
                name);
  return point;
}

std::vector<std::string> labels_of(const std::vector<std::int32_t>& ids,
                                   const Tokenizer& tokenizer) {
  return transformed(ids, [&](std::int32_t id) { return tokenizer.token_label(id); });
}

// Returns the values of a column for all tokens of the texts.
std::vector<double> column_values(const LanguageModel& model, const ActivationContexts& texts,
                                  const PointRange& point) {
  const std::string name = point_name(point.point, point.layers.first);
  for (const auto& [array, values] : cache_activations(model, texts, {.points = {point}})) {
    if (array == name) {
      return values.to_vector();
    }
  }
  fail("--names: this model does not compute ", name);
}

std::string write_page(const Options& options, const ColouredTextPage& page) {
  const std::string path = output_file(options, "html", ".html");
  write_file(path, coloured_text_html(page));
  return path;
}

// Fills the tokens of a text with values. Joins tokens that cut a character.
ColouredText text_of_ids(ColouredText text, const std::vector<std::int32_t>& ids,
                         const Tokenizer& tokenizer) {
  text.tokens = labels_of(ids, tokenizer);
  return merged_text(text, token_cells(tokenizer, ids, TextUnit::character));
}

ColouredText text_of_example(const TopExample& example, const Tokenizer& tokenizer) {
  return text_of_ids({.label = concat_text(fixed_number(example.value(), 3), ", text ",
                                           example.sequence, ", token ", example.position),
                      .values = example.values,
                      .marked = example.position - example.begin},
                     example.ids, tokenizer);
}

Json example_json(const TopExample& example, const Tokenizer& tokenizer) {
  return {{"value", example.value()},
          {"text", example.sequence},
          {"position", example.position},
          {"begin", example.begin},
          {"tokens", labels_of(example.ids, tokenizer)},
          {"values", example.values}};
}

}  // namespace

void add_coloured_text_options(Options& options) {
  options
      .value(
          "html",
          "Instead of arrays, write this page: the tokens of --text in colours of the neurons or "
          "elements of --names, or the texts of --data on which one is most active")
      .value("top", "--html with --data: number of texts", "10");
  options.paths({"html"}).basic({"html"});
}

void check_coloured_texts(const Options& options) {
  if (options.given("html")) {
    refuse_options(options, {"layers", "positions", "dtype", "shard_rows", "out"},
                   "cannot be combined with --html");
    output_file(options, "html", ".html");  // rejects invalid names before the work
  }
  require(!options.given("top") || (options.given("html") && options.given("data")),
          "--top: needs --html and --data");
}

void colour_texts(const Options& options, const LoadedModel& loaded,
                  const ActivationContexts& texts) {
  ColouredTextPage page{.title = "Activations"};
  for (const std::string& name : split_at_commas(options.text("names"))) {
    const std::vector<double> values = column_values(*loaded.model, texts, column_of_name(name));
    auto from = values.begin();
    for (Index i = 0; i < texts.count(); ++i) {
      const auto to = from + texts.length(i);
      page.texts.push_back(
          text_of_ids({.label = texts.count() == 1 ? name : concat_text(name, ", text ", i),
                       .values = {from, to}},
                      texts.context(i).tokens, *loaded.tokenizer));
      from = to;
    }
  }
  const std::vector<std::string> files{write_page(options, page)};
  std::cout << (options.json() ? json_line({{"files", files}}) : written_text(files));
}

void colour_examples(const Options& options, const LoadedModel& loaded, const TokenDataset& data) {
  const std::vector<std::string> names = split_at_commas(options.text("names"));
  require_value(names.size() == 1, "names",
                "expected one neuron or element with --html and --data");
  TopExampleOptions wanted{.point = column_of_name(names.front())};
  wanted.count = count_option(options, "top", 1);
  wanted.batch_size = count_option(options, "batch_size", 1);
  wanted.tokenizer = loaded.tokenizer.get();
  wanted.progress = progress_bar("reading texts");
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const std::vector<TopExample> examples = top_examples(*loaded.model, data, wanted);
  wanted.progress = {};
  const auto texts =
      transformed(examples, [&](const TopExample& e) { return text_of_example(e, tokenizer); });
  const std::vector<std::string> files{
      write_page(options, {.title = "Most active texts of " + names.front(), .texts = texts})};
  if (options.json()) {
    print_json({{"files", files}, {"examples", transformed(examples, [&](const TopExample& e) {
                                     return example_json(e, tokenizer);
                                   })}});
    return;
  }
  Table table({{"value", false}, {"text", false}, {"token", false}, {"at", true}});
  for (const TopExample& example : examples) {
    const auto index = static_cast<std::size_t>(example.position - example.begin);
    table.add({fixed_number(example.value(), 3), std::to_string(example.sequence),
               std::to_string(example.position), quoted_label(example.ids[index], tokenizer)});
  }
  std::cout << table.text() << "\n" << written_text(files);
}

}  // namespace headlight::cli
