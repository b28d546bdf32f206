#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/index.h"
#include "serve/http/exchange.h"

// HTTP/1.1 server. It hides Boost.Beast from the rest of the project.
namespace headlight::serve {

struct HttpListener;
class HttpSession;

struct HttpLimits {
  Index connections = 1000;         // more are closed at once
  Index header_bytes = 16 << 10;    // larger heads get 431
  Index body_bytes = 1 << 20;       // larger bodies get 413
  Index all_body_bytes = 64 << 20;  // limit of all requests together; 503 beyond
  Index unsent_bytes = 256 << 20;   // limit of a stream, which is closed beyond
  // Limit of all answers: streams close, whole answers become 503.
  Index all_unsent_bytes = 512 << 20;
  // Time limit for the head, for the body, for the next request on the same connection, and for the
  // client to receive 64 KiB of an answer.
  int seconds = 10;
  // Time after which a stream that is announced gets a comment.
  std::chrono::milliseconds silence{10'000};
};

// Result of checking a request's head.
struct Admission {
  std::optional<HttpResponse> refusal = {};  // replaces the handler's answer
  HttpHeaders headers = {};                  // added to either answer
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // address, or localhost
  Index port = 8080;               // 0: any free port
  HttpLimits limits = {};
  // Headers of every answer.
  HttpHeaders headers = {};
  // Checks the head before the body is read.
  std::function<Admission(const HttpRequest& head)> gate = [](const HttpRequest&) {
    return Admission();
  };
  // Receives each request on the server's thread; must return quickly.
  std::function<void(HttpRequest request, std::shared_ptr<HttpExchange> exchange)> handler = {};
  // Returns the answer to a request that is malformed, too large or one too many.
  std::function<HttpResponse(int status, std::string_view message)> refusal =
      [](int status, std::string_view) { return HttpResponse{.status = status}; };
  // Gives an error, status 400 or more, the form that the clients of the request's path expect.
  std::function<void(const HttpRequest& head, HttpResponse& error)> shape_error = {};
  // Paths that are read as others.
  std::map<std::string, std::string, std::less<>> aliases = {};
  // Receives a line for every request, once its answer has been sent or its client has gone.
  std::function<void(const std::string& line)> log = {};
  // Called on the server's thread for SIGTERM, SIGINT and SIGHUP, which then do not end the
  // program; empty: signals are not handled.
  std::function<void(int signal)> on_signal = {};
};

// Serves all connections on a single thread. The handler receives the requests; their answers may
// come from other threads.
class HttpServer {
 public:
  // Listens at once. Throws Error about "host" or "port" when that is not possible.
  explicit HttpServer(HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  Index port() const;
  Index connections() const;
  // Serves until close(), and then until the last answer or the time limit.
  void run();
  // Refuses new connections and requests; open exchanges may end within `seconds`. Thread-safe.
  void close(int seconds);

 private:
  std::unique_ptr<HttpListener> listener_;
};

}  // namespace headlight::serve
