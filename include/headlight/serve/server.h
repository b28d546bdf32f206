#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/formats/model_directory.h"
#include "headlight/generate/speculation.h"
#include "headlight/generate/weights.h"

namespace headlight {

struct ServedModel {
  std::string name;  // used in requests
  LoadedModel loaded;
  ChatTemplates chat_template = {};
  std::string source = {};  // path for commands that users copy; empty: `name`
  // Directions "FILE:ARRAY" that changes in requests may add; they name no other files.
  std::vector<std::string> directions = {};
  MakeDrafter make_drafter = {};  // guesses tokens of all texts; empty: no guesses
  // Room of its drafters, which the server limits; null: they keep nothing.
  std::shared_ptr<DraftRoom> draft_room = {};
};

struct ServeOptions {
  std::string host = "127.0.0.1";  // address to listen on; any but loopback needs a key
  Index port = 8080;               // 0: any free port
  std::string api_key = {};        // required of every request, at least 16 characters
  // Host names accepted besides localhost and IP addresses.
  std::vector<std::string> allowed_hosts = {};
  // Origins whose scripts may use the server, "https://example.org"; "null": local files.
  std::vector<std::string> allowed_origins = {};

  std::string page_language = "en";  // of the page where its address gives none; or "ko"
  // Folder of training runs, which the page shows live; empty: none.
  std::string runs = {};

  std::optional<CacheType> cache_type = {};  // empty: usual_cache_type() of each model
  Index slots = 16;                          // sequences generated in parallel, per model
  Index queue = 64;                          // requests that may wait for a slot; 429 for more
  Index queue_bytes = Index{512} << 20;      // their memory; 429 beyond
  // Positions of the key/value cache, per model; texts take them as they grow. 0: a block for every
  // slot, or as many as fit into a quarter of the free memory, but at least one block.
  Index context_tokens = 0;
  // Limit of a request's work, in tokens times passes over a model. The default is 128 prompts (the
  // limit of a request) of 1,024 tokens (the limit of a text at /api).
  Index max_work = 131'072;
  Index default_tokens = 512;  // max_tokens of a chat that gives none
  int seconds_to_end = 30;     // time for running answers after stop()
  bool ends_by_signal = true;  // SIGTERM and SIGINT call stop()
  // Receives a line for every request (method, path, status, seconds) on the thread that handles
  // connections.
  std::function<void(const std::string& line)> log = {};

  // Throws Error about the first field out of range, and about "api_key_file" for a host other than
  // loopback without a key.
  void validate() const;
};

// Serves models over HTTP: OpenAI's completions and chat completions, and the API of its own page.
// See docs/serve/README.md. One thread handles connections, two read bodies and encode texts (one
// of them large bodies), one computes.
class Server {
 public:
  // Listens at once; clients wait until run(). Throws Error when an option is out of range, two
  // models share a name, the host or port is unavailable, or keys and values exceed memory.
  Server(std::vector<ServedModel> models, const ServeOptions& options);
  // Listens at once; load() calls `load`.
  Server(std::function<std::vector<ServedModel>()> load, const ServeOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Index port() const;
  std::string address() const;  // "http://127.0.0.1:8080"
  // Loads the models. Meanwhile the page works, and requests that need a model get a 503. Throws
  // Error for models that the constructor would refuse, and passes on exceptions of `load`.
  void load();
  // Calls load() if it has not been called. Serves until stop() has been called and the running
  // answers have ended.
  void run();
  // Callable from any thread, also before run().
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
