#include "headlight/serve/server.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <set>
#include <thread>
#include <utility>

#include "headlight/kernels/machine/memory.h"
#include "serve/api.h"
#include "serve/http/access.h"

namespace headlight {
namespace {

using namespace serve;

constexpr Index kShortestKey = 16;
constexpr double kShareOfMemory = 0.25;  // of what is free, for keys and values

// Returns the default positions of a model's keys and values: a context for each slot, or as many
// as fit into a share of the free memory, but at least one context.
Index default_context(Index slots, Index block_size, double bytes_of_position) {
  constexpr Index kBlock = KeyValueCache::kBlock;
  const Index block = rounded_up(block_size, kBlock);
  const double free = available_memory();  // 0: unknown
  const double fits = kShareOfMemory * free / bytes_of_position;
  const double most = static_cast<double>(slots * block);
  const auto positions = static_cast<Index>(free > 0 ? std::min(fits, most) : most);
  return std::max(block, positions / kBlock * kBlock);
}

// Checks the models, and limits the caches of their drafters. Returns the positions of each model's
// key/value cache.
Index checked_context(const std::vector<ServedModel>& models, const ServeOptions& options) {
  require_value(!models.empty(), "models", "expected a model, got none");
  std::set<std::string> names;
  double bytes = 0;
  Index most_positions = 0;
  for (const ServedModel& model : models) {
    require_value(!model.name.empty() && names.insert(model.name).second, "models",
                  "expected a different name for each, got '", escaped(model.name), "' twice");
    const GptConfig& config = model.loaded.model->config();
    const CacheType type = options.cache_type.value_or(default_cache_type(*model.loaded.model));
    const double bytes_of_position =
        position_bytes(config, type) +
        (model.draft_room != nullptr ? model.draft_room->position_bytes() : 0);
    const Index positions =
        options.context_tokens > 0
            ? options.context_tokens
            : default_context(options.slots, config.block_size,
                              bytes_of_position * static_cast<double>(models.size()));
    bytes += bytes_of_position * static_cast<double>(positions);
    if (model.draft_room != nullptr) {
      model.draft_room->limit(positions);
    }
    most_positions = std::max(most_positions, positions);
  }
  const std::string missing = missing_memory(bytes);
  require_value(missing.empty(), "ctx_size",
                "keys and values do not fit in memory: they take up to ", missing);
  return most_positions;
}

// Throws Error unless `origin` has the exact form that browsers send. Others never match.
void check_origin(const std::string& origin) {
  require_value(
      origin.find('*') == std::string::npos, "allow_origin",
      "expected pages by name, such as https://example.org, got '", escaped(origin),
      "', which would let every web page use this server with the key that the browser has stored");
  const std::size_t scheme = origin.find("://");
  const bool is_whole = scheme != std::string::npos && scheme + 3 < origin.size() &&
                        origin.find_first_of("/?# ", scheme + 3) == std::string::npos;
  require_value(is_whole || origin == "null", "allow_origin",
                "expected scheme, host and port alone, such as https://example.org, got '",
                escaped(origin), "'");
}

}  // namespace

struct Server::State {
  explicit State(const ServeOptions& options_given)
      : options(options_given), http(http_options()), api(options, http) {}
  ~State() {
    if (network.joinable()) {
      http.close(0);
    }
  }

  HttpOptions http_options();
  void start(std::vector<ServedModel> loaded);
  void stop();

  ServeOptions options;
  std::vector<ServedModel> models;
  std::function<std::vector<ServedModel>()> load;  // empty: the models are loaded
  std::atomic<bool> stopping{false};
  HttpServer http;
  Api api;               // its threads hold answers, so they end before `http`
  std::jthread network;  // runs `http` if models are loaded meanwhile
};

void Server::State::start(std::vector<ServedModel> loaded) {
  options.context_tokens = checked_context(loaded, options);
  models = std::move(loaded);
  api.start(models);
}

HttpOptions Server::State::http_options() {
  HttpOptions result{.host = options.host, .port = options.port};
  result.headers = protective_headers();
  result.log = options.log;
  result.gate = [this](const HttpRequest& head) { return api.admit(head); };
  result.handler = [this](const HttpRequest& request,
                          const std::shared_ptr<HttpExchange>& exchange) {
    api.handle(request, exchange);
  };
  result.shape_error = [](const HttpRequest& head, HttpResponse& error) {
    Api::shape_error(head.path, error);
  };
  result.aliases = {{"/v1/health", "/health"}, {"/models", "/v1/models"}};
  result.refusal = [this](int status, std::string_view message) {
    return api.refusal(status, message);
  };
  if (options.ends_by_signal) {
    result.on_signal = [this](int signal) {
      if (stopping || !api.has_started()) {  // the second signal, or while models are loaded
        std::signal(signal, SIG_DFL);
        std::raise(signal);
      }
      stop();
    };
  }
  return result;
}

void Server::State::stop() {
  stopping = true;
  api.close();
  http.close(options.seconds_to_end);
}

void ServeOptions::validate() const {
  require_value(api_key.empty() || std::ssize(api_key) >= kShortestKey, "api_key_file",
                "expected a key of at least ", kShortestKey, " characters, got ", api_key.size());
  require_value(!api_key.empty() || is_loopback(host), "api_key_file",
                "expected a file with a key, because --host ", host,
                " can be reached from other machines");
  for (const std::string& origin : allowed_origins) {
    check_origin(origin);
  }
  require_value(slots >= 1 && slots <= 256, "slots", "expected 1 to 256, got ", slots);
  require_value(queue >= 0, "queue", "expected a number from 0, got ", queue);
  require_value(queue_bytes >= 1, "queue_bytes", "expected a number from 1, got ", queue_bytes);
  require_value(context_tokens >= 0 && (context_tokens == 0 || context_tokens >= 64), "ctx_size",
                "expected a number from 64, or 0, got ", context_tokens);
  require_value(max_work >= 1, "max_work", "expected a number from 1, got ", max_work);
  require_value(default_tokens >= 1, "max_new_tokens", "expected a number from 1, got ",
                default_tokens);
}

Server::Server(std::vector<ServedModel> models, const ServeOptions& options) {
  options.validate();
  state_ = std::make_unique<State>(options);
  state_->start(std::move(models));
}

Server::Server(std::function<std::vector<ServedModel>()> load, const ServeOptions& options) {
  options.validate();
  state_ = std::make_unique<State>(options);
  state_->load = std::move(load);
}

Server::~Server() = default;

Index Server::port() const { return state_->http.port(); }

std::string Server::address() const {
  const std::string& host = state_->options.host;
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

void Server::load() {
  State& state = *state_;
  if (!state.load) {
    return;
  }
  state.network = std::jthread([&state] { state.http.run(); });
  try {
    state.start(std::exchange(state.load, nullptr)());
  } catch (...) {
    state.http.close(0);
    state.network.join();
    throw;
  }
}

void Server::run() {
  load();
  if (state_->network.joinable()) {
    state_->network.join();
  } else {
    state_->http.run();
  }
  state_->api.stop();
}

void Server::stop() { state_->stop(); }

}  // namespace headlight
