#pragma once

#include "base/json.h"
#include "headlight/serve/server.h"
#include "support/programs/http_client.h"
#include "support/test.h"

namespace headlight::test {

// Returns the "lively" model of random weights, which does not repeat itself, with bytes as tokens.
inline ServedModel lively_served(Index block_size = 256, const std::string& name = "lively") {
  ServedModel served{.name = name, .loaded = {}};
  served.loaded.model = lively_model(257, block_size);
  served.loaded.tokenizer = std::make_unique<ByteTokenizer>();
  return served;
}

inline Json json_of(const std::string& text) { return parse_json(text, "a test"); }

inline std::vector<ServedModel> served_models() {
  std::vector<ServedModel> models;
  models.push_back(lively_served());
  return models;
}

// Returns the bytes of a request with a body.
inline std::string post_request(const std::string& path, const std::string& body) {
  return request_head("POST", path, body.size()) + body;
}

// Server on a free port, with its own thread.
class RunningServer {
 public:
  explicit RunningServer(ServeOptions options = {}, ServedModel model = lively_served()) {
    options.port = 0;
    options.ends_by_signal = false;
    std::vector<ServedModel> models;
    models.push_back(std::move(model));
    server_ = std::make_unique<Server>(std::move(models), options);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~RunningServer() { stop(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  long port() const { return static_cast<long>(server_->port()); }
  void stop() {
    server_->stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  HttpClient::Answer get(const std::string& path) const { return HttpClient(port()).get(path); }
  HttpClient::Answer post(const std::string& path, const std::string& body) const {
    return HttpClient(port()).post(path, body);
  }
  // Posts a body and returns the JSON answer, whose status must be 200.
  Json asked(const std::string& path, const Json& body) const {
    const HttpClient::Answer answer = post(path, body.dump());
    require(answer.status == 200, path, ": status ", answer.status, ": ", answer.body);
    return parse_json(answer.body, "answer");
  }
  // Returns a value of /metrics.
  double metric(const std::string& name) const {
    const std::string text = get("/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    require(at != std::string::npos, "no metric ", name);
    return std::stod(text.substr(at + name.size() + 2));
  }

  // Waits until a value of /metrics is within these limits.
  void wait_for(const std::string& name, double least, double most) const {
    for (double value = least - 1; value < least || value > most; value = metric(name)) {
      std::this_thread::yield();
    }
  }

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

// Returns the data of server-sent events, without the final [DONE], which is required.
inline std::vector<Json> events_of(std::string body) {
  std::vector<Json> events;
  const std::string end = "data: [DONE]\n\n";
  require(body.ends_with(end), "the stream has no end: ", body);
  body.resize(body.size() - end.size());
  while (!body.empty()) {
    const std::size_t next = body.find("\n\n");
    require(body.starts_with("data: ") && next != std::string::npos, "no event: ", body);
    events.push_back(parse_json(body.substr(6, next - 6), "event"));
    body.erase(0, next + 2);
  }
  return events;
}
}  // namespace headlight::test
