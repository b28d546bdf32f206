#include "serve/api.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/strings/lower_case.h"
#include "base/strings/split.h"
#include "headlight/kernels/machine/memory.h"
#include "serve/api_error.h"
#include "serve/json_answer.h"
#include "serve/page_files.h"

namespace headlight::serve {
namespace {

constexpr Index kMostUnread = 64;  // bodies; at 1 MiB each, HttpLimits::all_body_bytes
constexpr std::size_t kLargeBody = std::size_t{64} << 10U;
constexpr double kSecondsToRead = 10;

HttpResponse response_of(const Json& json) { return json_response(json.dump()); }

// Files of the page by path.
struct ServedFile {
  std::string_view path;
  std::string_view type;
  std::string_view name;  // of serve_page_files()
};
constexpr std::array<ServedFile, 3> kServedFiles{
    {{"/", "text/html; charset=utf-8", "live/body.html"},
     {"/style.css", "text/css; charset=utf-8", "live/style.css"},
     {"/main.js", "text/javascript; charset=utf-8", "live/main.js"}}};

// Returns the page in a language, with links to its other files.
std::string index_page(std::string_view language) {
  PageValues values = live_page_values(language);
  values["policy"] = "";  // protective_headers() has it
  values["style"] = "<link rel=\"stylesheet\" href=\"/style.css\">\n";
  values["script"] = "<script type=\"module\" src=\"/main.js\"></script>\n";
  return page_start({serve_page_files(), "live/"}, std::move(values)).append(kPageEnd);
}

// Returns the paths that need no key.
std::vector<std::string> open_paths() {
  std::vector<std::string> paths{"/health", "/api/login"};
  for (const ServedFile& file : kServedFiles) {
    paths.emplace_back(file.path);
  }
  return paths;
}

// Browsers send JSON to another origin only after a CORS preflight; forms need none.
void require_json(const HttpRequest& request) {
  const std::string* type = request.header("content-type");
  const std::string_view all = type == nullptr ? std::string_view() : *type;
  if (lower_case(trimmed(all.substr(0, all.find(';')))) != "application/json") {
    throw ApiError(415, "", "expected Content-Type: application/json");
  }
}

}  // namespace

Api::Api(const ServeOptions& options, const HttpServer& http)
    : options_(options),
      http_(http),
      access_(options, http.port(), open_paths()),
      runs_(options.runs),
      reader_(kMostUnread),
      large_reader_(kMostUnread) {}

void Api::start(const std::vector<ServedModel>& models) {
  questions_.emplace(models, options_);
  questions_->compute().start();
  started_ = true;
}

Api::Route Api::route_of(std::string_view path) {
  static constexpr Route kRoutes[] = {
      {"GET", "/health", &Api::get_health},
      {"GET", "/metrics", &Api::get_metrics},
      {"POST", "/api/login", &Api::post_login, false, false},
      {"GET", "/api/runs", &Api::get_runs, false, false},
      {"POST", "/api/watch", &Api::post_watch, false, false},
  };
  if (std::ranges::find(kServedFiles, path, &ServedFile::path) != kServedFiles.end()) {
    return {"GET", path, &Api::get_file, false, false};
  }
  if (const std::optional<Questions::Route> route = Questions::find(path)) {
    return {route->method, path, &Api::forward_question, route->has_texts};
  }
  const auto* route = std::ranges::find(kRoutes, path, &Route::path);
  if (route == std::end(kRoutes)) {
    throw unknown_path(path);
  }
  return *route;
}

Admission Api::admit(const HttpRequest& head) {
  Admission admission = access_.check(head);
  if (admission.refusal && admission.refusal->status >= 400) {
    metrics_.count_refusal(admission.refusal->status);
  }
  return admission;
}

HttpResponse Api::refusal(int status, std::string_view message) {
  metrics_.count_refusal(status);
  return error_response(status, message);
}

void Api::shape_error(std::string_view path, HttpResponse& error) {
  if (path.starts_with(Questions::kMessages)) {
    error.body = anthropic_error(error.status, parse_json(error.body, "error")["error"]).dump();
  }
}

void Api::handle(const HttpRequest& request, const Exchange& exchange) {
  answer_or_refuse(exchange, [&] {
    const Route route = route_of(request.path);
    const std::string method = route.method;
    if (request.method != method) {
      throw ApiError(405, "", "expected the method " + method, "",
                     {{"Allow", method == "GET" ? "GET, HEAD" : method}});
    }
    metrics_.count_request(request.path.starts_with(Questions::kOneModel) ? "/v1/models"
                                                                          : request.path);
    if (method == "POST") {
      require_json(request);
    }
    if (route.needs_model && !started_) {
      throw ApiError(503, "loading", "the models are loading: try again later");
    }
    if (!route.has_texts) {
      (this->*route.handler)(request, exchange);
      return;
    }
    read_later(route.handler, request, exchange);
  });
}

void Api::read_later(Handler handler, const HttpRequest& request, const Exchange& exchange) {
  const bool is_large = request.body.size() > kLargeBody;
  (is_large ? large_reader_ : reader_)
      .run([this, handler, is_large, wanted = request, exchange]() mutable {
        if (!exchange->disconnected()) {
          wanted.budget = WorkBudget("body", kSecondsToRead, [this, exchange] {
            return !exchange->disconnected() && !stopping_;
          });
          answer_or_refuse(exchange, [&] { (this->*handler)(wanted, exchange); });
        }
        if (is_large) {
          wanted = {};
          release_free_memory();
        }
      });
}

void Api::answer_or_refuse(const Exchange& exchange, const std::function<void()>& answer) {
  try {
    answer();
  } catch (...) {
    const HttpResponse response = current_error_response();
    metrics_.count_refusal(response.status);
    exchange->send(response);
  }
}

void Api::forward_question(const HttpRequest& request, const Exchange& exchange) {
  questions_->answer(request, exchange);
}

void Api::get_file(const HttpRequest& request, const Exchange& exchange) {
  const ServedFile& file = *std::ranges::find(kServedFiles, request.path, &ServedFile::path);
  exchange->send({.status = 200,
                  .headers = {{"Content-Type", std::string(file.type)}},
                  .body = file.path == "/"
                              ? index_page(options_.page_language)
                              : std::string(contents_of(serve_page_files(), file.name))});
}

void Api::get_health(const HttpRequest&, const Exchange& exchange) {
  if (closing_) {
    throw ApiError(503, "closing", "the server is shutting down");
  }
  exchange->send(response_of({{"status", "ok"}}));
}

void Api::get_metrics(const HttpRequest&, const Exchange& exchange) {
  exchange->send({.status = 200,
                  .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                  .body = metrics_.text(questions_->compute().status(), http_.connections())});
}

void Api::post_login(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const std::string key = fields.text("key", "");
  fields.refuse_others();
  if (!access_.is_key(key)) {
    metrics_.count_refusal(401);
    exchange->send(Access::wrong_key("key: this is not the server's key", "key"));
    return;
  }
  HttpResponse response = response_of({{"status", "ok"}});
  response.headers.emplace_back("Set-Cookie", access_.session_cookie());
  exchange->send(std::move(response));
}

void Api::get_runs(const HttpRequest&, const Exchange& exchange) {
  exchange->send(response_of({{"runs", runs_.names()}}));
}

void Api::post_watch(const HttpRequest& request, const Exchange& exchange) {
  Fields fields(request.body);
  const std::vector<std::string> names = fields.texts("runs", RunFeed::kMostRuns);
  fields.refuse_others();
  runs_.watch(names, exchange);
}

}  // namespace headlight::serve
