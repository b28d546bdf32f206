#include <algorithm>
#include <memory>

#include "headlight/datasets/text_dataset.h"
#include "headlight/interpret/lens/lens.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/lens_report.h"

namespace headlight {
namespace {

constexpr const char* kLensDetails =
    "Shows the logit lens (nostalgebraist 2020): the last norm and the output head read the "
    "residual stream after every layer, as if no layers followed. With data, prints means "
    "over all tokens of a text.\n\n"
    "The rows are embed (input of the first layer), the layers, and the model's own "
    "prediction, which is the last layer for resid_post and the row final otherwise. point "
    "attn_out or mlp_out reads the contribution of each layer to the stream. It is divided by "
    "the last norm's divisor for the final stream, without the norm's shift, so that logits "
    "add up. Models with norm = post and a causal mask have no lens.\n\n"
    "Bidirectional models (BERT) predict masked tokens: their head reads the stream, and the "
    "target of a token is the token itself. Write [MASK] in the text where a token is to be "
    "predicted; the target there is answer, or the model's most probable token. With data, "
    "the tokens at positions 1, 8, 15 ... of each sequence are hidden and predicted.\n\n"
    "The target of a token is the next token of the text. The target of the last token is "
    "answer, or the model's most probable token. Rank 1 is the most probable token. "
    "Entropies, log-probabilities and KL are in nats. KL is the divergence of the row from the "
    "model's own prediction: the mean difference of log-probabilities under that prediction.\n\n"
    "Tables and figures have one column for a character of several tokens, and complete a "
    "predicted token that ends within a character as the model continues. JSON and arrays have "
    "all tokens.\n\n"
    "The arrays are probability, log_probability, rank, entropy, kl "
    "[R, P], top_ids, top_probabilities [R, P, k], layers [R] (-1: embed; number of layers: "
    "final), positions, tokens, targets [P], and the names rows [R] and token_labels [P]. With "
    "data: loss, accuracy, entropy, kl and the names layer [R].";

LensView view_of(const Arguments& arguments) {
  const std::string point = arguments.text("point");
  if (std::ranges::count(kLensPointNames, point) == 0) {
    fail_choice("point", kLensPointNames, point);
  }
  LensView view{.point = parse_name<Point>("point", point), .layers = arguments.range("layers")};
  if (arguments.given("tuned")) {
    view.tuned = std::make_shared<TunedLens>(load_tuned_lens(arguments.text("tuned")));
  }
  return view;
}

Index count_in(const NumberRange& range, Index count) {
  const Index last = std::min(count - 1, range.last.value_or(count - 1));
  return std::max<Index>(last - range.first + 1, 0);
}

LensTask lens_task(const Asker& asker, const Arguments& arguments) {
  LensTask task{.text = read_prompt(asker, arguments.value("text"), "text"),
                .view = view_of(arguments),
                .target = read_token(asker, arguments, "answer"),
                .top_k = arguments.integer("top_k"),
                .progress = asker.progress,
                .kept = asker.kept};
  const Index length = std::ssize(task.text);
  task.positions = arguments.range("positions", length);
  if (!asker.model.config().causal) {
    task.mask = masking_of(asker.tokenizer).token;
  }
  require_value(!task.target || task.mask || task.positions.last.value_or(length) + 1 >= length,
                "answer", "is the target of the last token, which the positions leave out");
  const Index readings = (count_in(task.view.layers, asker.model.config().n_layer) + 2) *
                         count_in(task.positions, length);
  asker.require_room(readings, task.top_k);
  const Index last = std::min(task.positions.last.value_or(length - 1), length - 1);
  asker.begin(asker.tokens_read(task.text, last) + readings);
  return task;
}

QuestionResult read_text(const Asker& asker, const Arguments& arguments) {
  const LensTask task = lens_task(asker, arguments);
  const Tokenizer& tokenizer = asker.tokenizer;
  const auto read = std::make_shared<LensResult>(logit_lens(asker.model, task));
  QuestionResult result{.title = "Logit lens",
                        .facts = lens_facts(*read, task.view, tokenizer),
                        .tables = {lens_table(read, tokenizer)}};
  if (asker.shows) {
    const PredictedTexts texts = predicted_texts(*read, task.text, asker.model, tokenizer);
    result.footing = lens_text(*read, texts, tokenizer, asker.columns);
    result.grids = lens_grids(*read, texts, task.view, tokenizer);
    result.curve = [plot = lens_plot(*read, texts, task.view, tokenizer)] {
      return matrix_plot_svg(plot);
    };
    result.arrays = lens_arrays(*read, tokenizer);
  }
  return result;
}

QuestionResult read_data(const Asker& asker, const Arguments& arguments) {
  const LensView view = view_of(arguments);
  const LensMeansResult means = lens_means(
      asker.model, asker.data.at("data"),
      {.view = view,
       .batch_size = arguments.integer("batch_size"),
       .max_batches = arguments.integer("max_batches"),
       .masking =
           asker.model.config().causal ? std::nullopt : std::optional(masking_of(asker.tokenizer)),
       .progress = asker.progress});
  return {.title = "Logit lens",
          .heading =
              "means over " + counted(means.tokens, "token") + "; loss, entropy and KL in nats\n",
          .facts = {{"point", name_of(view.point)}, {"tokens", means.tokens}},
          .tables = {lens_means_table(means)},
          .curve = [means] { return lens_means_svg(means); }};
}

QuestionResult lens(const Asker& asker, const Arguments& arguments) {
  return arguments.given("data") ? read_data(asker, arguments) : read_text(asker, arguments);
}

std::vector<Parameter> lens_parameters() {
  std::vector<Parameter> all{
      text_parameter("data"),
      point_parameter(Point::resid_post, {kLensPointNames.begin(), kLensPointNames.end()}),
      layers_parameter(),
      {.name = "tuned",
       .help = "Read with a tuned lens: a folder or file of the package tuned-lens",
       .kind = ValueKind::path}};
  const auto of_text = [&](Parameter parameter) {
    parameter.needs = {"text"};
    parameter.excludes.clear();
    parameter.is_basic = true;
    all.push_back(std::move(parameter));
  };
  of_text(positions_parameter());
  of_text(answer_parameters().front());
  of_text(top_k_parameter());
  for (Parameter& parameter : text_data_parameters("text")) {
    all.push_back(std::move(parameter));
  }
  all.push_back({.name = "max_batches",
                 .help = "Use this number of batches, spread evenly over the data; 0: all",
                 .kind = ValueKind::integer,
                 .fallback = 0,
                 .least = 0,
                 .needs = {"data"}});
  return all;
}

}  // namespace

const Question& lens_question() {
  static const Question question{
      .name = "lens",
      .group = QuestionGroup::look,
      .summary = "Show the next-token prediction after every layer.",
      .details = kLensDetails,
      .examples = {"headlight lens runs/toy --text 'Mina lost her red key. \"Have you seen my red' "
                   "--svg lens.svg",
                   "headlight lens runs/toy --text \"One day\" --positions last --point mlp_out "
                   "--answer \",\"",
                   "headlight lens runs/toy --data data/toy.txt --documents blank_line --svg "
                   "layers.svg"},
      .parameters = lens_parameters(),
      .facts = {{"point", "what was read"},
                {"positions", "of a text: [{position, id, token, target{id, token}}]"},
                {"tokens", "of data: number of targets"}},
      .rows = "rows",
      .columns = {{"row, layer", "the layer; -1: embed; number of layers: final"},
                  {"readings",
                   "of a text: [{probability, logprob, rank, entropy, kl, top[{id, token, "
                   "probability}]}], one for each position"},
                  {"loss, accuracy, entropy, kl", "of data: means"}},
      .reads_masked_models = true,
      .has_ranked_rows = false,
      .urgency = Urgency::live,
      .positional = {"text"},
      .answer = lens};
  return question;
}

}  // namespace headlight
