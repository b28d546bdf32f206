#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/base/index.h"

// HTTP/1.1 server. It hides Boost.Beast from the rest of the project.
namespace headlight::serve {

struct HttpListener;
class HttpSession;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = {};  // "GET" also for HEAD, whose answers have no body
  std::string path = {};    // as sent, without host and query
  // Names in lower case. "host" is the target's host, else the Host header, else (HTTP/1.0) the
  // address that the client connected to.
  HttpHeaders headers = {};
  std::string body = {};

  // Returns the header of that name (lower case); null if it is missing or repeated.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
  int seconds_held_back = 0;  // delay of send(), against guessing
};

// Request that waits for its answer: send(), or begin(), write() for each piece and end(). Any
// thread may call these, one after the other; they never block. Calls after the client has gone
// have no effect. Destruction without an answer sends a 500; a stream without end() closes the
// connection.
class HttpExchange {
 public:
  HttpExchange(std::shared_ptr<HttpSession> session, std::uint64_t number,
               std::shared_ptr<std::atomic<bool>> gone)
      : session_(std::move(session)), number_(number), gone_(std::move(gone)) {}
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  void send(HttpResponse response);
  // Starts an answer in pieces; the body of `head` is the first.
  void begin(HttpResponse head);
  void write(std::string piece);
  void end();

  // True once the client has closed the connection, or reads too slowly.
  bool gone() const { return gone_->load(); }
  // Adds a function to call on the server's thread when the client goes; at once if it has gone.
  void on_gone(std::function<void()> call);

 private:
  std::shared_ptr<HttpSession> session_;
  std::uint64_t number_;  // of the request on its connection
  std::shared_ptr<std::atomic<bool>> gone_;
};

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
  // Receives a line for every request, once its answer has been sent or its client has gone.
  std::function<void(const std::string& line)> log = {};
  // Called on the server's thread for SIGTERM and SIGINT, which then do not end the program; empty:
  // signals are not handled.
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
