#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal/options.h"
#include "cli/terminal/prompt_tokens.h"
#include "headlight/heads/attribution.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"
#include "views/report/json_output.h"
#include "views/report/table.h"
#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kCautionColumns = 100;

constexpr const char* kDetails =
    "Direct logit attribution: the logit of a token is a sum over what the embedding, every\n"
    "attention head and every MLP wrote into the residual stream (Elhage et al. 2021), with the\n"
    "scale of the last norm taken as it is. The parts sum to the logit exactly.\n"
    "Without --token it is the likeliest next token. --against B takes the logit of B off, which\n"
    "removes what all tokens get. A token is given as its text or as its number, #42.\n"
    "When the model does not choose the token there (does not prefer it to B, or not by twice as\n"
    "likely), or has fewer than 8 tokens to look at, the first line says so, and parts are\n"
    "marked ?.\n"
    "MODEL is a run directory, a checkpoint or a Hugging Face directory.\n"
    "JSON keys: caution (null: none), token{id, token}, probability, likeliest{id, token},\n"
    "against{id, token} or null, position, logit, parts[{part, head (null for other parts),\n"
    "logit, reliable}].";

Options make_options() {
  Options options(
      {.name = "attribute",
       .summary = "What every head adds to the logit of a token.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {"headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\"",
                    "headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\" --token \" key\" --against "
                    "\" hat\""}});
  options.value("text", "Text to read")
      .value("token", "Token whose logit is taken apart; the likeliest by default")
      .value("against", "Token whose logit is taken off")
      .value("position", "Position of the text that predicts it, from 0; the last by default");
  return options;
}

AttributionTask task_of(const Options& options, const LoadedModel& loaded) {
  AttributionTask task{.text = block_tokens(options, "text", loaded)};
  if (options.given("position")) {
    task.position = options.integer("position");
    const auto length = static_cast<Index>(task.text.size());
    require(*task.position >= 0 && *task.position < length, "--position: expected 0 to ",
            length - 1, ", got ", *task.position);
  }
  std::vector<std::int32_t> read = task.text;
  read.resize(
      static_cast<std::size_t>(task.position.value_or(static_cast<Index>(task.text.size()) - 1)) +
      1);
  task.target = options.given("token") ? token_option(options, "token", *loaded.tokenizer)
                                       : likeliest_next(*loaded.model, read);
  if (options.given("against")) {
    task.against = token_option(options, "against", *loaded.tokenizer);
  }
  return task;
}

std::string caution_of(const AttributionResult& result, const AttributionTask& task,
                       const Tokenizer& tokenizer) {
  return attribution_caution(
      result, display_label(tokenizer.token_label(task.target)),
      display_label(tokenizer.token_label(task.against.value_or(result.likeliest))));
}

Json json_of(const AttributionResult& result, const AttributionTask& task,
             const Tokenizer& tokenizer) {
  const std::string caution = caution_of(result, task, tokenizer);
  Json json{{"caution", caution.empty() ? Json() : Json(caution)},
            {"token", token_json(task.target, tokenizer)},
            {"probability", result.probability},
            {"likeliest", token_json(result.likeliest, tokenizer)},
            {"against", task.against ? token_json(*task.against, tokenizer) : Json()},
            {"position", task.position.value_or(static_cast<Index>(task.text.size()) - 1)},
            {"logit", result.logit},
            {"parts", Json::array()}};
  for (const LogitPart& part : result.parts) {
    json["parts"].push_back({{"part", part.name},
                             {"head", part.head ? Json(head_name(*part.head)) : Json()},
                             {"logit", part.logit},
                             {"reliable", caution.empty()}});
  }
  return json;
}

void print(AttributionResult result, const AttributionTask& task, const Tokenizer& tokenizer) {
  std::stable_sort(
      result.parts.begin(), result.parts.end(),
      [](const LogitPart& a, const LogitPart& b) { return std::abs(a.logit) > std::abs(b.logit); });
  const std::string caution = caution_of(result, task, tokenizer);
  if (!caution.empty()) {
    std::cout << wrapped(caution, kCautionColumns) << "\n";
  }
  std::cout << "logit of '" << display_label(tokenizer.token_label(task.target)) << "'";
  if (task.against) {
    std::cout << " less that of '" << display_label(tokenizer.token_label(*task.against)) << "'";
  }
  std::cout << ": " << signed_number(result.logit, 3) << "; its probability "
            << fixed_number(result.probability, 3) << "\n\n";
  Table table({{"part", true}, {"logit", false}});
  for (const LogitPart& part : result.parts) {
    table.add({part.head ? "head " + part.name : part.name,
               signed_number(part.logit, 3) + (caution.empty() ? "" : " ?")});
  }
  std::cout << table.text();
}

int run(const Options& options) {
  const LoadedModel loaded = load_model(options.positional());
  const AttributionTask task = task_of(options, loaded);
  const AttributionResult result = attribute_logit(*loaded.model, task);
  if (options.json()) {
    print_json(json_of(result, task, *loaded.tokenizer));
  } else {
    print(result, task, *loaded.tokenizer);
  }
  return 0;
}

}  // namespace

int run_attribute(const std::vector<std::string>& arguments) {
  return run_command(make_options(), arguments, run);
}

}  // namespace headlight::cli
