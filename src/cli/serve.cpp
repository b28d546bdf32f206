#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal/loading.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "headlight/io/text_source.h"
#include "headlight/serve/server.h"
#include "views/report/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kServeDetails =
    "Serves models by HTTP until it is interrupted: OpenAI's API at /v1 (models, completions,\n"
    "chat/completions, streamed or not), /health, /metrics (Prometheus), /tokenize, /detokenize,\n"
    "and what heads do at /api (attention, scores, ablate, patch, lens). A MODEL is what generate\n"
    "takes, or NAME=MODEL to choose the name that requests call it by; by default that of the "
    "file\n"
    "or folder.\n\n"
    "The texts of all clients are made side by side, and none changes a bit of another: the same\n"
    "seed gives the same text. Prompts with a common beginning share it.\n\n"
    "Only programs of this machine can connect. --host lets others in and demands --api_key_file,\n"
    "a file with a key of at least 16 characters, which every request must then bring\n"
    "(Authorization: Bearer KEY); nobody but its owner may write it. SIGTERM and Ctrl-C let\n"
    "answers end, 30 seconds at most; a second one ends at once. --log_level debug writes a line\n"
    "for every request.\n\n"
    "JSON keys, on one line once it listens: address, models.";

Options serve_options() {
  Options options(
      {.name = "serve",
       .summary = "Serve models by HTTP, with OpenAI's API.",
       .positional = "MODEL [MODEL ...]",
       .details = kServeDetails,
       .examples = {"headlight serve runs/toy",
                    "headlight serve small=runs/toy large=model.gguf --port 9000 --weights int8",
                    "headlight serve runs/toy --host 0.0.0.0 --api_key_file key.txt"}});
  options.value("host", "Address to listen on", "127.0.0.1")
      .value("port", "Port to listen on; 0: one that is free", "8080")
      .value("api_key_file", "File with the key that every request must bring")
      .values("allow_host", "Another name of this server, for browsers")
      .value("runs", "Folder of training runs that the page shows as they go on")
      .values("allow_origin", "Pages whose scripts may ask, as https://example.org")
      .value("weights", "Precision of the matrices: " + listed(kChoiceNames<WeightFormat>),
             "float32")
      .value("slots", "Texts of a model that are made side by side", "16")
      .value("queue", "Requests beyond those that may wait", "64")
      .value("ctx_size",
             "Tokens of a model that keys and values are kept for, of all texts together; 0: up to "
             "8192, or a block",
             "0")
      .value("max_work",
             "Tokens times passes over a model that one request may ask for, of prompts and of "
             "analyses",
             "131072")
      .value("max_tokens", "Length of a chat's answer that does not say its own", "512");
  options.alias("parallel", "slots").alias("np", "slots").alias("max_batch", "slots");
  return options;
}

// Reads the API key from its file, without white space at its end.
std::string key_option(const Options& options) {
  if (!options.given("api_key_file")) {
    return "";
  }
  namespace fs = std::filesystem;
  const std::string file = options.text("api_key_file");
  std::string key = read_text_file(file);
  constexpr fs::perms kOthers = fs::perms::group_write | fs::perms::others_write;
  require((fs::status(file).permissions() & kOthers) == fs::perms::none,
          "--api_key_file: expected a file that only its owner can write, got ", file,
          ", which others can write as well: run chmod go-w ", file);
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!key.empty() && is_blank(key.back())) {
    key.pop_back();
  }
  require(!key.empty() && std::none_of(key.begin(), key.end(), is_blank),
          "--api_key_file: expected one word in ", file);
  return key;
}

ServeOptions serve_options(const Options& options) {
  ServeOptions result;
  result.host = options.text("host");
  result.port = count_option(options, "port", 0, 65535);
  result.api_key = key_option(options);
  result.allowed_hosts = options.texts("allow_host");
  result.allowed_origins = options.texts("allow_origin");
  if (options.given("runs")) {
    result.runs = options.text("runs");
    require(std::filesystem::is_directory(result.runs), "--runs: expected a folder of runs, got ",
            result.runs);
  }
  result.weights = parse_name<WeightFormat>("weights", options.text("weights"));
  result.slots = count_option(options, "slots", 1, 256);
  result.queue = count_option(options, "queue", 0);
  result.context_tokens = count_option(options, "ctx_size", 0);
  result.max_work = count_option(options, "max_work", 1);
  result.default_tokens = count_option(options, "max_tokens", 1);
  result.log = log_debug;
  result.validate();
  return result;
}

// Opens NAME=MODEL, or MODEL, named after its file or folder.
ServedModel open_model(const std::string& argument, WeightFormat weights) {
  namespace fs = std::filesystem;
  const std::size_t sign = argument.find('=');
  const bool has_name = sign != std::string::npos && !fs::exists(argument);
  const fs::path path = has_name ? argument.substr(sign + 1) : argument;
  const fs::path plain = path.lexically_normal();
  const fs::path last = plain.has_filename() ? plain : plain.parent_path();
  ServedModel model{
      .name = has_name ? argument.substr(0, sign)
                       : (last.extension() == ".gguf" ? last.stem() : last.filename()).string(),
      .loaded = load_model_aloud(
          path,
          {.adjust = [&](const GptConfig& config) { require_decoder_memory(config, weights); },
           .warn = log_warning}),
      .source = path.string()};
  model.chat_template = model.loaded.tokenizer->chat_template();
  round_weights(*model.loaded.model, weights);
  return model;
}

int serve_command(const Options& options) {
  const ServeOptions serve = serve_options(options);
  require(!options.positionals().empty(), "MODEL: expected a model");
  std::vector<ServedModel> models;
  Json names = Json::array();
  for (const std::string& argument : options.positionals()) {
    models.push_back(open_model(argument, serve.weights));
    names.push_back(models.back().name);
  }
  Server server(std::move(models), serve);
  if (options.json()) {
    print_json({{"address", server.address()}, {"models", names}});
    std::cout.flush();
  } else {
    log_info("listening at " + server.address());
  }
  server.run();
  return 0;
}

}  // namespace

int run_serve(const std::vector<std::string>& arguments) {
  return run_command(serve_options(), arguments, serve_command);
}

}  // namespace headlight::cli
