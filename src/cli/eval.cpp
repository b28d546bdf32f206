#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/text_data.h"
#include "headlight/generate/weights.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/npz.h"
#include "headlight/train/evaluation.h"

namespace headlight::cli {
namespace {

Options make_options() {
  Options options(
      {.name = "eval",
       .summary = "Loss, perplexity and bits per byte of a model on a text.",
       .positional = "MODEL",
       .details =
           "Every token of the text is predicted once, in blocks of the model's length; the "
           "mean is\n"
           "over real tokens. MODEL is a run directory, a checkpoint or a GPT-2 directory.\n"
           "--logits writes an archive for numpy.load: tokens and targets [N], the ids of every\n"
           "input and of what follows it, logits [N, V], and offsets, the row at which each "
           "block\n"
           "begins.\n"
           "JSON keys: loss (nats a token), perplexity, bits_per_byte (null when characters of\n"
           "the text are unknown to the tokenizer), tokens, bytes.",
       .examples = {
           "headlight eval runs/toy --data data/toy.txt --documents blank_line",
           "headlight eval runs/toy --data book.txt --json",
           "headlight eval gpt2_dir --data data/val.bin --max_batches 2 --logits out.npz"}});
  add_text_data_options(options);
  options.value("logits", "Also write the logits of every token to this .npz file")
      .value("weights", "Round the matrices first: float32, bfloat16 or int8", "float32")
      .value("max_batches", "Batches to use, spread evenly over the text; 0: all", "0");
  return options;
}

void print(const Evaluation& result, bool json) {
  if (json) {
    nlohmann::ordered_json bits_per_byte;  // null where the bytes are none or not known
    if (result.bytes > 0) {
      bits_per_byte = result.bits_per_byte;
    }
    print_json({{"loss", result.loss},
                {"perplexity", result.perplexity},
                {"bits_per_byte", bits_per_byte},
                {"tokens", result.tokens},
                {"bytes", result.bytes}});
    return;
  }
  std::cout << std::fixed << std::setprecision(4) << "loss           " << result.loss
            << " nats a token\nperplexity     " << result.perplexity << "\n";
  if (result.bytes > 0) {
    std::cout << "bits per byte  " << result.bits_per_byte << "\ntokens         " << result.tokens
              << " (" << result.bytes << " bytes)\n";
  } else {
    std::cout << "tokens         " << result.tokens << "\n";
  }
}

EvaluationOptions evaluation_options(const Options& options) {
  return {.batch_size = count_option(options, "batch_size", 1),
          .block_size = 0,
          .max_batches = count_option(options, "max_batches", 0)};
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  const WeightFormat format =
      about_option([&] { return parse_weight_format(options.text("weights")); });
  const LoadedModel loaded = load_model(options.positional());
  round_weights(*loaded.model, format);
  const TokenDataset dataset = read_text_data(options, *loaded.tokenizer);
  const EvaluationOptions evaluation = evaluation_options(options);
  if (options.given("logits")) {
    write_npz(output_file(options, "logits", ".npz"),
              evaluation_logits(*loaded.model, dataset, evaluation));
  }
  const Evaluation result = evaluate(*loaded.model, *loaded.tokenizer, dataset, evaluation);
  require(std::isfinite(result.loss), options.positional(),
          ": the loss is not a number: the weights are too large");
  print(result, options.json());
  return 0;
}

}  // namespace headlight::cli
