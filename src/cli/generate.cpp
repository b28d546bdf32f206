#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/log.h"
#include "cli/options.h"
#include "headlight/generate/generator.h"
#include "headlight/io/model_directory.h"
#include "headlight/text/text_file.h"

namespace headlight::cli {
namespace {

constexpr const char* kDetails =
    "Prints the prompt and its continuation; several samples are separated by a line of dashes.\n"
    "Without a prompt the text starts from <|endoftext|>. MODEL is a run directory, a checkpoint or\n"
    "a GPT-2 directory.\n\n"
    "The next token is chosen in this order: repetition penalty, temperature, top_k, top_p, min_p,\n"
    "then one draw. The same seed gives the same text, whatever --threads is.\n\n"
    "The model knows as many positions as its block. When prompt and output together grow longer,\n"
    "only the last half of a block is kept and the text goes on from there; a prompt that is longer\n"
    "than the block is cut in the same way, with a warning.\n\n"
    "JSON keys: text (without the prompt), tokens (how many are new), tokens_per_second,\n"
    "finish_reason (length, end_of_text or stop), prompt, seconds_to_first_token, prompt_was_cut;\n"
    "with --num_samples above 1 these are the first sample's, and samples lists them all.";

Options make_options() {
  Options options(
      {.name = "generate",
       .summary = "Continue a text with a model.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {"headlight generate runs/toy --prompt \"Once upon a time\" --stream",
                    "headlight generate runs/toy --prompt_file story.txt --temperature 0.8 --top_k "
                    "200",
                    "headlight generate runs/toy --num_samples 3 --max_new_tokens 100 --seed 7",
                    "headlight generate runs/toy --prompt \"Q: why?\" --stop \"Q:\" --json"}});
  options.value("prompt", "Text to continue")
      .value("prompt_file", "UTF-8 file with the text to continue")
      .value("start", "As --prompt, or FILE:path for a file (nanoGPT's name)")
      .value("max_new_tokens", "Tokens to generate at most", "500")
      .value("temperature", "Below 1 bolder, above 1 wilder, 0 always the likeliest token", "1.0")
      .value("top_k", "Choose among so many of the likeliest tokens; 0: all", "0")
      .value("top_p", "Choose among the likeliest tokens that sum to this probability", "1.0")
      .value("min_p", "Drop tokens below this share of the likeliest one's probability", "0")
      .value("repetition_penalty", "Above 1 discourages tokens of prompt and output", "1.0")
      .value("repetition_window", "Latest tokens that the penalty sees; 0: all", "0")
      .value("seed", "Of the random choices", "1337")
      .value("num_samples", "Texts to generate", "1")
      .value("stop", "End before this text")
      .flag("stream", "Print the text while it is generated")
      .flag("ignore_eos", "Never end with <|endoftext|>: generate all max_new_tokens")
      .flag("no_cache", "Compute every token anew, without the key/value cache (slow)");
  return options.alias("temp", "temperature")
      .alias("n", "max_new_tokens")
      .alias("predict", "max_new_tokens")
      .alias("n_predict", "max_new_tokens"),
         options;
}
}  // namespace
}  // namespace headlight::cli
