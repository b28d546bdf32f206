#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/body_reader.h"
#include "serve/http/access.h"
#include "serve/http/http.h"
#include "serve/metrics.h"
#include "serve/questions.h"
#include "serve/run_feed.h"

namespace headlight::serve {

// Handlers of all HTTP paths, and the threads that they use. The readers' threads handle bodies
// with texts: large bodies have their own, so that others do not wait for them. Work that needs a
// model goes to the computing thread.
class Api {
 public:
  // `options` and `http` must outlive this.
  Api(const ServeOptions& options, const HttpServer& http);

  // Starts the computing thread. Until then requests that need a model get a 503. `models` must
  // outlive this.
  void start(const std::vector<ServedModel>& models);
  bool has_started() const { return started_; }

  // Checks the head of a request.
  Admission admit(const HttpRequest& head);
  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  // Returns the answer to a request that is not handled.
  HttpResponse refusal(int status, std::string_view message);
  // Gives an error the form that the clients of a path expect: Anthropic's, or OpenAI's, which it
  // has.
  static void shape_error(std::string_view path, HttpResponse& error);
  // Makes /health answer 503 and ends the streams of run logs.
  void close() {
    closing_ = true;
    runs_.close();
  }
  // Ends the threads for bodies and models.
  void stop() {
    stopping_ = true;
    reader_.stop();
    large_reader_.stop();
    if (questions_) {
      questions_->compute().stop();
    }
  }

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using Handler = void (Api::*)(const HttpRequest&, const Exchange&);
  struct Route {
    const char* method;
    std::string_view path;
    Handler handler;
    bool has_texts = false;   // true: runs on the reader's thread instead of the network thread
    bool needs_model = true;  // false: works before start()
  };

  // Throws ApiError (404) for an unknown path.
  static Route route_of(std::string_view path);
  // Sends the error response if answer() throws.
  void answer_or_refuse(const Exchange& exchange, const std::function<void()>& answer);
  // Queues a request with texts for a reader.
  void read_later(Handler handler, const HttpRequest& request, const Exchange& exchange);

  void forward_question(const HttpRequest& request, const Exchange& exchange);
  void get_file(const HttpRequest& request, const Exchange& exchange);
  void get_health(const HttpRequest& request, const Exchange& exchange);
  void get_metrics(const HttpRequest& request, const Exchange& exchange);
  void post_login(const HttpRequest& request, const Exchange& exchange);
  void get_runs(const HttpRequest& request, const Exchange& exchange);
  void post_watch(const HttpRequest& request, const Exchange& exchange);

  const ServeOptions& options_;
  const HttpServer& http_;
  Access access_;
  Metrics metrics_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> stopping_{false};  // ends the work on bodies
  std::atomic<bool> started_{false};
  // Members are destroyed in reverse order: the readers hand requests to the others.
  RunFeed runs_;
  std::optional<Questions> questions_;  // empty before start()
  BodyReader reader_;
  BodyReader large_reader_;
};

}  // namespace headlight::serve
