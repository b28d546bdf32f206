#include <future>

#include "serve/http/http.h"
#include "serve/running_server.h"
#include "support/test.h"

namespace http_test {
int status_of(const RunningServer& server, const std::string& bytes) {
  HttpClient client(server.port());
  client.send(bytes);
  return client.receive().status;
}

std::string error_message(const HttpClient::Answer& answer) {
  return parse_json(answer.body, "answer")["error"]["message"].text();
}

// Generates requests whose lines are valid, invalid or noise.
class HostileRequests {
 public:
  std::string next() {
    std::string request = pick({"GET", "POST", "HEAD", "PUT", "get", "", "\x16\x03\x01", "GET\t"}) +
                          pick({" ", "  ", "\t", ""}) +
                          pick({"/", "/v1/models", "/v1/completions", "/../../etc/passwd",
                                "/%2e%2e/%00", "*", "http://localhost/", "/tokenize", noise(40)}) +
                          " " +
                          pick({"HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", "", "http/1.1"}) +
                          pick({"\r\n", "\n", "\r", "\r\n"});
    for (int i = number(6); i > 0; --i) {
      request += header();
    }
    return request + pick({"\r\n", "\n", "", "\r\n\r\n", "\r\n"}) + body();
  }

 private:
  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string pick(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(number(static_cast<int>(list.size())))];
  }
  std::string noise(int most) {
    std::string text;
    for (int i = number(most); i >= 0; --i) {
      text += static_cast<char>(number(256));
    }
    return text;
  }
  std::string header() {
    return pick({"Host: localhost",
                 "Host: evil.example",
                 "Host",
                 "Content-Length: 2",
                 "Content-Length: -1",
                 "Content-Length: 99999999999999999999",
                 "Content-Length: 2, 3",
                 "Transfer-Encoding: chunked",
                 "Transfer-Encoding: xchunked",
                 "Content-Type: application/json",
                 "Expect: 100-continue",
                 "Connection: keep-alive",
                 "Connection: upgrade",
                 "Origin: null",
                 "Cookie: headlight_1=",
                 "Authorization: Bearer ",
                 " folded",
                 ": empty",
                 noise(60),
                 std::string(200, 'a') + ": b"}) +
           pick({"\r\n", "\r\n", "\n", "\r"});
  }
  std::string body() {
    return pick({"", "{}", "{\"prompt\":", "{\"prompt\":\"x\",\"max_tokens\":1e400}",
                 "{\"prompt\":[[1,2],[-3]]}", "{\"prompt\":\"\\ud800\"}", "0\r\n\r\n",
                 "5\r\nabcde\r\nffffffffffffffff\r\n", std::string(300, '['), noise(80)});
  }

  std::mt19937 random_{20};
};

TEST_CASE("one connection carries many requests", "[serve]") {
  const RunningServer server;
  HttpClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    CHECK(client.get("/health").status == 200);
    CHECK(client.post("/tokenize", R"({"content": "ab"})").body == R"({"tokens":[97,98]})");
  }
  client.send(request_head("GET", "/health", 0) + request_head("GET", "/v1/models", 0));
  CHECK(client.receive().body == R"({"status":"ok"})");
  CHECK(client.receive().status == 200);
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string head = client.receive_some();
  CHECK(contains(head, "Content-Length: 15"));
  CHECK(head.ends_with("\r\n\r\n"));
}

TEST_CASE("requests that are not valid HTTP are refused", "[serve]") {
  const RunningServer server;
  const std::string host = "Host: localhost\r\n";
  CHECK(status_of(server, "nonsense\r\n\r\n") == 400);
  CHECK(status_of(server, "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n") == 400);
  CHECK(status_of(server, "GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of(server, "GET / HTTP/1.1\r\n" + host + host + "\r\n") == 400);
  CHECK(status_of(server, "GET / HTTP/3.1\r\n" + host + "\r\n") == 400);
  CHECK(status_of(server, "POST /tokenize HTTP/1.1\r\n" + host +
                              "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n") == 501);
  CHECK(status_of(server, "POST /tokenize HTTP/1.1\r\n" + host +
                              "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}") == 400);
  CHECK(status_of(server, "GET / HTTP/1.1\r\n" + host + "X: " + std::string(20'000, 'x') +
                              "\r\n\r\n") == 431);
  CHECK(status_of(server, request_head("POST", "/tokenize", (1 << 20) + 1)) == 413);
  CHECK(status_of(server, request_head("GET", "/nothing", 0)) == 404);
  CHECK(status_of(server, request_head("GET", "/../src", 0)) == 404);
  CHECK(status_of(server, request_head("GET", "/tokenize", 0)) == 405);
  CHECK(status_of(server, "GET ?x HTTP/1.1\r\n" + host + "\r\n") == 404);
}

TEST_CASE("a refused method is answered with the allowed method", "[serve]") {
  const RunningServer server;
  const auto allowed = [&](const std::string& method, const std::string& path) {
    HttpClient client(server.port());
    client.send(request_head(method, path, 0));
    const HttpClient::Answer answer = client.receive();
    CHECK(answer.status == 405);
    return answer.headers.count("allow") == 1 ? answer.headers.at("allow") : "";
  };
  CHECK(allowed("GET", "/tokenize") == "POST");
  CHECK(allowed("PUT", "/health") == "GET, HEAD");
  CHECK(allowed("DELETE", "/v1/models/lively") == "GET, HEAD");
  CHECK(allowed("POST", "/") == "GET, HEAD");
}

TEST_CASE("a media type is compared as a whole and without case", "[serve]") {
  const RunningServer server;
  const auto status = [&](const std::string& header) {
    return status_of(server, "POST /tokenize HTTP/1.1\r\nhOsT: LocalHost\r\n" + header +
                                 "\r\nCONTENT-LENGTH: 17\r\n\r\n{\"content\": \"ab\"}");
  };
  for (const char* good : {"Content-Type: application/json", "content-TYPE: Application/JSON",
                           "CONTENT-TYPE:application/json;charset=utf-8",
                           "Content-Type: Application/JSON ; charset=utf-8"}) {
    INFO(good);
    CHECK(status(good) == 200);
  }
  for (const char* bad : {"Content-Type: text/plain", "Content-Type: application/jsonx", "X: y",
                          "Content-Type:", "Content-Type: application/json, text/plain",
                          "Content-Type: text/plain;application/json",
                          "Content-Type: application/json\r\nContent-Type: application/json"}) {
    INFO(bad);
    CHECK(status(bad) == 415);
  }
}

TEST_CASE("every valid form of an HTTP request is answered", "[serve]") {
  const RunningServer server;
  const std::string host = "Host: localhost\r\n";
  CHECK(status_of(server, "GET http://LOCALHOST:1/health HTTP/1.1\r\n" + host + "\r\n") == 200);
  CHECK(status_of(server, "GET HTTP://localhost/health?x HTTP/1.1\r\n" + host + "\r\n") == 200);
  CHECK(status_of(server, "GET http://localhost HTTP/1.1\r\n" + host + "\r\n") == 200);
  CHECK(status_of(server, "GET http://evil.example/health HTTP/1.1\r\n" + host + "\r\n") == 403);
  CHECK(status_of(server, "GET http://me@localhost/health HTTP/1.1\r\n" + host + "\r\n") == 403);
  CHECK(status_of(server, "GET http:///health HTTP/1.1\r\n" + host + "\r\n") == 403);
  CHECK(status_of(server, "GET ftp://localhost/health HTTP/1.1\r\n" + host + "\r\n") == 404);
  CHECK(status_of(server, "GET /health HTTP/1.0\r\n\r\n") == 200);
  CHECK(status_of(server, "GET /health HTTP/1.0\r\nHost: evil.example\r\n\r\n") == 403);
  HttpClient client(server.port());  // an empty line before a request, also in two parts
  client.send("\r\n\r\n" + request_head("GET", "/health", 0) + "\r\n");
  CHECK(client.receive().status == 200);
  client.send("\r");
  client.send("\n" + request_head("GET", "/health", 0));
  CHECK(client.receive().status == 200);
  client.send("\n" + request_head("GET", "/health", 0));
  CHECK(client.receive().status == 400);
}

TEST_CASE("a body in chunks is read up to the limit", "[serve]") {
  const RunningServer server;
  const std::string head =
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n";
  const std::string json = "Content-Type: application/json\r\n\r\n";
  HttpClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send(head + json + "9;note=x\r\n{\"content\r\n8\r\n\": \"ab\"}\r\n0\r\n\r\n");
    CHECK(client.receive().body == R"({"tokens":[97,98]})");
  }
  // Trailers after a body must not change the checked head.
  CHECK(status_of(server, head + "\r\n2\r\n{}\r\n0\r\nContent-Type: application/json\r\n\r\n") ==
        415);
  CHECK(status_of(server, head + json + "100001\r\n") == 413);
  const std::string chunk = "80000\r\n" + std::string(0x80000, ' ') + "\r\n";
  CHECK(status_of(server, head + json + chunk + chunk + "1\r\n") == 413);
  CHECK(status_of(server, head + json + "x\r\n") == 400);
}

TEST_CASE("every request is logged in one line without its query and headers", "[serve]") {
  std::vector<std::string> lines;
  ServeOptions options;
  options.log = [&](const std::string& line) { lines.push_back(line); };
  {
    const RunningServer server(options);
    server.get("/health");
    server.get("/v1/models/none?key=secret");
    status_of(server, "HEAD / HTTP/1.0\r\nCookie: secret\r\n\r\n");
    status_of(server, "nonsense\r\n\r\n");
  }
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("GET /health 200 "));
  CHECK(lines[0].ends_with(" s"));
  CHECK(lines[1].starts_with("GET /v1/models/none 404 "));
  CHECK(lines[2].starts_with("HEAD / 200 "));
  CHECK(lines[3].starts_with("no request 400 "));
}

TEST_CASE("a body in chunks is read like any other", "[serve]") {
  const RunningServer server;
  HttpClient client(server.port());
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: Chunked\r\n\r\nB;note=1\r\n{\"content\":\r\n5\r\n \"ab\"\r\n");
  client.send("1\r\n}\r\n0\r\nTrailer: x\r\n\r\n");
  const HttpClient::Answer answer = client.receive();
  CHECK(answer.body == R"({"tokens":[97,98]})");
  CHECK(client.get("/health").status == 200);
  const std::string large(70'000, 'x');
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 16 && client.send("11170\r\n" + large + "\r\n"); ++i) {
  }
  CHECK(client.receive().status == 413);
}

TEST_CASE("ambiguous body lengths of a request close the connection", "[serve]") {
  const RunningServer server;
  const std::string begin = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n";
  const std::string hidden = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& headers : std::vector<std::string>{
           "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
           "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding:\tchunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Content-Length: 0\r\nContent-Length: 0\r\n",
           "Content-Length: 0, 0\r\n",
           "Content-Length: +0\r\n",
           "Content-Length: 0x0\r\n",
           "Content-Length: -0\r\n",
           "Content-Length: 18446744073709551616\r\n",
           "Content-Length : 0\r\n",
           "Content-Length: 0\r\n 0\r\n",
           "Content-Length: 0\r\nHost: other\r\n",
           "Origin: http://localhost\r\nOrigin: null\r\n",
           "X: a\nContent-Length: 0\r\n",
           "X: a\rContent-Length: 0\r\n",
           std::string("X: a\0b\r\n", 9),
       }) {
    INFO(headers);
    HttpClient client(server.port());
    client.send(begin + headers + "\r\n" + hidden);
    CHECK(client.receive().status >= 400);
    CHECK(client.receive().status == 0);
  }
}

TEST_CASE("the server works after 10000 hostile requests", "[serve]") {
  const RunningServer server;
  HostileRequests requests;
  for (int i = 0; i < 10'000; ++i) {
    HttpClient client(server.port());
    client.send(requests.next());
    if (i % 50 == 0) {
      CHECK(server.get("/health").status == 200);
    }
  }
  CHECK(server.asked("/tokenize", {{"content", "ab"}})["tokens"].size() == 2);
}

TEST_CASE("invalid request bodies are refused by name", "[serve]") {
  const RunningServer server;
  const auto refused = [&](const std::string& path, const std::string& body,
                           const std::string& message) {
    const HttpClient::Answer answer = server.post(path, body);
    INFO(body << " -> " << answer.body);
    CHECK(answer.status == 400);
    CHECK(contains(error_message(answer), message));
  };
  const std::string completions = "/v1/completions";
  refused(completions, "", "body");
  refused(completions, "[]", "body: expected an object, got array");
  refused(completions, "{}", "prompt: expected a value");
  refused(completions, R"({"prompt": 5})", "prompt: expected a text or a list, got number");
  refused(completions, R"({"prompt": [257]})", "prompt: expected token ids from 0 to 256");
  refused(completions, R"({"prompt": [[1], ["a"]]})", "prompt: expected token ids");
  refused(completions, R"({"prompt": "a", "temperature": -1})", "temperature: expected a number");
  refused(completions, R"({"prompt": "a", "temperature": 1e400})", "");
  refused(completions, R"({"prompt": "a", "top_p": "x"})", "top_p: expected a number from 0 to 1");
  refused(completions, R"({"prompt": "a", "n": 1.5})", "n: expected a whole number");
  refused(completions, R"({"prompt": ["a", "b"], "n": 100})", "n: expected at most 128 choices");
  refused(completions, R"({"prompt": "a", "max_tokens": -2})", "max_tokens: expected");
  refused(completions, R"({"prompt": "a", "top_k": -2})", "top_k: expected a whole number from -1");
  refused(completions, R"({"prompt": "a", "stop": [""]})", "stop: expected texts");
  refused(completions, Json{{"prompt", "a"}, {"stop", std::string(5000, 'x')}}.dump(),
          "stop: expected texts of 1 to 4096 bytes, got 5000");
  refused(completions, R"({"prompt": "a", "n": 128, "max_tokens": 256, "logprobs": 20})",
          "logprobs: expected at most 500000 log-probabilities in an answer, got a request for");
  refused(completions, R"({"prompt": "a", "logit_bias": {"x": 1}})", "logit_bias: expected token");
  refused(completions, R"({"prompt": "a", "logit_bias": {"1": 101}})", "from -100 to 100");
  for (const char* id : {"01", "-0", "-1", "+1", " 1", "1 ", "1.0", "", "257", "99999999999"}) {
    refused(completions, Json{{"prompt", "a"}, {"logit_bias", {{id, 1}}}}.dump(),
            "logit_bias: expected token ids from 0 to 256, got '" + std::string(id) + "'");
  }
  Json biases = Json::object();
  for (int i = 0; i < 20'000; ++i) {
    biases.add(std::to_string(i), 1);
  }
  refused(completions, Json{{"prompt", "a"}, {"logit_bias", biases}}.dump(),
          "logit_bias: expected at most 16384 tokens, got 20000");
  refused(completions, R"({"prompt": "a", "best_of": 3})", "best_of");
  refused(completions, R"({"prompt": "a", "temperatur": 1})", "did you mean 'temperature'?");
  refused(completions, R"({"prompt": "a", "stream_options": {}})", "stream_options");
  refused("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "a"}]})",
          "no chat template");
  refused("/tokenize", R"({"content": 1})", "content: expected a text");
  refused("/detokenize", R"({"tokens": [1, 1000]})", "tokens: expected token ids");
  const HttpClient::Answer unknown =
      server.post(completions, R"({"model": "livley", "prompt": "a"})");
  CHECK(unknown.status == 404);
  CHECK(contains(error_message(unknown), "did you mean 'lively'?"));
  CHECK(error_message(server.post("/v2", "{}")) ==
        "unknown path '/v2'; headlight serve --help lists the API");
}

TEST_CASE("connections beyond the limit are closed", "[serve]") {
  serve::HttpOptions options{.port = 0};
  options.limits.connections = 3;
  options.handler = [](const serve::HttpRequest&,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    exchange->send({.body = "here"});
  };
  serve::HttpServer server(options);
  std::thread thread([&] { server.run(); });
  {
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<HttpClient>(server.port()));
      CHECK(clients.back()->get("/").body == "here");
    }
    CHECK(HttpClient(server.port()).get("/").status == 0);
    clients.pop_back();
    while (server.connections() > 2) {
      std::this_thread::yield();
    }
    CHECK(HttpClient(server.port()).get("/").body == "here");
  }
  server.close(0);
  thread.join();
}

TEST_CASE("connections of slow and silent clients are closed", "[serve]") {
  serve::HttpOptions options{.port = 0};
  options.limits.seconds = 1;
  serve::HttpServer server(options);
  std::thread thread([&] { server.run(); });
  HttpClient silent(server.port());
  HttpClient slow_head(server.port());
  slow_head.send("GET / HT");
  HttpClient slow_body(server.port());
  HttpClient dripping(server.port());
  std::thread drips([&] {
    for (int i = 0; i < 1000 && dripping.send("G"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  slow_body.send(request_head("POST", "/", 10) + "abc");
  CHECK(silent.receive().status == 0);
  CHECK(slow_head.receive().status == 0);
  CHECK(slow_body.receive().status == 0);
  drips.join();
  CHECK(!dripping.send("G"));
  while (server.connections() > 0) {
    std::this_thread::yield();
  }
  server.close(0);
  thread.join();
}

TEST_CASE("an abandoned answer is distinguished from a finished one", "[serve]") {
  serve::HttpOptions options{.port = 0};
  options.handler = [](const serve::HttpRequest& request,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    if (request.path == "/stream") {
      exchange->begin({.body = "some"});
    }
  };
  serve::HttpServer server(options);
  std::thread thread([&] { server.run(); });
  CHECK(HttpClient(server.port()).get("/").status == 500);
  HttpClient client(server.port());
  client.send(request_head("GET", "/stream", 0));
  std::string all;
  for (std::string more = client.receive_some(); !more.empty(); more = client.receive_some()) {
    all += more;
  }
  CHECK(all.ends_with("4\r\nsome\r\n"));
  server.close(0);
  thread.join();
}

TEST_CASE("a delayed answer does not block other requests and its client may disconnect",
          "[serve]") {
  std::vector<std::string> lines;
  serve::HttpOptions options{.port = 0};
  options.log = [&](const std::string& line) { lines.push_back(line); };
  options.handler = [](const serve::HttpRequest& request,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    exchange->send({.body = "here", .seconds_held_back = request.path == "/late" ? 1 : 0});
  };
  serve::HttpServer server(options);
  std::thread thread([&] { server.run(); });
  HttpClient late(server.port());
  {
    HttpClient leaving(server.port());
    leaving.send(request_head("GET", "/late", 0));
    late.send(request_head("GET", "/late", 0));
    CHECK(HttpClient(server.port()).get("/").body == "here");
  }
  CHECK(late.receive().body == "here");
  CHECK(late.get("/").body == "here");
  server.close(0);
  thread.join();
  REQUIRE(!lines.empty());
  CHECK(lines.front().starts_with("GET / 200"));
}

using Exchange = std::shared_ptr<serve::HttpExchange>;

// Server whose requests wait until the test answers them. It ends with the test.
class WaitingServer {
 public:
  explicit WaitingServer(Index all_unsent_bytes,
                         std::chrono::milliseconds silence = std::chrono::seconds(60))
      : server_(options(all_unsent_bytes, silence)), thread_([this] { server_.run(); }) {}
  ~WaitingServer() {
    server_.close(0);
    thread_.join();
  }
  WaitingServer(const WaitingServer&) = delete;
  WaitingServer& operator=(const WaitingServer&) = delete;

  Index port() const { return server_.port(); }
  // Waits for the server's next request and returns its exchange, which the test must answer.
  Exchange next() { return promises_[taken_++].get_future().get(); }

 private:
  serve::HttpOptions options(Index all_unsent_bytes, std::chrono::milliseconds silence) {
    serve::HttpOptions options{.port = 0};
    options.limits.all_unsent_bytes = all_unsent_bytes;
    options.limits.silence = silence;
    options.handler = [this](const serve::HttpRequest&, const Exchange& exchange) {
      promises_[come_++].set_value(exchange);
    };
    return options;
  }

  std::array<std::promise<Exchange>, 3> promises_;
  std::size_t come_ = 0;
  std::size_t taken_ = 0;
  serve::HttpServer server_;
  std::thread thread_;
};

TEST_CASE("an answer is refused when answers waiting for their clients exceed a memory limit",
          "[serve]") {
  WaitingServer server(32 << 20);
  const std::string request = request_head("GET", "/", 0);
  HttpClient deaf(server.port());
  deaf.send(request);
  server.next()->send({.body = std::string(24 << 20, 'x')});
  HttpClient late(server.port());
  late.send(request);
  server.next()->send({.body = std::string(24 << 20, 'x')});
  CHECK(late.receive().status == 503);
  CHECK(deaf.receive().body.size() == 24 << 20);
}

TEST_CASE("clients that leave or do not read or send too far ahead are disconnected", "[serve]") {
  WaitingServer server(16 << 20);
  const std::string request = request_head("GET", "/", 0);
  HttpClient deaf(server.port());
  deaf.send(request);
  Exchange exchange = server.next();
  exchange->begin({});
  while (!exchange->disconnected()) {
    exchange->write(std::string(1 << 20, 'x'));
    std::this_thread::yield();
  }
  HttpClient hasty(server.port());
  hasty.send(request);
  exchange = server.next();
  hasty.send(std::string(1 << 20, 'G'));
  CHECK(hasty.receive().status == 0);
  CHECK(exchange->disconnected());
  HttpClient leaving(server.port());
  leaving.send(request + request);
  exchange = server.next();
  leaving.close();
  while (!exchange->disconnected()) {
    std::this_thread::yield();
  }
}

TEST_CASE("a stream without news gets comments, and an error after them is an event", "[serve]") {
  WaitingServer server(1 << 20, std::chrono::milliseconds(20));
  const serve::HttpResponse head{.headers = {{"Content-Type", "text/event-stream"}}};
  HttpClient client(server.port());
  const auto ask = [&] {
    client.send(request_head("GET", "/", 0));
    Exchange exchange = server.next();
    exchange->await_stream(head, ": waiting\n\n");
    return exchange;
  };
  const auto comment_of = [&] {
    std::string all;
    while (all.find(": waiting") == std::string::npos) {
      all += client.receive_some();
    }
    return all;
  };
  {
    const Exchange exchange = ask();
    CHECK(comment_of().starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
    comment_of();  // again
    exchange->begin({.body = "data: 1\n\n"});
    exchange->end();
  }
  std::string rest;
  while (!rest.ends_with("0\r\n\r\n")) {
    rest += client.receive_some();
  }
  CHECK_THAT(rest, contains_text("data: 1"));
  {
    const Exchange exchange = ask();
    comment_of();
    exchange->send({.status = 503, .body = "whole", .event = "data: failed\n\n"});
  }
  rest.clear();
  while (!rest.ends_with("0\r\n\r\n")) {
    rest += client.receive_some();
  }
  CHECK_THAT(rest, contains_text("data: failed") && !contains_text("whole"));
}

TEST_CASE("an error before any comment keeps its status", "[serve]") {
  WaitingServer server(1 << 20);
  HttpClient client(server.port());
  client.send(request_head("GET", "/", 0));
  {
    const Exchange exchange = server.next();
    exchange->await_stream({}, ": waiting\n\n");
    exchange->send({.status = 503, .body = "whole", .event = "data: failed\n\n"});
  }
  const HttpClient::Answer answer = client.receive();
  CHECK(answer.status == 503);
  CHECK(answer.body == "whole");
}
}  // namespace http_test
