#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "headlight/data/documents.h"
#include "headlight/data/token_file.h"
#include "headlight/generate/weights.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/npz.h"
#include "headlight/text/text_file.h"
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
           "JSON keys: loss (nats a token), perplexity, bits_per_byte, tokens, bytes.",
       .examples = {
           "headlight eval runs/toy --data data/toy.txt --documents blank_line",
           "headlight eval runs/toy --data book.txt --json",
           "headlight eval gpt2_dir --data data/val.bin --max_batches 2 --logits out.npz"}});
  options.value("data", "Text file to evaluate on, or nanoGPT's token ids: FILE.bin")
      .value("logits", "Also write the logits of every token to this .npz file")
      .value("documents", "How the text is cut: none, line, blank_line or token", "none")
      .value("separator", "Text between documents, for --documents token", "<|endoftext|>")
      .value("batch_size", "Sequences computed at once", "12")
      .value("weights", "Round the matrices first: float32, bfloat16 or int8", "float32")
      .value("max_batches", "Batches to use, spread evenly over the text; 0: all", "0");
  return options;
}

void print(const Evaluation& result, bool json) {
  if (json) {
    std::cout << nlohmann::ordered_json{{"loss", result.loss},
                                        {"perplexity", result.perplexity},
                                        {"bits_per_byte", result.bits_per_byte},
                                        {"tokens", result.tokens},
                                        {"bytes", result.bytes}}
                     .dump()
              << "\n";
    return;
  }
  std::cout << std::fixed << std::setprecision(4) << "loss           " << result.loss
            << " nats a token\nperplexity     " << result.perplexity << "\nbits per byte  "
            << result.bits_per_byte << "\ntokens         " << result.tokens << " (" << result.bytes
            << " bytes)\n";
}

WeightFormat weight_format(const Options& options) {
  try {
    return parse_weight_format(options.text("weights"));
  } catch (const Error& error) {
    fail("--", error.what());
  }
}

TokenDataset read_dataset(const Options& options, const Tokenizer& tokenizer) {
  const std::string path = options.text("data");
  const DocumentSplitOptions split{.mode = parse_document_split(options.text("documents")),
                                   .separator = options.text("separator")};
  if (is_token_file(path)) {
    require(split.mode == DocumentSplit::none, "--documents: ", path,
            " holds one stream of token ids, expected none");
    return stream_dataset(read_token_file(path, tokenizer.vocab_size()));
  }
  return encode_dataset(
      read_text_file(path), split, [&](std::string_view part) { return tokenizer.encode(part); },
      tokenizer.end_of_text());
}

EvaluationOptions evaluation_options(const Options& options) {
  const Index batch_size = options.integer("batch_size");
  require(batch_size >= 1, "--batch_size: expected at least 1, got ", batch_size);
  const Index max_batches = options.integer("max_batches");
  require(max_batches >= 0, "--max_batches: expected at least 0, got ", max_batches);
  return {.batch_size = batch_size, .block_size = 0, .max_batches = max_batches};
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  require(options.given("data"), "--data: expected a text file");
  const WeightFormat format = weight_format(options);
  const LoadedModel loaded = load_model(options.positional());
  round_weights(*loaded.model, format);
  const TokenDataset dataset = read_dataset(options, *loaded.tokenizer);
  const EvaluationOptions evaluation = evaluation_options(options);
  if (options.given("logits")) {
    write_npz(options.text("logits"), evaluation_logits(*loaded.model, dataset, evaluation));
  }
  print(evaluate(*loaded.model, *loaded.tokenizer, dataset, evaluation), options.json());
  return 0;
}

}  // namespace headlight::cli
