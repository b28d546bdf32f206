#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/transformed.h"
#include "headlight/autograd/autograd.h"
#include "headlight/interpret/directions/head_directions.h"
#include "headlight/interpret/directions/text_direction.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/frozen_norm.h"
#include "interpret/point_values.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/token_columns.h"

namespace headlight {
namespace {

constexpr const char* kDirectionDetails =
    "Finds the direction of a property at a point of each layer. pairs are texts with the "
    "property (clean) and without it (corrupt), which may differ in length:\n\n"
    "  mean_difference      the mean of the pairs' differences\n"
    "  principal_component  the first principal component of the differences through 0, with the "
    "length of the mean difference along it\n\n"
    "held_out is the share of the pairs that the direction of all other pairs orders rightly; "
    "explained the share of the squared differences along the direction. The tokens are those "
    "whose logits the direction raises and lowers, with the gain of the last norm.\n\n"
    "--npz saves the directions under the names of their points, for steering:\n"
    "  headlight chat MODEL --intervene \"add resid_post.6 joy.npz:resid_post.6*4\"\n"
    "A factor of 1 is the step between the two kinds of texts.\n\n"
    "Instead of pairs, vector is a saved direction, and answer the direction of a token's logit, "
    "or with wrong that of the difference. With text, every token's value is projected on the "
    "directions: its product with the direction, divided by the direction's length. values names "
    "what is projected, such as resid_post.6 or a head's output 5.1. The page leaves the first "
    "token white, whose values are far larger in many models.\n\n"
    "The arrays are the directions, layer, length, held_out, explained [K] and, with text, "
    "projection_projection [K T] with projection_direction (names), projection_position and "
    "projection_id.";

// A direction, under the name of its point.
struct NamedDirection {
  std::string name;
  TextDirection found;
  std::optional<PointRange> point;  // none: the name of a saved array that is no point
};

// Returns whether values have the axes of the residual stream: it, or what is read from it.
bool has_stream_axes(Point point) {
  constexpr std::array kOthers{Point::ln1_scale, Point::ln2_scale, Point::mlp_pre,
                               Point::mlp_post,  Point::feature,   Point::ln_final_scale,
                               Point::logits};
  return point == Point::result ||
         (items_of(point) == PointItems::features && std::ranges::count(kOthers, point) == 0);
}

// Returns whether values are parts of the residual stream.
bool is_in_stream(Point point) {
  constexpr std::array kRead{Point::ln1_normalized, Point::ln1,
                             Point::ln2_normalized, Point::ln2,
                             Point::ln_final,       Point::ln_final_normalized};
  return has_stream_axes(point) && std::ranges::count(kRead, point) == 0;
}

NamedDirection at_point(Point point, TextDirection found) {
  const Index layer = found.layer;
  const bool is_numbered = is_in_layer(point);
  return {is_numbered ? concat_text(name_of(point), '.', layer) : std::string(name_of(point)),
          std::move(found), PointRange{point, {layer, layer}, {}}};
}

// Tokens times passes that cost as much as the directions of pairs after their passes. A pass takes
// about 12 C products of rows in each layer.
Index cost_of_pairs(const PointRange& point, DirectionMethod method, Index pairs,
                    const GptConfig& config) {
  const Index last = std::min(point.layers.last.value_or(config.n_layer), config.n_layer - 1);
  const Index layers = is_in_layer(point.point) ? last + 1 - point.layers.first : 1;
  return layers *
         (1 + pairs * most_products(method, pairs) / (12 * config.n_layer * config.n_embd));
}

std::vector<NamedDirection> directions_of_pairs(const Asker& asker, const Arguments& arguments,
                                                Index tokens) {
  PointRange point = parse_point("point", arguments.text("point"));
  point.layers = arguments.given("layers") ? arguments.range("layers") : point.layers;
  require_value(!point.items, "point", "expected a whole point, such as z or z.3, got ",
                arguments.text("point"));
  const Json& records = arguments.value("pairs");
  std::vector<DirectionPair> pairs;
  for (std::size_t i = 0; i < records.size(); ++i) {
    pairs.push_back(read_text_pair(asker, records[i], i));
    tokens += std::ssize(pairs.back().first) + std::ssize(pairs.back().second);
  }
  const auto method = arguments.chosen<DirectionMethod>("method");
  asker.begin(tokens + cost_of_pairs(point, method, std::ssize(pairs), asker.model.config()));
  std::vector<NamedDirection> all;
  for (TextDirection& found :
       text_directions(asker.model, pairs,
                       {.point = point.point,
                       .layers = point.layers,
                       .method = method,
                       .tokens = arguments.chosen<DirectionTokens>("tokens_of"),
                       .progress = asker.part(0, 0.9)})) {
    all.push_back(at_point(point.point, std::move(found)));
  }
  return all;
}

double length_of(const Tensor& vector) {
  double square = 0;
  for (const double element : vector.to_vector()) {
    square += element * element;
  }
  return std::sqrt(square);
}

NamedDirection saved_direction(const Asker& asker, const Arguments& arguments, Index tokens) {
  const std::string text = arguments.text("vector");
  const std::size_t colon = text.rfind(':');
  require_value(colon != text.npos && colon > 0 && colon + 1 < text.size(), "vector",
                "expected FILE.npz:ARRAY, got '", text, "'");
  const std::string array = text.substr(colon + 1);
  const Tensor vector = convert(
      read_vector({.file = text.substr(0, colon), .array = array}, "vector"), DType::float64);
  require_value(length_of(vector) > 0, "vector", text, " is 0");
  asker.begin(tokens + 1);
  NamedDirection result{array, {.vector = vector}, {}};
  try {
    result.point = parse_point("vector", array);
    result.found.layer = result.point->layers.first;
    if (items_of(result.point->point) == PointItems::features) {
      result.point->items = {};  // "embed.0" of older files
    }
  } catch (const Error&) {  // a name of the user's own
  }
  return result;
}

NamedDirection direction_of_tokens(const Asker& asker, const Arguments& arguments, Index tokens) {
  const std::optional<std::int32_t> answer = read_token(asker, arguments, "answer");
  const std::optional<std::int32_t> wrong = read_token(asker, arguments, "wrong");
  require_value(answer != wrong, "wrong", "expected a token other than the answer");
  asker.begin(tokens + 1);
  const NoGrad no_grad;
  const auto row = [&](std::int32_t id) {
    return convert(asker.model.head_rows(Tensor::from({id}, {1})), DType::float64);
  };
  const Tensor read = wrong ? row(*answer) - row(*wrong) : row(*answer);
  const Tensor stream = asker.model.config().has_final_norm()
                            ? FrozenNorm(asker.model, Part::final_norm, kNoLayer).pulled_back(read)
                            : read;
  const Index last = asker.model.config().n_layer - 1;
  return at_point(Point::resid_post, {.layer = last, .vector = reshape(stream, {stream.numel()})});
}

// Reads the directions. `tokens`: of a text that is projected on them.
std::vector<NamedDirection> read_directions(const Asker& asker, const Arguments& arguments,
                                            Index tokens) {
  return arguments.given("pairs")    ? directions_of_pairs(asker, arguments, tokens)
         : arguments.given("vector") ? std::vector{saved_direction(asker, arguments, tokens)}
                                     : std::vector{direction_of_tokens(asker, arguments, tokens)};
}

// Adds the tokens that the directions raise and lower, if all are in the residual stream.
void add_raised_tokens(const Asker& asker, const Arguments& arguments,
                       const std::vector<NamedDirection>& all, ResultTable& table) {
  const Index width = asker.model.config().n_embd;
  const Index top_k = arguments.integer("top_k");
  asker.require_room(2 * std::ssize(all), top_k);
  std::vector<double> rows;
  for (const NamedDirection& one : all) {
    if (one.found.vector.numel() != width || (one.point && !is_in_stream(one.point->point))) {
      return;
    }
    std::ranges::copy(one.found.vector.to_vector(), std::back_inserter(rows));
  }
  std::vector<DirectionTokensFound> tokens =
      tokens_along(asker.model, Tensor::from(rows, {std::ssize(all), width}), TokenSide::written,
                   top_k, [&] { asker.progress(0.95); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (length_of(all[i].found.vector) == 0) {
      tokens[i] = {};
    }
  }
  add_tokens(table, "raises", transformed(tokens, &DirectionTokensFound::most), asker.tokenizer);
  add_tokens(table, "lowers", transformed(tokens, &DirectionTokensFound::least), asker.tokenizer);
}

ResultTable direction_table(const std::vector<NamedDirection>& all, bool of_pairs) {
  const ColumnsOf of_all{all};
  const auto number = [&](std::string name, const auto& value, std::string title) {
    return of_all(std::move(name), value, std::move(title)).as(NumberForm::plain, 3);
  };
  ResultTable table{
      .columns = {
          of_all("direction", &NamedDirection::name, "direction"),
          of_all("layer",
                 [](const auto& one) {
                   return one.point ? std::optional(one.found.layer) : std::nullopt;
                 }),
          number(
              "length", [](const auto& one) { return length_of(one.found.vector); }, "length")}};
  if (of_pairs) {
    const auto held_out = [](const auto& one) { return one.found.held_out.value_or(std::nan("")); };
    const auto explained = [](const auto& one) { return one.found.explained; };
    table.columns.push_back(number("held_out", held_out, "held out"));
    table.columns.push_back(number("explained", explained, "explained"));
    table.views = {{"held_out",
                    "held_out",
                    "Share of the held-out pairs that the direction orders rightly",
                    {.title = "direction", .column = "direction"},
                    {},
                    1}};
  }
  return table;
}

// Returns the values that are projected on a direction, those of its point by default.
PointRange projected_point(const Arguments& arguments, const NamedDirection& direction) {
  const bool is_given = arguments.given("values");
  require_value(is_given || direction.point, "values",
                "expected values of one layer, such as resid_post.6 or 5.1: the vector's name, ",
                direction.name, ", is no point");
  PointRange point = is_given ? parse_point("values", arguments.text("values")) : *direction.point;
  if (point.point == Point::z && point.items) {
    point.point = Point::result;  // the head's output in the stream
  }
  const bool is_one = (!is_in_layer(point.point) || point.layers.last == point.layers.first) &&
                      (!point.items || point.items->last == point.items->first);
  require_value(is_one && items_of(point.point) != PointItems::maps, "values",
                "expected values of one layer, such as resid_post.6 or 5.1, got ",
                arguments.text("values"));
  if (direction.point) {
    const Point own = direction.point->point;
    require_value(point.point == own || (has_stream_axes(point.point) && has_stream_axes(own)),
                  "values", "expected values of ",
                  has_stream_axes(own) ? "the residual stream" : name_of(own),
                  ", as the direction ", direction.name, ", got ", arguments.text("values"));
  }
  return point;
}

// Projections [T] of a text's values at a point on a direction.
std::vector<double> projections_on(const TextDirection& direction, const PointRange& point,
                                   const Gpt& model, const PointValues& values) {
  const auto found = std::ranges::find_if(values, [&](const auto& entry) {
    return covers(point, entry.first.first, entry.first.second);
  });
  require_value(found != values.end(), "values", "this model does not compute ",
                name_of(point.point), " in layer ", point.layers.first);
  const ValueLayout layout(point.point, found->second.shape());
  Index begin = 0;
  Index size = layout.items * layout.width;
  if (point.items) {
    const std::vector<Index> numbers =
        item_numbers(point.point, point.layers.first, layout.items, model.heads());
    const auto item = std::ranges::find(numbers, point.items->first);
    require_value(item != numbers.end(), "values", "expected one of ", numbers_text(numbers),
                  ", got ", point.items->first);
    begin = (item - numbers.begin()) * layout.width;
    size = layout.width;
  }
  const std::vector<double> vector = direction.vector.to_vector();
  require_value(size == std::ssize(vector), "values", "expected values of ", vector.size(),
                " numbers, as the direction has, got ", size);
  const std::vector<double> elements = found->second.to_vector();
  const double length = length_of(direction.vector);
  std::vector<double> projections;
  for (auto row = elements.begin(); row != elements.end(); row += layout.row_stride) {
    projections.push_back(std::inner_product(vector.begin(), vector.end(), row + begin, 0.0) /
                          (length > 0 ? length : 1));
  }
  return projections;
}

// Projections of a text's values on the directions, from one pass.
std::vector<TokenValues> projections(const Asker& asker, const Arguments& arguments,
                                     const std::vector<NamedDirection>& all,
                                     const std::vector<std::int32_t>& text) {
  const std::vector<PointRange> points =
      transformed(all, [&](const auto& one) { return projected_point(arguments, one); });
  const PointValues values = values_of(
      asker.model, make_batch({text}),
      [&](Point point, Index layer) { return covers(points, point, layer); }, true);
  std::vector<TokenValues> projected;
  for (std::size_t i = 0; i < all.size(); ++i) {
    projected.push_back(
        {all[i].name, text, projections_on(all[i].found, points[i], asker.model, values)});
  }
  return projected;
}

QuestionResult direction(const Asker& asker, const Arguments& arguments) {
  std::vector<std::int32_t> text;
  if (arguments.given("text")) {
    text = read_prompt(asker, arguments.value("text"), "text");
  }
  const std::vector<NamedDirection> all = read_directions(asker, arguments, std::ssize(text));
  QuestionResult result{
      .title = "Directions",
      .facts = {{"pairs",
                 arguments.given("pairs") ? Json(arguments.value("pairs").size()) : Json()}},
      .tables = {direction_table(all, arguments.given("pairs"))}};
  add_raised_tokens(asker, arguments, all, result.tables.front());
  for (const NamedDirection& one : all) {
    result.arrays.tensors.emplace_back(one.name, one.found.vector);
  }
  add_arrays(result.tables.front(), "", result.arrays);
  if (!text.empty()) {
    const std::vector<TokenValues> projected = projections(asker, arguments, all, text);
    result.texts = token_colours(projected, asker.tokenizer);
    for (ColouredText& one : result.texts) {  // the first token's value would hide all others
      one.values.front() = one.values.size() > 1 ? std::nan("") : one.values.front();
    }
    result.tables.push_back(token_value_table(projected, "direction", "projection",
                                              "Projections of the tokens", asker.tokenizer));
    result.tables.back().key = "projections";
    add_arrays(result.tables.back(), "projection_", result.arrays);
  }
  return result;
}

void check_direction(const Arguments& arguments) {
  const int sources = (arguments.given("pairs") ? 1 : 0) + (arguments.given("vector") ? 1 : 0) +
                      (arguments.given("answer") ? 1 : 0);
  require_value(sources == 1, "pairs", "expected one of pairs, vector and answer");
}

std::vector<Parameter> direction_parameters() {
  Parameter text = text_parameter({});
  text.excludes = {};
  text.is_required = false;
  std::vector<Parameter> all = with({pairs_parameter(), text}, {});
  for (Parameter& parameter : answer_parameters()) {
    all.push_back(std::move(parameter));
  }
  all.back().needs = {"answer"};
  Parameter point = point_parameter(Point::resid_post, choices_of<Point>());
  Parameter layers = layers_parameter();
  Parameter method =
      method_parameter(choices_of<DirectionMethod>(), name_of(DirectionMethod::mean_difference));
  for (Parameter* of_pairs : {&point, &layers, &method}) {
    of_pairs->needs = {"pairs"};
  }
  return with(
      std::move(all),
      {{.name = "vector",
        .help = "A saved direction, FILE.npz:ARRAY",
        .kind = ValueKind::path,
        .excludes = {"pairs", "answer"},
        .is_direction = true},
       point,
       layers,
       method,
       {.name = "tokens_of",
        .help = "Tokens of each text of the pairs whose values count: the last one, or the mean of "
                "all but the first, whose values are far larger in many models",
        .kind = ValueKind::name,
        .fallback = name_of(DirectionTokens::last),
        .choices = choices_of<DirectionTokens>(),
        .needs = {"pairs"}},
       {.name = "values",
        .help = "Values of the text that are projected: a point such as resid_post.6, or the "
                "output of a head, 5.1 (default: the point of the direction)",
        .needs = {"text"}},
       top_k_parameter()});
}

}  // namespace

const Question& direction_question() {
  static const Question question{
      .name = "direction",
      .summary = "Find the direction of a property from pairs of texts, for steering.",
      .details = kDirectionDetails,
      .examples = {"headlight direction runs/toy --pairs pairs.jsonl --npz joy.npz",
                   "headlight direction runs/toy --pairs pairs.jsonl --layers 1 --text \"Mina lost "
                   "her red key.\" --html projected.html",
                   "headlight direction runs/toy --answer \" key\" --wrong \" hat\" --text \"Mina "
                   "lost her red key.\" --values 1.0"},
      .parameters = direction_parameters(),
      .facts = {{"pairs", "their number; null for a given direction"},
                {"projections", "with text: [{direction, position, id, token, projection}]"}},
      .rows = "directions",
      .columns = {{"direction, layer",
                   "name of the array, and its layer; null for an array that names no point"},
                  {"length", "of the vector"},
                  {"held_out, explained", "of pairs: shares, see above"},
                  {"raises, lowers",
                   "[{id, token, product}], of directions in the residual stream"}},
      .has_ranked_rows = false,
      .positional = {"pairs"},
      .check = check_direction,
      .answer = direction};
  return question;
}

}  // namespace headlight
