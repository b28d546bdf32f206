#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/body_reader.h"
#include "serve/completions/chat_format.h"
#include "serve/completions/completion_answer.h"
#include "serve/compute.h"
#include "serve/request/fields.h"
#include "serve/http/access.h"
#include "serve/http/http.h"
#include "serve/metrics.h"
#include "serve/run_feed.h"
#include "serve/work.h"

namespace headlight::serve {

// Handlers of all HTTP paths. The reader's thread handles bodies with texts. Work that needs a
// model goes to the computing thread.
class Api {
 public:
  struct Options {
    Index default_tokens = 512;
    Index max_work = 0;
    std::string runs = {};  // folder of training runs; see RunFeed
  };
  struct Parts {
    Compute& compute;
    BodyReader& reader;
    Access& access;
    Metrics& metrics;
  };

  // `models` and `parts` must outlive this.
  Api(const std::vector<ServedModel>& models, const Options& options, const Parts& parts);

  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  // Sets the function that counts open connections for /metrics.
  void set_connections(std::function<Index()> connections) {
    connections_ = std::move(connections);
  }
  // Makes /health answer 503 and ends the streams of run logs.
  void close() {
    closing_ = true;
    runs_.close();
  }

  // Returns the paths that need no key: the page's files, /health and /api/login.
  static std::vector<std::string> open_paths();

 private:
  struct Model {
    const ServedModel& served;
    ChatFormat chat;
    SpecialNameCount names;  // counts special-token names in plain text
  };
  using Exchange = std::shared_ptr<HttpExchange>;
  using Handler = void (Api::*)(const HttpRequest&, const Exchange&);
  struct Route {
    const char* method;
    const char* path;
    Handler handler;
    bool has_texts = false;  // true: runs on the reader's thread instead of the network thread
  };

  static const std::vector<Route>& routes();
  // Throws ApiError: 404 for an unknown path.
  static Route route_of(const std::string& path);
  // Throws ApiError: 404 for an unknown path, 405 for a wrong method.
  static Route find(const HttpRequest& request);
  // Sends the error response if answer() throws.
  void answer_or_refuse(const Exchange& exchange, const std::function<void()>& answer);

  void get_file(const HttpRequest& request, const Exchange& exchange);
  void get_health(const HttpRequest& request, const Exchange& exchange);
  void get_metrics(const HttpRequest& request, const Exchange& exchange);
  void get_models(const HttpRequest& request, const Exchange& exchange);
  void post_login(const HttpRequest& request, const Exchange& exchange);
  void post_tokenize(const HttpRequest& request, const Exchange& exchange);
  void post_detokenize(const HttpRequest& request, const Exchange& exchange);
  void post_completion(const HttpRequest& request, const Exchange& exchange);
  void get_runs(const HttpRequest& request, const Exchange& exchange);
  void post_watch(const HttpRequest& request, const Exchange& exchange);
  void post_inspection(const HttpRequest& request, const Exchange& exchange);

  // Returns the work limit and the callbacks of a job.
  Work::Options work_of(Urgency urgency, const Exchange& exchange) const;
  void begin(std::size_t model, const std::shared_ptr<CompletionAnswer>& answer,
             const Exchange& exchange);
  // Returns the index of the requested model, or 0 without "model". Throws ApiError (404).
  std::size_t model_of(Fields& fields) const;
  Json model_json(const Model& model) const;

  std::vector<Model> models_;
  Options options_;
  Compute& compute_;
  BodyReader& reader_;
  Access& access_;
  Metrics& metrics_;
  RunFeed runs_;
  std::function<Index()> connections_;
  Index created_;  // seconds since 1970
  // Number of accepted completions. Like seeds_, used by the reader's thread alone.
  Index answers_ = 0;
  std::uint64_t seeds_;  // last default seed
  std::atomic<bool> closing_{false};
};

}  // namespace headlight::serve
