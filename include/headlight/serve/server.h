#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/generate/weights.h"
#include "headlight/io/model_directory.h"

namespace headlight {

struct ServedModel {
  std::string name;  // that requests call it by
  LoadedModel loaded;
  std::string chat_template = {};  // in Jinja; empty: there is none
  std::string source = {};         // where it lies, for commands that people copy; empty: `name`
};

struct ServeOptions {
  std::string host = "127.0.0.1";  // an address to listen on; others than loopback need a key
  Index port = 8080;               // 0: one that is free
  std::string api_key = {};        // that every request must bring, at least 16 characters
  // Names that browsers may reach the server by, beside localhost and addresses.
  std::vector<std::string> allowed_hosts = {};
  // Pages of other servers, "https://example.org", whose scripts may use this one; "null": files.
  std::vector<std::string> allowed_origins = {};

  // A folder of training runs, which the page shows as they go on; empty: none.
  std::string runs = {};

  WeightFormat weights = WeightFormat::float32;
  Index slots = 16;  // texts that are made side by side, of each model
  Index queue = 64;  // requests beyond them that may wait; 429 for more
  // Positions that there are keys and values for, of each model. 0: of all slots, but no more than
  // 8192 or one block, whichever is larger.
  Index context_tokens = 0;
  // Tokens times passes over a model that one request may ask for, of prompts and of analyses. As
  // many as 128 prompts, the most of a request, of 1,024 tokens, the most of a text at /api.
  Index max_work = 131'072;
  Index default_tokens = 512;  // of a chat that does not say how many
  int seconds_to_end = 30;     // for the answers that there are, once stop() is called
  bool ends_by_signal = true;  // SIGTERM and SIGINT call stop()
  // Gets a line about every request, its method, path, status and seconds, by the thread of run().
  std::function<void(const std::string& line)> log = {};

  // Throws Error about the first field that is out of range, and about "api_key_file" for a host
  // that others can reach without a key.
  void validate() const;
};

// Serves models by HTTP: OpenAI's completions and chat completions, and what its own page asks. See
// src/serve/README.md. One thread speaks with the clients, one reads their
// texts, and one computes.
class Server {
 public:
  // Listens from now on; clients wait until run(). Throws Error when an option is out of range, two
  // models have one name, the host or port cannot be had, or the keys and values do not fit into
  // memory.
  Server(std::vector<ServedModel> models, const ServeOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Index port() const;
  std::string address() const;  // "http://127.0.0.1:8080"
  // Until stop(), and the answers that are then being made have ended.
  void run();
  // Any thread, also before run().
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
