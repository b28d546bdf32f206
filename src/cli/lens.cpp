#include <iostream>

#include "cli/commands.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/terminal.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/interpret/lens/lens.h"
#include "show/report/lens_report.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kLensDetails =
    "Shows the logit lens (nostalgebraist 2020): the last norm and the output head read the "
    "residual stream after every layer, as if no layers followed. With --data, prints means "
    "over all tokens of a text.\n\n"
    "The rows are embed (input of the first layer), the layers, and the model's own "
    "prediction, which is the last layer for resid_post and the row final otherwise. --point "
    "attn_out or mlp_out reads the contribution of each layer to the stream. It is divided by "
    "the last norm's divisor for the final stream, without the norm's shift, so that logits "
    "add up. Models with norm = post and a causal mask have no lens.\n\n"
    "Bidirectional models (BERT) predict masked tokens: their head reads the stream, and the "
    "target of a token is the token itself. Write [MASK] in the text where a token is to be "
    "predicted; the target there is --target, or the model's most probable token. With --data, "
    "the tokens at positions 1, 8, 15 ... of each sequence are hidden and predicted.\n\n"
    "The target of a token is the next token of the text. The target of the last token is "
    "--target, or the model's most probable token. Rank 1 is the most probable token. "
    "Entropies, log-probabilities and KL are in nats. KL is the divergence of the row from the "
    "model's own prediction: the mean difference of log-probabilities under that prediction.\n\n"
    "Tables and figures have one column for a character of several tokens, and complete a "
    "predicted token that ends within a character as the model continues. JSON and arrays have "
    "all tokens.\n\n"
    "--npz writes an archive for numpy.load: probability, log_probability, rank, entropy, kl "
    "[R, P], top_ids, top_probabilities [R, P, k], layers [R] (-1: embed; number of layers: "
    "final), positions, tokens, targets [P], and the names rows [R] and token_labels [P]. With "
    "--data: loss, accuracy, entropy, kl and the names layer [R].\n\n"
    "JSON keys: point, positions[{position, id, token, target{id, token}}], rows[{row, layer, "
    "readings[{probability, logprob, rank, entropy, kl, top[{id, token, probability}]}]}]. "
    "With --data: point, tokens, rows[{row, layer, loss, accuracy, entropy, kl}].";

Options lens_options() {
  Options options({.name = "lens",
                   .summary = "Show the next-token prediction after every layer.",
                   .positional = "MODEL",
                   .details = kLensDetails,
                   .examples = {"headlight lens runs/toy --text 'Mina lost her red key. \"Have you "
                                "seen my red' --svg lens.svg",
                                "headlight lens runs/toy --text \"One day\" --positions last "
                                "--point mlp_out --target \",\"",
                                "headlight lens runs/toy --data data/toy.txt --documents "
                                "blank_line --svg layers.svg"}});
  options.value("text", "Show the predictions for this text");
  add_ids_option(options);
  options
      .choice("point", "Activations of each layer that the lens reads", kLensPointNames,
              "resid_post")
      .value("layers", "Layers, e.g. 3, 0-5 or 4- (default: all)")
      .value("tuned", "Read with a tuned lens: a folder or file of the package tuned-lens")
      .value("positions", "Positions in the text, from 0, e.g. 3, 0-5 or last (default: all)")
      .value("target", "Target of the last token, or of [MASK] (default: the most probable token)")
      .value("top_k",
             "Report the N most probable tokens; the table shows those for which it has space",
             "5");
  add_result_options(options);
  add_text_data_options(options);
  add_window_option(options);
  add_intervene_options(options);
  options.value("max_batches",
                "--data: use this number of batches, spread evenly over the text; 0: all", "0");
  options.paths({"tuned"}).basic({"text", "point", "layers", "positions", "target", "top_k"});
  return options;
}

// Throws Error for options of --text beside --data, and of --data beside --text.
void check_source(const Options& options) {
  const bool of_text = gives_text(options);
  require(of_text != options.given("data"), "--text: expected a text, or --data",
          of_text ? ", not both" : "");
  if (of_text) {
    refuse_options(options,
                   {"documents", "separator", "jsonl", "token_dtype", "batch_size", "max_batches"},
                   "needs --data");
  } else {
    refuse_options(options, {"positions", "target", "top_k"}, "needs --text");
  }
}

LensView view_of(const Options& options) {
  LensView view{.point = options.chosen<Point>("point")};
  if (options.given("layers")) {
    view.layers = parse_range("layers", options.text("layers"));
  }
  if (options.given("tuned")) {
    view.tuned = std::make_shared<TunedLens>(load_tuned_lens(options.text("tuned")));
  }
  return view;
}

LensTask task_of(const Options& options, const LoadedModel& loaded) {
  LensTask task{.text = block_tokens(options, "text", loaded),
                .view = view_of(options),
                .top_k = count_option(options, "top_k", 1, loaded.model->vocab_size())};
  if (!loaded.model->config().causal) {
    task.mask = masking_of(*loaded.tokenizer).token;
  }
  if (options.text("positions") == "last") {
    task.positions.first = std::ssize(task.text) - 1;
  } else if (options.given("positions")) {
    task.positions = parse_range("positions", options.text("positions"));
  }
  if (options.given("target")) {
    const Index last = task.positions.last.value_or(std::ssize(task.text) - 1);
    require(task.mask || last + 1 >= std::ssize(task.text),
            "--target: sets the target of the last token, but --positions leaves that token out");
    task.target = token_option(options, "target", *loaded.tokenizer);
  }
  return task;
}

void read_text(const Options& options, const LoadedModel& loaded, const ResultFiles& files) {
  LensTask task = task_of(options, loaded);
  task.progress = progress_bar("reading layers");
  const LensResult result = logit_lens(*loaded.model, task);
  task.progress = {};
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const PredictedTexts texts = predicted_texts(result, task.text, *loaded.model, tokenizer);
  files.write(
      {.svg = [&] { return matrix_plot_svg(lens_plot(result, texts, task.view, tokenizer)); },
       .arrays = [&] { return lens_arrays(result, tokenizer); },
       .page = [&]() -> ResultPage {
         return {.title = "Logit lens", .grids = lens_grids(result, texts, task.view, tokenizer)};
       }});
  std::cout << (options.json() ? json_line(lens_json(result, task.view, tokenizer))
                               : lens_text(result, texts, tokenizer, columns_of(Stream::output)));
}

void read_data(const Options& options, const LoadedModel& loaded, const ResultFiles& files) {
  const LensView view = view_of(options);
  const Index batch_size = count_option(options, "batch_size", 1);
  const Index max_batches = count_option(options, "max_batches", 0);
  const TokenDataset data = read_model_data(options, loaded);
  const LensMeansResult result = lens_means(*loaded.model, data,
                                            {.view = view,
                                             .batch_size = batch_size,
                                             .max_batches = max_batches,
                                             .masking = masking_for(loaded),
                                             .progress = progress_bar("reading layers")});
  const std::vector<ResultGrid> grids = lens_means_grids(result);
  files.write({.svg = [&] { return lens_means_svg(result); },
               .arrays = [&] { return arrays_of(grids); },
               .page = [&]() -> ResultPage {
                 return {.title = "Logit lens",
                         .note = concat_text("Means over ", result.tokens, " tokens"),
                         .grids = grids};
               }});
  std::cout << (options.json() ? json_line(lens_means_json(result, view))
                               : lens_means_text(result));
}

void lens_command(const Options& options) {
  check_source(options);
  const ResultFiles files(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options, Attention::any);
  intervene(options, loaded);
  if (gives_text(options)) {
    read_text(options, loaded, files);
  } else {
    read_data(options, loaded, files);
  }
}

}  // namespace

int run_lens(const Words& words) { return run(lens_options(), words, lens_command); }

}  // namespace headlight::cli
