#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/chat_template_option.h"
#include "cli/option_groups/decoding_options.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/language.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "headlight/datasets/text_source.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/serve/server.h"
#include "headlight/tensor/named_tensors.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kServeDetails =
    "Serves models over HTTP until interrupted: OpenAI's API at /v1 (models, completions, "
    "chat/completions, with or without streaming), /health, /metrics (Prometheus), /tokenize, "
    "/detokenize, and analysis at /api (attention, scores, predict and the analyses of the command "
    "line, such as patch, lens, saliency, direction and svd). "
    "NAME=MODEL sets the name that requests use; the default is the name of the file or folder.\n\n"
    "Texts of all clients are generated together. The same seed gives the same text, whatever "
    "other clients do. Prompts with a common beginning share its computation.\n\n"
    "By default only programs on this machine can connect. --host lets others in and requires "
    "--api_key_file, a file with a key of at least 16 characters. Only its owner may be able "
    "to write it. Every request must send the key (Authorization: Bearer KEY).\n\n"
    "SIGTERM and Ctrl-C finish answers for at most 30 seconds. A second signal ends at once. "
    "--log_requests writes a line for every request.\n\n"
    "JSON keys, on one line once the server listens: address, models.";

Options serve_options() {
  Options options(
      {.name = "serve",
       .summary = "Serve models over HTTP, with OpenAI's API and a web page.",
       .positional = "MODEL [MODEL ...]",
       .details = kServeDetails,
       .examples = {"headlight serve runs/toy",
                    "headlight serve small=runs/toy large=model.gguf --port 9000 --weights int8",
                    "headlight serve runs/toy --host 0.0.0.0 --api_key_file key.txt"}});
  options.value("host", "Listen on this address", "127.0.0.1")
      .value("port", "Listen on this port; 0: a free one", "8080")
      .value("api_key_file", "Require the key in this file from every request")
      .values("allow_host",
              "Also accept browser requests that address the server by this host name")
      .values("directions",
              "Let requests add the directions of this .npz file of headlight direction, which the "
              "page offers with a slider")
      .value("runs", "Show the training runs of this folder on the page, as they progress")
      .values("allow_origin", "Let scripts of this site send requests, e.g. https://example.org")
      .value("slots", "Generate at most this number of texts at once with each model", "16")
      .value("queue", "Let at most this number of further requests wait; more get status 429", "64")
      .value("ctx_size",
             "Size of each model's key/value cache in tokens, for all texts together, which take "
             "it as they grow; 0: a context for each slot, or what a quarter of the free memory "
             "holds, but at least one context",
             "0")
      .value("max_work",
             "Reject prompts and analyses above this cost, in tokens times forward passes",
             "131072")
      .value("max_new_tokens",
             "Largest number of tokens in a chat answer, if the request gives none", "512");
  add_sae_option(options);
  options.flag("log_requests", "Write a line to stderr for every request");
  add_language_option(options, "Language of the page where its address gives none");
  add_chat_template_option(options);
  add_decoding_options(options);
  options.refused("max_tokens", "is now called --max_new_tokens");
  options.alias("parallel", "slots").alias("np", "slots").alias("max_batch", "slots");
  options.paths({"api_key_file", "directions", "runs"})
      .basic({"host", "port", "api_key_file", "runs", "weights", "slots", "ctx_size",
              "chat_template"});
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
  const fs::perms allowed = fs::status(file).permissions();
  constexpr fs::perms kWriters = fs::perms::group_write | fs::perms::others_write;
  require((allowed & kWriters) == fs::perms::none,
          "--api_key_file: expected a file that only its owner can write, got ", file,
          ", which others can also write; run chmod go-w ", file);
  constexpr fs::perms kReaders = fs::perms::group_read | fs::perms::others_read;
  if ((allowed & kReaders) != fs::perms::none) {
    log_warning(concat_text("--api_key_file: others can read ", file, "; run chmod go-r ", file));
  }
  constexpr std::string_view kBlanks = " \n\r\t";
  key.erase(key.find_last_not_of(kBlanks) + 1);
  require(!key.empty() && key.find_first_of(kBlanks) == std::string::npos,
          "--api_key_file: expected one word in ", file);
  return key;
}

ServeOptions serve_options(const Options& options, const Decoding& decoding) {
  ServeOptions result;
  result.page_language = name_of(language_option(options));
  result.cache_type = decoding.cache_type();
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
  result.slots = count_option(options, "slots", 1, 256);
  result.queue = count_option(options, "queue", 0);
  result.context_tokens = count_option(options, "ctx_size", 0);
  result.max_work = count_option(options, "max_work", 1);
  result.default_tokens = count_option(options, "max_new_tokens", 1);
  result.log = options.given("log_requests") ? log_info : log_debug;
  result.validate();
  return result;
}

// Returns the arrays of the files that fit into a stream of this width, as FILE:ARRAY. Throws Error
// for such an array with numbers that are not finite.
std::vector<std::string> directions_of(const Options& options, Index width) {
  std::vector<std::string> names;
  for (const std::string& file : options.texts("directions")) {
    NamedTensors fitting = in_place("--directions: ", [&] { return read_npz(file); });
    std::erase_if(fitting, [&](const auto& array) {
      return array.second.numel() != width || !is_floating(array.second.dtype());
    });
    in_place("--directions: " + file + ": ", [&] { require_finite(fitting, ""); });
    for (const auto& [name, array] : fitting) {
      names.push_back(concat_text(file, ":", name));
    }
  }
  return names;
}

// Throws Error for a file without a direction for any of the models.
void require_used_directions(const Options& options, const std::vector<ServedModel>& models) {
  for (const std::string& file : options.texts("directions")) {
    const bool is_used = std::ranges::any_of(models, [&](const ServedModel& model) {
      return std::ranges::any_of(
          model.directions, [&](const std::string& name) { return name.starts_with(file + ":"); });
    });
    require(is_used, "--directions: ", file, ": expected an array with as many numbers as ",
            "a model's residual stream, ", models.front().loaded.model->config().n_embd);
  }
}

// Opens NAME=MODEL, or MODEL, named after its file or folder.
ServedModel open_model(const std::string& argument, const Options& options, Decoding& decoding) {
  namespace fs = std::filesystem;
  const std::size_t sign = argument.find('=');
  const bool has_name = sign != std::string::npos && !fs::exists(argument);
  const fs::path path = has_name ? argument.substr(sign + 1) : argument;
  const fs::path plain = path.lexically_normal();
  const fs::path last = plain.has_filename() ? plain : plain.parent_path();
  ServedModel model{
      .name = has_name ? argument.substr(0, sign)
                       : (last.extension() == ".gguf" ? last.stem() : last.filename()).string(),
      .loaded = load_model_with_warnings(path, {.base = base_option(options, path),
                                                .matrices = decoding.matrices(),
                                                .warn = log_warning}),
      .source = path.string()};
  model.directions = directions_of(options, model.loaded.model->config().n_embd);
  model.chat_template = chat_template_option(options, *model.loaded.tokenizer);
  model.draft_room = decoding.draft_room();
  model.make_drafter = decoding.drafter(*model.loaded.tokenizer, model.draft_room);
  return model;
}

void serve_command(const Options& options) {
  Decoding decoding(options);
  const ServeOptions serve = serve_options(options, decoding);
  require(!options.positionals().empty(), "MODEL: expected a model");
  Json names = Json::array();
  const auto load = [&] {
    std::vector<ServedModel> models;
    for (const std::string& argument : options.positionals()) {
      models.push_back(open_model(argument, options, decoding));
      log_info(concat_text(models.back().name, ": keys and values in ",
                           name_of(decoding.cache_type(*models.back().loaded.model))));
      names.push_back(models.back().name);
    }
    require_used_directions(options, models);
    attach_features(options, transformed(models, [](const ServedModel& model) {
                      return model.loaded.model.get();
                    }));
    return models;
  };
  Server server(load, serve);
  server.load();
  if (options.json()) {
    print_json({{"address", server.address()}, {"models", names}});
    std::cout.flush();
  } else {
    log_info("listening at " + server.address());
  }
  server.run();
}

}  // namespace

int run_serve(const Words& words) { return run(serve_options(), words, serve_command); }

}  // namespace headlight::cli
