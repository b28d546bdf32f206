#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/work_budget.h"

// Requests and their answers, without a network: also the page of one file asks in this form.
namespace headlight::serve {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = {};  // "GET" also for HEAD, whose answers have no body
  std::string path = {};    // as sent, without host and query
  // Names in lower case. "host" is the target's host, else the Host header, else (HTTP/1.0) the
  // address that the client connected to.
  HttpHeaders headers = {};
  std::string body = {};
  WorkBudget budget = {};  // limits the work of reading the body

  // Returns the header of that name (lower case); null if it is missing or repeated.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
  int seconds_held_back = 0;  // delay of send(), against guessing
  std::string event = {};     // the last part instead, if a stream has begun: see await_stream()
};

// Request that waits for its answer: send(), or begin(), write() for each piece and end(). Any
// thread may call these, one after the other; they never block. Calls after the client has gone
// have no effect.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  virtual void send(HttpResponse response) = 0;
  // Announces an answer in pieces. While none comes, the client gets `comment` in regular
  // intervals, the first time after `head`: proxies end connections that are silent for long.
  virtual void await_stream(HttpResponse /*head*/, std::string /*comment*/) {}
  // Starts an answer in pieces; the body of `head` is the first.
  virtual void begin(HttpResponse head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;

  // True once the client does not wait for the answer any more.
  virtual bool disconnected() const = 0;
  // Adds a function to call when the client goes; at once if it has gone.
  virtual void on_disconnect(std::function<void()> call) = 0;

 protected:
  HttpExchange() = default;
};

}  // namespace headlight::serve
