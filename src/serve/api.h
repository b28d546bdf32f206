#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/completions/chat_format.h"
#include "serve/completions/completion_answer.h"
#include "serve/compute.h"
#include "serve/fields.h"
#include "serve/http/access.h"
#include "serve/http/http.h"
#include "serve/metrics.h"
#include "serve/reader.h"
#include "serve/run_feed.h"
#include "serve/work.h"

namespace headlight::serve {

// What stands behind every path. Bodies with texts are read by the reader's thread, and what takes
// a model is handed to the one that computes.
class Api {
 public:
  struct Options {
    Index default_tokens = 512;
    Index max_work = 0;
    std::string runs = {};  // a folder; see RunFeed
  };
  struct Parts {
    Compute& compute;
    Reader& reader;
    Access& access;
    Metrics& metrics;
  };

  // All must outlive it.
  Api(const std::vector<ServedModel>& models, const Options& options, const Parts& parts);

  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  // For /metrics.
  void set_connections(std::function<Index()> connections) {
    connections_ = std::move(connections);
  }
  // From now on /health tells that the server ends.
  void close() {
    closing_ = true;
    runs_.close();
  }

  // Of the page, and what a page needs to ask for the key: they need none themselves.
  static std::vector<std::string> open_paths();

 private:
  struct Model {
    const ServedModel& served;
    ChatFormat chat;
    SpecialNameCount names;  // of special tokens that a text spells out
  };
  using Exchange = std::shared_ptr<HttpExchange>;
  using Handler = void (Api::*)(const HttpRequest&, const Exchange&);
  struct Route {
    const char* method;
    const char* path;
    Handler handler;
    bool has_texts = false;  // in its body: the reader's thread handles it, the client's the others
  };

  static const std::vector<Route>& routes();
  // Throws ApiError: 404.
  static Route route_of(const std::string& path);
  // Throws ApiError: 404, or 405 for another method.
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

  // What a job may have of the computing thread.
  Work::Options work_of(Urgency urgency, const Exchange& exchange) const;
  void begin(std::size_t model, const std::shared_ptr<CompletionAnswer>& answer,
             const Exchange& exchange);
  // The one that the request names; without a name the first.
  std::size_t model_of(Fields& fields) const;
  Json model_json(const Model& model) const;

  std::vector<Model> models_;
  Options options_;
  Compute& compute_;
  Reader& reader_;
  Access& access_;
  Metrics& metrics_;
  RunFeed runs_;
  std::function<Index()> connections_;
  Index created_;  // seconds since 1970
  // Called on the reader's thread.
  Index answers_ = 0;
  std::uint64_t seeds_;  // the next request's that gives none
  std::atomic<bool> closing_{false};
};

}  // namespace headlight::serve
