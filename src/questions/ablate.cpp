#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/transformed.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/interpret/scores/head_score_file.h"
#include "questions/question.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/score_scatter.h"

namespace headlight {
namespace {

constexpr const char* kAblateDetails =
    "Replaces the output of one head, or another part, at a time and measures how much the loss on "
    "a text rises, in nats per token, with a 95 % interval. A rise near 0 means that the model "
    "does not need the part.\n\n"
    "  mode zero       use zeros instead\n"
    "  mode mean       use the mean output over the whole text\n"
    "  mode resample   use the output at the same position of the next document\n\n"
    "Intervals come from a bootstrap over documents, or over the blocks of one document. "
    "Intervals over fewer than 10 sequences are too narrow: the first line says so, and "
    "figures are marked ?.\n\n"
    "Bidirectional models (BERT) predict masked tokens: in each sequence the tokens at positions "
    "1, 8, 15 ... (about 15 %, none special) become [MASK], and the loss is that of these "
    "tokens, all predicted in one pass.\n\n"
    "by ablates each head (the default), or the attention, the MLP or both (layer) of each layer, "
    "or each neuron of the layers that are named. parts ablates several parts together, with the "
    "names of intervene (headlight generate --help all): heads, mlp.3, attn.3, layer.3, "
    "neuron.3.17, classes of heads (with scores). Each value is a separate experiment.\n\n"
    "joint also ablates all pairs among the most important heads, or other parts. 'beyond' is the "
    "rise of a pair minus the rises of its two parts. Above 0, each compensates for the loss of "
    "the other.\n\n"
    "metric measures another number than the loss: rises and the key loss are then of that "
    "number, and a fall of the probability or log_probability means that the model needs the "
    "part.\n\n"
    "The figure is a heat map of heads or parts, a curve over layers, or over neurons in "
    "descending "
    "order. Arrays: rise, rise_low and rise_high, of heads [R, K] with the names layer and head, "
    "of "
    "parts [R] with the names part; with joint also pair_rise and pair_beyond with _low and _high "
    "and the names first and second.";

// What was ablated, and its effects.
struct AblationReport {
  PartKind by = PartKind::head;
  bool of_sets = false;  // of "parts"
  AblationMode mode = AblationMode::zero;
  MetricKind metric = MetricKind::loss;
  std::vector<PartSet> parts = {};
  AblationResult whole = {};
  std::map<HeadId, double> scores = {};
  std::string score = {};

  bool of_heads() const { return !of_sets && by == PartKind::head; }
};

HeadId ablated_head(const PartSet& part) {
  const PointRange& head = part.targets.front();
  return {head.layers.first, head.items->first};
}

std::string range_name(const PointRange& target) {
  std::string text(name_of(target.point));
  if (is_in_layer(target.point) || target.items) {
    text += "." + range_text(target.layers);
  }
  return target.items ? text + "." + range_text(*target.items) : text;
}

Json facts_of(const AblationReport& report) {
  const AblationResult& whole = report.whole;
  return {{"by", report.of_sets ? Json() : Json(name_of(report.by))},
          {"mode", name_of(report.mode)},
          {"metric", name_of(report.metric)},
          {"loss", interval_json(whole.loss)},
          {"sequences", whole.sequences},
          {"tokens", whole.tokens}};
}

ResultColumn rise_column(std::string name, std::string title, std::vector<Interval> rises,
                         const AblationReport& report) {
  return {.name = std::move(name),
          .values = std::move(rises),
          .title = std::move(title),
          .decimals = 4,
          .is_object = true,
          .is_doubtful = report.whole.sequences < kEnoughDocuments};
}

std::string rise_title(MetricKind metric) {
  return concat_text("rise of the ", metric_noun(metric), " (95 %)");
}

ResultView rise_view(const AblationReport& report) {
  ResultView view{
      .name = "rise",
      .column = "rise",
      .title = concat_text("Rise of the ", metric_noun(report.metric), " without each ")};
  if (report.of_heads()) {
    view.title += "head";
    view.rows = kLayerAxis;
    view.columns = kHeadAxis;
  } else {
    view.title += concat_text("part,", metric_unit(report.metric), " a token");
    view.rows = {.title = "part", .column = "part"};
  }
  return view;
}

// Heads that the model needs most are first in the text, and other parts with the largest changes.
ResultTable part_table(const AblationReport& report) {
  const ColumnsOf of_parts{report.parts};
  const auto of_one = [&](const auto& number) {
    return [&](const PartSet& part) -> std::optional<Index> {
      return report.of_sets ? std::nullopt : number(part.targets.front());
    };
  };
  const auto layer = [](const PointRange& one) { return std::optional(one.layers.first); };
  const auto index = [](const PointRange& one) {
    return one.items ? std::optional(one.items->first) : std::nullopt;
  };
  const auto targets = [](const PartSet& part) -> Json {
    return transformed(part.targets, range_name);
  };
  ResultTable table{
      .columns = {of_parts("part", &PartSet::name, report.of_heads() ? "head" : "without"),
                  of_parts("layer", of_one(layer)), of_parts("index", of_one(index)),
                  of_parts("targets", targets),
                  rise_column("rise", rise_title(report.metric), report.whole.rises, report)},
      .views = {rise_view(report)},
      .ranking = !report.of_heads()                 ? Ranking::size
                 : rises_when_needed(report.metric) ? Ranking::highest
                                                    : Ranking::lowest,
      .ranked_by = "rise"};
  if (!report.score.empty()) {
    const auto score = [&](const PartSet& part) {
      const auto found = report.scores.find(ablated_head(part));
      return found == report.scores.end() ? std::numeric_limits<double>::quiet_NaN()
                                          : found->second;
    };
    table.columns.push_back(of_parts("score", score, report.score).as(NumberForm::plain, 3));
  }
  return table;
}

// The grids have the first part of a pair in rows, and the second one in columns.
ResultTable pair_table(const AblationReport& report) {
  const std::vector<PairEffect>& pairs = report.whole.pairs;
  const ColumnsOf of_pairs{pairs};
  std::vector<std::size_t> all = transformed(pairs, &PairEffect::first);
  std::ranges::transform(pairs, std::back_inserter(all), &PairEffect::second);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto name_of_part = [&](std::size_t part) { return report.parts[part].name; };
  const std::vector<std::string> labels = transformed(all, name_of_part);
  const ResultAxis first{.title = "first", .column = "first", .labels = labels};
  const ResultAxis second{.title = "second", .column = "second", .labels = labels};
  const std::string rise = concat_text("Rise of the ", metric_noun(report.metric), " without ");
  const auto one = [&](std::size_t PairEffect::*part) {
    return [=](const PairEffect& pair) { return name_of_part(pair.*part); };
  };
  const auto names = [&](const PairEffect& pair) {
    return name_of_part(pair.first) + (report.of_sets ? " + " : " ") + name_of_part(pair.second);
  };
  const auto parts = [&](const PairEffect& pair) -> Json {
    return Json::array({name_of_part(pair.first), name_of_part(pair.second)});
  };
  return {.key = "pairs",
          .columns = {of_pairs.hidden("first", one(&PairEffect::first)),
                      of_pairs.hidden("second", one(&PairEffect::second)),
                      of_pairs.hidden("names", names, report.of_heads() ? "heads" : "parts"),
                      of_pairs("parts", parts),
                      rise_column("rise", rise_title(report.metric),
                                  transformed(pairs, &PairEffect::rise), report),
                      rise_column("beyond", "beyond both alone",
                                  transformed(pairs, &PairEffect::beyond), report)},
          .views = {{"pair_rise", "rise", rise + "both parts", first, second},
                    {"pair_beyond", "beyond", rise + "a pair beyond that of both parts alone",
                     first, second}},
          .ranking = Ranking::highest,
          .ranked_by = "beyond"};
}

// Curve of the rises over layers, or over neurons in descending order, with the ends of intervals.
std::string curve_of(const AblationReport& report) {
  const bool of_neurons = report.by == PartKind::neuron;
  std::vector<Interval> rises = report.whole.rises;
  std::vector<double> x(rises.size());
  std::iota(x.begin(), x.end(), 0.0);
  if (of_neurons) {
    std::ranges::stable_sort(rises, std::ranges::greater(), &Interval::mean);
  } else {
    std::ranges::transform(report.parts, x.begin(), [](const PartSet& part) {
      return static_cast<double>(part.targets.front().layers.first);
    });
  }
  LinePlot plot{.title = concat_text("Without each ", name_of(report.by)),
                .x_label = of_neurons ? "neurons, the largest rise first" : "layer",
                .y_label = concat_text("rise of the ", metric_noun(report.metric), ",",
                                       metric_unit(report.metric), " a token"),
                .series = interval_curves(x, rises, "rise", !of_neurons)};
  const Index sequences = report.whole.sequences;
  if (sequences <= 1) {  // a single sequence has no interval
    plot.series = {plot.series.back()};
  }
  if (sequences < kEnoughDocuments) {
    plot.x_label += concat_text(" (caution: over ", counted(sequences, "sequence"), " only)");
  }
  return line_plot_svg(plot);
}

// Chart of the scores of the heads against their rises.
std::string scatter_of(const AblationReport& report) {
  ScatterPlot plot = score_scatter(report.score, report.metric);
  for (std::size_t i = 0; i < report.parts.size(); ++i) {
    const PartSet& part = report.parts[i];
    if (const auto score = report.scores.find(ablated_head(part)); score != report.scores.end()) {
      plot.points.push_back({part.name, score->second, report.whole.rises[i].mean});
    }
  }
  return scatter_plot_svg(plot);
}

QuestionResult result_of(std::shared_ptr<const AblationReport> report) {
  const AblationResult& whole = report->whole;
  const std::string caution = few_documents_caution(whole.sequences);
  QuestionResult result{
      .title = concat_text("Rise of the ", metric_noun(report->metric), " without each part"),
      .caution = caution,
      .heading = loss_heading(whole.loss.mean, whole.tokens, whole.sequences, report->metric),
      .facts = facts_of(*report),
      .tables = {part_table(*report), pair_table(*report)},
      .note = caution};
  if (!report->of_heads() && !report->of_sets) {
    result.curve = [report] { return curve_of(*report); };
  }
  if (!report->score.empty()) {
    result.chart = [report] { return scatter_of(*report); };
  }
  return result;
}

// The text as a stream, which may be longer than the context.
TokenDataset text_data(const Asker& asker, const Json& text) {
  const GptConfig& config = asker.model.config();
  TokenDataset data;
  if (text.is_array()) {
    data = stream_dataset(read_prompt(asker, text, "text"));
    data.documents = !config.causal;  // read whole, without more tokens
  } else {
    require_value(!text.text().empty(), "text", "expected a text");
    data = whole_sequences(stream_dataset(asker.encode_prompt(text.text(), "text")), config,
                           asker.tokenizer);
  }
  require_value(has_targets(data), "text", "expected at least two tokens, got ", data.token_count);
  return data;
}

void warn_about(const Asker& asker, const std::string& doubt) {
  if (!doubt.empty()) {
    asker.warn("scores: " + doubt);
  }
}

std::vector<PartSet> part_sets(const Asker& asker, const Arguments& arguments) {
  std::map<HeadId, HeadScore> scores;
  if (arguments.given("scores")) {
    HeadScoreFile file = read_head_scores(arguments.text("scores"), asker.model);
    warn_about(asker, file.doubt);
    scores = std::move(file.scores);
  }
  return transformed(arguments.texts("parts"), [&](const std::string& text) -> PartSet {
    Change change = with_heads_of_classes(parse_targets("parts", text), scores, "parts");
    return {text, std::move(change.targets), change.positions};
  });
}

void read_scores(const Asker& asker, const Arguments& arguments, const HeadSet& heads,
                 AblationReport& report) {
  report.score = arguments.text("score");
  HeadScoreColumn column = read_head_score(arguments.text("scores"), asker.model, report.score);
  warn_about(asker, column.doubt);
  report.scores = std::move(column.scores);
  require_value(
      std::ranges::any_of(heads, [&](const HeadId& id) { return report.scores.contains(id); }),
      "scores", "expected the score ", report.score, " of a head that is ablated");
}

// Tokens times passes: of the whole model, of means (also of the last token) or of the next
// documents, and of the layers from each part on; of pairs, whose layers are not known yet, at
// most; and of one token for the shapes.
Index work_of(const Asker& asker, const TokenDataset& data, const AblationOptions& options,
              const std::vector<PartSet>& parts) {
  const Index layers = asker.model.config().n_layer;
  Index computed = layers;
  for (const PartSet& part : parts) {
    computed += layers - std::max<Index>(first_layer(part, asker.model), 0);
  }
  computed += options.mode == AblationMode::zero ? 0 : layers;
  computed += layers * options.joint * (options.joint - 1) / 2;
  const Index predicted = asker.model.config().causal ? std::ssize(data.sequences) : 0;
  return (data.token_count - predicted) * computed / layers + 1 +
         (options.mode == AblationMode::mean ? 1 : 0);
}

std::vector<PartSet> chosen_parts(const Asker& asker, const Arguments& arguments) {
  if (arguments.given("parts")) {
    return part_sets(asker, arguments);
  }
  if (arguments.given("heads")) {
    const HeadSet heads = HeadSet::parse(arguments.text("heads"));
    return transformed(heads.or_all(heads_of(asker.model)), head_part);
  }
  return each_part(asker.model, arguments.chosen<PartKind>("by"), arguments.range("layers"),
                   arguments.range("items"));
}

AblationOptions options_of(const Asker& asker, const Arguments& arguments) {
  require_value(!asker.metric, "metric",
                "expected the name of a metric: ablation measures every token to predict");
  AblationOptions options{.mode = arguments.chosen<AblationMode>("mode"),
                          .joint = arguments.integer("joint"),
                          .metric = arguments.chosen<MetricKind>("metric"),
                          .batch_size = arguments.integer("batch_size"),
                          .memory = memory_of(arguments),
                          .processes = asker.processes,
                          .progress = asker.progress};
  options.bootstrap.resamples = arguments.integer("resamples");
  options.bootstrap.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  if (!asker.model.config().causal) {
    options.masking = masking_of(asker.tokenizer);
  }
  return options;
}

QuestionResult ablation(const Asker& asker, const Arguments& arguments) {
  const auto report = std::make_shared<AblationReport>();
  const AblationOptions options = options_of(asker, arguments);
  report->by = arguments.chosen<PartKind>("by");
  report->of_sets = arguments.given("parts");
  report->mode = options.mode;
  report->metric = options.metric;
  const std::optional<TokenDataset> text =
      asker.data.empty() ? std::optional(text_data(asker, arguments.value("text"))) : std::nullopt;
  const TokenDataset& data = text ? *text : asker.data.at("data");
  report->parts = chosen_parts(asker, arguments);
  if (report->of_heads() && arguments.given("scores")) {
    read_scores(asker, arguments, transformed(report->parts, ablated_head), *report);
  }
  asker.begin(work_of(asker, data, options, report->parts));
  report->whole = ablate(asker.model, data, report->parts, options);
  return result_of(report);
}

Parameter only_of_heads(Parameter parameter) {
  parameter.needs = {"by=head"};
  parameter.excludes.push_back("parts");
  return parameter;
}

std::vector<Parameter> ablate_parameters() {
  std::vector<Parameter> all = text_data_parameters("text");
  all.push_back(text_parameter("data"));
  all.push_back(by_parameter(choices_of<PartKind>(), name_of(PartKind::head)));
  Parameter heads = heads_parameter();
  heads.excludes = {"layers"};
  all.push_back(only_of_heads(std::move(heads)));
  all.push_back(layers_parameter());
  return with(
      std::move(all),
      {{.name = "items",
        .help = "Only these neurons of each layer, e.g. 3, 4-8 (8 included) or 4-",
        .kind = ValueKind::range,
        .needs = {"by=neuron"}},
       {.name = "parts",
        .help = "Ablate these parts together, e.g. '5.1, mlp.3'; each further value is a separate "
                "experiment",
        .kind = ValueKind::texts,
        .excludes = {"by", "layers", "scatter"},
        .is_basic = true,
        .former = {"off"}},
       {.name = "mode",
        .help = "Replacement for the output of a part",
        .kind = ValueKind::name,
        .fallback = name_of(AblationMode::zero),
        .choices = choices_of<AblationMode>(),
        .is_basic = true},
       metric_parameter(MetricKind::loss),
       {.name = "joint",
        .help = "Also ablate all pairs among the N most important heads, or other parts; 0: none",
        .kind = ValueKind::integer,
        .fallback = 0,
        .least = 0,
        .is_basic = true,
        .former = {"pairs"}},
       {.name = "scores",
        .help = "File heads.json from headlight heads, for classes of heads and for score",
        .kind = ValueKind::path,
        .needs = {"by=head"}},
       {.name = "score",
        .help = "Score of the heads that is shown beside their rises",
        .fallback = "induction",
        .excludes = {"parts"},
        .needs = {"scores"}},
       {.name = "resamples",
        .help = "Number of bootstrap resamples",
        .kind = ValueKind::integer,
        .fallback = 1000,
        .least = 1,
        .most = 1'000'000},
       seed_parameter(),
       memory_parameter()});
}

}  // namespace

const Question& ablate_question() {
  static const Question question{
      .name = "ablate",
      .group = QuestionGroup::change,
      .summary = "Measure the loss without each attention head, MLP, layer or neuron.",
      .details = kAblateDetails,
      .examples = {"headlight ablate runs/toy --data data/toy.txt --documents blank_line",
                   "headlight ablate runs/toy --data book.txt --heads 0.1,1.0",
                   "headlight ablate runs/toy --data book.txt --mode mean --joint 6",
                   "headlight ablate runs/toy --data book.txt --scores heads/heads.json --scatter "
                   "scatter.svg",
                   "headlight ablate runs/toy --data book.txt --by mlp --svg mlps.svg",
                   "headlight ablate runs/toy --data book.txt --parts \"0.1, mlp.1\" layer.1"},
      .parameters = ablate_parameters(),
      .facts = {{"caution", "null: none"},
                {"by, mode, metric", "what was measured; by is null for sets of parts"},
                {"loss", "{mean, low, high} of the whole model"},
                {"sequences, tokens", "what it read"},
                {"pairs", "with joint: [{parts, rise, beyond}]"}},
      .rows = "parts",
      .columns = {{"part, targets", "the part, and the points that it names"},
                  {"layer, index", "of one head or neuron; null for sets"},
                  {"rise", "{mean, low, high} without the part"},
                  {"score", "with scores: of the head"}},
      .chart = "scatter",
      .chart_help = "Draw --score of the heads against the rise to this .svg file",
      .chart_needs = "scores",
      .former = {{"each", "is now called --by"}},
      .reads_masked_models = true,
      .positional = {"data"},
      .answer = ablation};
  return question;
}

}  // namespace headlight
