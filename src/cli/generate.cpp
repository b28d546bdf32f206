#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/share.h"
#include "base/stopwatch.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/chat_template_option.h"
#include "cli/option_groups/decoding_options.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/sampling_options.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "cli/token_report.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/text_source.h"
#include "headlight/generate/engine.h"
#include "headlight/generate/generator.h"
#include "headlight/generate/grammar.h"
#include "headlight/generate/weights.h"
#include "runs/conversations/prompts.h"
#include "show/report/parts/json_output.h"
#include "tokenizers/bytes_of_ids.h"

namespace headlight::cli {
namespace {

constexpr const char* kGenerateDetails =
    "Prints the prompt and its continuation. A line of dashes separates several samples. "
    "Without a prompt, the text starts from <|endoftext|>.\n\n"
    "The next token is chosen by repetition penalty, temperature, top_k, top_p and min_p, in "
    "this order, then by one random draw. The same seed gives the same text with any --threads.\n\n"
    "Generation with larger models is limited by memory bandwidth. --weights bfloat16 and int8 "
    "read 2 bytes and about 1 byte per weight instead of 4. headlight eval --weights measures "
    "their effect on the loss.\n\n"
    "When prompt and output exceed the model's context length, only the last half of a context "
    "is kept, and generation continues from there. A prompt longer than the context is cut in "
    "the same way, with a warning.\n\n"
    "--logprobs N prints the log-probability (in nats) and rank of every chosen token, and the "
    "N most probable tokens with their log-probabilities; 0: none. The values are the model's "
    "own, before penalty, temperature and filters, so tokens that these exclude have values "
    "too.\n\n"
    "--speculate gives the same text in less time if it repeats its prompt, as when code is edited "
    "or a text is summed up. The guesses are read in one step; those that the model would have "
    "chosen itself stay. Texts with --intervene guess nothing.\n\n"
    "--grammar FILE restricts the text to a grammar in GBNF, the notation of llama.cpp, and "
    "--json_schema FILE to JSON that satisfies a schema. Tokens that cannot continue such a text "
    "have probability 0, and the text ends when it is complete. A text that --max_new_tokens cuts "
    "is incomplete.\n\n"
    "Names of special tokens in a prompt are plain text. --special_tokens on reads a chat such "
    "as <|im_start|>user ... as tokens. --ids takes token ids.\n\n"
    "--prompts FILE answers many prompts in one process, several at once, and prints a JSON line "
    "for each, in the order of the file. A line of the file is a text, {\"prompt\": \"...\"}, or a "
    "conversation, {\"messages\": [...]}, in any form that headlight train reads; it is put into "
    "the "
    "chat template, and its last answer is left out. Each line has the text that --prompt with the "
    "same options would give.\n\n"
    "JSON keys: text (without the prompt), tokens (number of new tokens), tokens_per_second "
    "(after the first token), finish_reason (length, end_of_text or stop), "
    "guessed_tokens and guesses_taken (by --speculate), prompt, "
    "prompt_tokens, seconds_to_first_token, prompt_was_cut, logprobs (with --logprobs: id, "
    "token, logprob, rank and top_logprobs of every token, including a final <|endoftext|> and "
    "the tokens of a stop text). With --num_samples above 1 these are the first sample's, and "
    "samples lists all. With --prompts each line also has index (from 0) and, if the line of the "
    "file has one, id; prompt is the text or the list of messages.";

constexpr const char* kInterveneHelp =
    "--intervene changes activations at every token, or at the positions after @:\n"
    "  off 5.1, mlp.3                    zero the output of head 1 in layer 5 and of MLP 3\n"
    "  scale 7.2 0.5; off 3.0 @10-       several changes, the second from token 10 on\n"
    "  add resid_post.6 joy.npz:v*4      add a vector to the stream after layer 6\n"
    "  add resid_post.6 \"Love\" - \"Hate\"*4\n"
    "                                    add the difference of two texts at their last\n"
    "                                    tokens\n"
    "  mean 5.1 from book.txt            use the mean over a text\n"
    "  freeze pattern.5.1 from \"A text\"  use the value at the same position of a text\n"
    "  resample z.5 from book.txt        the same; a text that is too short is repeated\n"
    "  freeze z.5 from \"A text\" at 3 @7  use the value at token 3 of a text, at token 7\n\n"
    "Targets are points with TransformerLens's names or short names (resid_pre, resid_mid, "
    "resid_post, q, k, v, pattern, z, attn_out, mlp_pre, mlp_post, mlp_out, ...), "
    "POINT.LAYERS.NUMBERS with ranges 4-8 and *, neuron.3.17, layer.3, or classes of heads in "
    "--scores, such as induction. A FILE.toml lists changes as intervene = [\"off 5.1\", ...].";

Options generate_options() {
  Options options(
      {.name = "generate",
       .summary = "Continue a text.",
       .positional = "MODEL",
       .details = std::string(kGenerateDetails) + "\n\n" + kInterveneHelp,
       .examples = {
           "headlight generate runs/toy --prompt \"Once upon a time\" --stream",
           "headlight generate runs/toy --prompt_file story.txt --temperature 0.8 --top_k "
           "200",
           "headlight generate runs/toy --num_samples 3 --max_new_tokens 100 --seed 7",
           "headlight generate runs/cards --prompts data/cards_held_out.jsonl > answers.jsonl",
           "headlight generate runs/toy --prompt \"Once\" --max_new_tokens 20 --logprobs 3",
           "headlight generate runs/toy --prompt \"Q: why?\" --stop \"Q:\" --json",
           "headlight generate runs/toy --prompt \"Answer: \" --json_schema answer.json",
           "headlight generate runs/toy --prompt \"Once\" --intervene \"off 1.0, mlp.0\""}});
  options.value("prompt", "Continue this text")
      .value("prompt_file", "Continue the text of this UTF-8 file; -: standard input")
      .value("start", "Same as --prompt; FILE:PATH reads a file (nanoGPT's name of the option)")
      .value("ids", "Continue these token ids, e.g. 1,4093; no token is added")
      .value("prompts",
             "Answer every text or conversation of this file of JSON lines; - is standard input");
  add_chat_template_option(options);
  add_special_tokens_option(options);
  add_sampling_options(options);
  options.value("num_samples", "Generate this number of texts at the same time", "1")
      .value("logprobs",
             "Also print log-probabilities of each token and of the N most probable tokens")
      .values("stop", "End before this text, or before the first of several")
      .value("grammar", "Generate only texts that match the grammar in this file (GBNF)")
      .value("json_schema", "Generate only JSON that satisfies the JSON schema in this file")
      .flag("stream", "Print the text while it is generated")
      .flag("ignore_eos", "Ignore tokens that end texts: generate all of --max_new_tokens")
      .flag("no_cache", "Compute without the key/value cache (slow)");
  add_decoding_options(options);
  add_intervene_options(options);
  options.paths({"prompt_file", "prompts", "grammar", "json_schema"})
      .basic({"prompt", "prompt_file", "max_new_tokens", "temperature", "top_k", "top_p", "seed",
              "num_samples", "weights", "stop", "stream"});
  return options;
}

// Text of the prompt; "" with --ids.
std::string read_text(const Options& options) {
  constexpr std::array kSources{"prompt", "prompt_file", "start", "ids", "prompts"};
  require(
      std::ranges::count_if(kSources, [&](const char* name) { return options.given(name); }) <= 1,
      "--prompt, --prompt_file, --start, --ids, --prompts: expected only one of them");
  if (options.given("prompt_file")) {
    return read_text_file(options.text("prompt_file"));
  }
  constexpr std::string_view kFile = "FILE:";
  const std::string start = options.text("start");
  if (start.starts_with(kFile)) {
    return read_text_file(start.substr(kFile.size()));
  }
  const std::string prompt = options.given("start") ? start : options.text("prompt");
  require_utf8(prompt, options.given("start") ? "--start" : "--prompt");
  return prompt;
}

// Returns the grammar that the text must match; null: any text.
std::shared_ptr<const Grammar> read_grammar(const Options& options) {
  require(!options.given("grammar") || !options.given("json_schema"),
          "--grammar, --json_schema: expected only one of them");
  for (const char* name : {"grammar", "json_schema"}) {
    if (options.given(name)) {
      const std::string path = options.text(name);
      const std::string text = read_text_file(path);
      return in_place(path + ": ", [&] {
        return std::make_shared<const Grammar>(
            std::string_view(name) == "grammar" ? text : json_schema_grammar(text));
      });
    }
  }
  return nullptr;
}

GenerateOptions generation_options(const Options& options) {
  GenerateOptions result = sampling_options(options);
  result.stop = options.texts("stop");
  result.grammar = read_grammar(options);
  result.ignore_end_of_text = options.given("ignore_eos");
  if (options.given("logprobs")) {
    result.logprobs = count_option(options, "logprobs", 0);
  }
  result.use_cache = !options.given("no_cache");
  result.validate();
  return result;
}

constexpr Index kMostTexts = 10'000;  // generated at once, each with its keys and values

struct Prompt {
  std::string text;
  std::vector<std::int32_t> ids;
};

Prompt encoded(const std::string& text, const Tokenizer& tokenizer, const Options& options) {
  if (!options.given("ids")) {
    return {text, tokenizer.encode_prompt(text)};
  }
  const std::vector<std::int32_t> ids = ids_option(options, tokenizer);
  return {replace_invalid_utf8(BytesOfIds(tokenizer, false).next(ids)), ids};
}

void warn_about_prompt(const LoadedModel& loaded, const Prompt& prompt, bool is_text) {
  if (is_text) {
    warn_about_unknown(prompt.ids, *loaded.tokenizer, "prompt");
    warn_about_decomposed(prompt.text, "prompt");
    warn_about_special_names({prompt.text}, *loaded.tokenizer, "prompt");
  }
  const auto count = static_cast<Index>(prompt.ids.size());
  const Index block = loaded.model->config().block_size;
  if (count > block) {
    log_warning(concat_text("the prompt has ", count, " tokens, more than the context length of ",
                            block, ": the model reads only the last ", (block + 1) / 2));
  }
  if (is_text && loaded.tokenizer->kind() == "bpe" && prompt.text.ends_with(' ')) {
    log_warning(
        "the prompt ends in a space, but this tokenizer's words begin with one: remove it for "
        "better text");
  }
}

void log_statistics(const std::vector<GenerateResult>& results, double seconds) {
  std::size_t tokens = 0;
  for (const GenerateResult& result : results) {
    log_info(fmt::format("{} tokens: the first after {:.3f} s (prompt length {}), then {:.1f} "
                         "tokens/s; ended by {}",
                         result.tokens.size(), result.seconds_to_first_token, result.prompt_tokens,
                         result.tokens_per_second(), name_of(result.finish_reason)) +
             (result.guessed_tokens > 0 ? fmt::format("; {} of {} guessed tokens were right",
                                                      result.guesses_taken, result.guessed_tokens)
                                        : ""));
    tokens += result.tokens.size();
  }
  if (results.size() > 1) {
    log_info(fmt::format("{} texts of {} tokens in {:.2f} s ({:.1f} tokens/s together)",
                         results.size(), tokens, seconds, static_cast<double>(tokens) / seconds));
  }
}

struct Output {
  const Tokenizer& tokenizer;
  bool logprobs;
};

Json to_json(const GenerateResult& result, const Output& output) {
  Json json{{"text", result.text},
            {"tokens", result.tokens.size()},
            {"tokens_per_second", result.tokens_per_second()},
            {"finish_reason", name_of(result.finish_reason)},
            {"guessed_tokens", result.guessed_tokens},
            {"guesses_taken", result.guesses_taken}};
  if (output.logprobs) {
    json["logprobs"] = choices_json(result.choices, output.tokenizer);
  }
  return json;
}

Json json_of(Json prompt, const std::vector<GenerateResult>& results, const Output& output) {
  Json json = to_json(results[0], output);
  json["prompt"] = std::move(prompt);
  json["prompt_tokens"] = results[0].prompt_tokens;
  json["seconds_to_first_token"] = results[0].seconds_to_first_token;
  json["prompt_was_cut"] = results[0].prompt_was_cut;
  if (results.size() > 1) {
    json["samples"] =
        transformed(results, [&](const GenerateResult& result) { return to_json(result, output); });
  }
  return json;
}

void print_piece(std::string_view text) { print_untrusted(text); }

constexpr const char* kSeparator = "---------------\n";

// Prints the end of a sample: a line end, and the token table for --logprobs.
void print_end(const GenerateResult& result, const Output& output) {
  print_piece("\n");
  if (output.logprobs) {
    print_piece("\n" + choices_table(result.choices, output.tokenizer));
  }
}

void print_samples(const std::string& prompt, const std::vector<GenerateResult>& results,
                   const Output& output) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    print_piece((i > 0 ? kSeparator : "") + prompt + results[i].text);
    print_end(results[i], output);
  }
}

// Generates samples one after another. Prints each one while it grows.
std::vector<GenerateResult> stream_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                           const Prompt& prompt, GenerateOptions options,
                                           Index count) {
  std::vector<GenerateResult> results;
  for (options.sample = 0; options.sample < count; ++options.sample) {
    print_piece((options.sample > 0 ? kSeparator : "") + prompt.text);
    results.push_back(generate(decoder, tokenizer, prompt.ids, options, print_piece));
    print_end(results.back(), {tokenizer, options.logprobs.has_value()});
  }
  return results;
}

// Results of the prompts of a file. Prints a line for each prompt as soon as it and all before it
// are complete.
class PromptLines {
 public:
  PromptLines(const std::vector<FilePrompt>& prompts, Index samples, Output output)
      : prompts_(prompts),
        output_(output),
        results_(prompts.size(), std::vector<GenerateResult>(static_cast<std::size_t>(samples))),
        missing_(prompts.size(), samples) {}

  void add(std::size_t prompt, Index sample, GenerateResult result) {
    tokens_ += result.tokens.size();
    results_[prompt][static_cast<std::size_t>(sample)] = std::move(result);
    --missing_[prompt];
    for (; printed_ < prompts_.size() && missing_[printed_] == 0; ++printed_) {
      print(printed_);
    }
  }
  std::size_t tokens() const { return tokens_; }

 private:
  void print(std::size_t number) {
    const FilePrompt& prompt = prompts_[number];
    Json line{{"index", number}};
    if (!prompt.id.is_null()) {
      line.add("id", prompt.id);
    }
    const std::vector<GenerateResult> results = std::exchange(results_[number], {});
    line.update(json_of(prompt.text, results, output_));
    print_piece(json_line(line));
  }

  const std::vector<FilePrompt>& prompts_;
  Output output_;
  std::vector<std::vector<GenerateResult>> results_;  // of prompts that are not printed
  std::vector<Index> missing_;                        // samples
  std::size_t printed_ = 0;                           // prompts
  std::size_t tokens_ = 0;
};

std::vector<FilePrompt> prompts_option(const Options& options, const ChatFormat& chat,
                                       const LoadedModel& loaded) {
  std::vector<std::string> warnings;
  std::vector<FilePrompt> prompts =
      read_prompts({.path = options.text("prompts")}, chat, *loaded.tokenizer, warnings);
  log_warnings(warnings);
  const Index block = loaded.model->config().block_size;
  const auto cut = std::ranges::count_if(
      prompts, [&](const FilePrompt& prompt) { return std::ssize(prompt.ids) > block; });
  if (cut > 0) {
    log_warning(concat_text(cut, " of ", prompts.size(), " prompts are longer than the context of ",
                            block, " tokens: the model reads only their last ", (block + 1) / 2));
  }
  return prompts;
}

// Returns a function that shows the share of new tokens in `most_tokens` as a bar.
std::function<void(Index tokens)> token_bar(Index most_tokens) {
  return [most_tokens, show = progress_bar("generating")](Index tokens) {
    show(share_of(tokens, most_tokens));
  };
}

// Answers all prompts of --prompts side by side.
void generate_for_file(const Options& options, const LoadedModel& loaded, Decoder& decoder,
                       const GenerateOptions& generation) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const ChatFormat chat(chat_template_option(options, tokenizer), tokenizer);
  const std::vector<FilePrompt> prompts = prompts_option(options, chat, loaded);
  const Index samples = count_option(options, "num_samples", 1, kMostTexts);
  PromptLines lines(prompts, samples, {tokenizer, generation.logprobs.has_value()});
  const Stopwatch watch;
  Engine engine(decoder, tokenizer);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions own = generation;
    if (prompts[i].is_chat) {
      own.end_tokens = chat.end_tokens();
    }
    engine.begin({.prompt = prompts[i].ids,
                  .options = std::move(own),
                  .samples = samples,
                  .on_end = [&lines, i](Index sample, GenerateResult result) {
                    lines.add(i, sample, std::move(result));
                  }});
  }
  const auto show = token_bar(std::ssize(prompts) * samples * generation.max_new_tokens);
  while (engine.step()) {
    if (!is_terminal(Stream::output)) {
      show(engine.status().tokens);
    }
  }
  const double seconds = watch.seconds();
  log_info(fmt::format("{} prompts, {} tokens in {:.2f} s ({:.1f} tokens/s together)",
                       prompts.size(), lines.tokens(), seconds,
                       static_cast<double>(lines.tokens()) / seconds));
}

// Continues one prompt.
void generate_for_text(const Options& options, const std::string& text, const LoadedModel& loaded,
                       Decoder& decoder, const GenerateOptions& generation) {
  const bool stream = options.given("stream");
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const Prompt prompt = encoded(text, tokenizer, options);
  warn_about_prompt(loaded, prompt, !options.given("ids"));
  const Index samples = count_option(options, "num_samples", 1, kMostTexts);
  const Stopwatch watch;
  const std::vector<GenerateResult> results =
      stream ? stream_samples(decoder, tokenizer, prompt, generation, samples)
             : generate_samples(decoder, tokenizer, prompt.ids, generation, samples,
                                token_bar(samples * generation.max_new_tokens));
  const double seconds = watch.seconds();
  const Output output{tokenizer, generation.logprobs.has_value()};
  if (options.json()) {
    print_json(json_of(prompt.text, results, output));
  } else if (!stream) {
    print_samples(prompt.text, results, output);
  }
  log_statistics(results, seconds);
}

void generate_command(const Options& options) {
  if (options.given("stream")) {
    require(!options.json(), "--stream: cannot be combined with --json");
    require(!options.given("prompts"), "--stream: cannot be combined with --prompts");
  }
  if (!options.given("prompts")) {
    refuse_options(options, {"chat_template"}, "needs --prompts; see also headlight chat");
  }
  GenerateOptions generation = generation_options(options);
  count_option(options, "num_samples", 1, kMostTexts);  // checked before the model is read
  const std::string text = read_text(options);
  Decoding decoding(options);
  const LoadedModel loaded =
      load_text_model(options.positional(), options, {.matrices = decoding.matrices()});
  intervene(options, loaded);
  Decoder decoder = decoding.decoder(*loaded.model);
  generation.make_drafter = decoding.drafter(*loaded.tokenizer);
  if (options.given("prompts")) {
    generate_for_file(options, loaded, decoder, generation);
  } else {
    generate_for_text(options, text, loaded, decoder, generation);
  }
}

}  // namespace

int run_generate(const Words& words) { return run(generate_options(), words, generate_command); }

}  // namespace headlight::cli
