#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/base/index.h"

// HTTP/1.1 as the server needs it. Nothing else of the project knows the library behind it.
namespace headlight::serve {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = {};  // "GET"; of HEAD as well, whose answers have no body
  std::string path = {};    // before the '?', as it was sent, without a host
  // Names in lower case. "host" is that of the target where it has one; a client of HTTP/1.0 may
  // send none, and has the address that it connected to.
  HttpHeaders headers = {};
  std::string body = {};

  // The only header of that name in lower case; null: there is none, or there are several.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
  int seconds_held_back = 0;  // delay of send(): its client cannot ask often
};

// A request that waits for its answer: send() it, or begin(), write() pieces and end() it. Any
// thread may do so, one after the other; nothing waits for the client, and what comes after it has
// gone is dropped. One that is let go without an answer gets a 500, and a begun answer without its
// end ends the connection.
class HttpExchange {
 public:
  HttpExchange() = default;
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  virtual void send(HttpResponse response) = 0;
  // The body follows in pieces; that of `head` is the first.
  virtual void begin(HttpResponse head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;

  // True once the client has closed the connection, or reads too slowly.
  virtual bool gone() const = 0;
  // What is called then, by the thread that runs the server; at once if that was before.
  virtual void on_gone(std::function<void()> call) = 0;
};

struct HttpLimits {
  Index connections = 1000;         // more are closed at once
  Index header_bytes = 16 << 10;    // 431 beyond
  Index body_bytes = 1 << 20;       // 413 beyond
  Index all_body_bytes = 64 << 20;  // of all requests together; 503 beyond
  Index unsent_bytes = 256 << 20;   // of a stream that wait for its client; given up beyond
  Index all_unsent_bytes =
      512 << 20;  // of all answers; beyond, streams end and whole answers are 503
  // For a client to send head and body, each as a whole, to send the next request on the same
  // connection, and to take 64 KiB of an answer.
  int seconds = 10;
};

// What the head of a request lets it have.
struct Admission {
  std::optional<HttpResponse> refusal = {};  // answers instead of the handler
  HttpHeaders headers = {};                  // for its answer, whatever that is
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address, or localhost
  Index port = 8080;               // 0: one that is free
  HttpLimits limits = {};
  // For every answer.
  HttpHeaders headers = {};
  // Looks at the head alone, before the body is read.
  std::function<Admission(const HttpRequest& head)> gate = {};
  // Is handed each request, by the thread that runs the server, and should return soon.
  std::function<void(HttpRequest request, std::shared_ptr<HttpExchange> exchange)> handler = {};
  // Answers to what is no request: too large, too slow, malformed.
  std::function<HttpResponse(int status, std::string_view message)> refusal = {};
  // Is handed a line about every request, once its answer has been sent or its client has gone.
  std::function<void(const std::string& line)> log = {};
  // What SIGTERM and SIGINT do instead of ending the program, by the thread that runs the server;
  // none: nothing.
  std::function<void(int signal)> on_signal = {};
};

// Serves one connection after the other with a single thread: requests are handed over, and their
// answers come from others.
class HttpServer {
 public:
  // Listens from now on. Throws Error about "host" or "port" when that is not possible.
  explicit HttpServer(HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  Index port() const;
  Index connections() const;
  // Until stop(), or until close() and the last answer, or `seconds` after close().
  void run();
  // Takes no new connections or requests, and lets the exchanges end that there are. Any thread.
  void close(int seconds);
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight::serve
