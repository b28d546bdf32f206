#include <future>

#include "serve/http/http.h"
#include "serve/running_server.h"
#include "support/programs/session.h"
#include "support/rows.h"
#include "support/test.h"

int status_of(const RunningServer& server, const std::string& bytes) {
  HttpClient client(server.port());
  client.send(bytes);
  return client.receive().status;
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
    static const std::vector<std::string> kHeaders =
        lines_of(file_contents(HEADLIGHT_SOURCE_DIR "/tests/serve/hostile_headers.txt"));
    return pick({pick(kHeaders), pick(kHeaders), noise(60), std::string(200, 'a') + ": b"}) +
           pick({"\r\n", "\r\n", "\n", "\r"});
  }
  std::string body() {
    return pick({"", "{}", "{\"prompt\":", "{\"prompt\":\"x\",\"max_tokens\":1e400}",
                 "{\"prompt\":[[1,2],[-3]]}", "{\"prompt\":\"\\ud800\"}", "0\r\n\r\n",
                 "5\r\nabcde\r\nffffffffffffffff\r\n", std::string(300, '['), noise(80)});
  }

  std::mt19937 random_{20};
};

TEST_CASE("one connection carries many requests") {
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

// Returns "closed" if a request with these headers is refused, and the one behind it not read.
std::string answer_to_headers(const RunningServer& server, const Row& row) {
  HttpClient client(server.port());
  client.send("POST " + row.group + " HTTP/1.1\r\nHost: localhost\r\n" + unescaped(row.given) +
              "\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const int first = client.receive().status;
  return first >= 400 && client.receive().status == 0 ? "closed" : "open";
}

TEST_CASE("every form of an HTTP request is answered or refused") {
  const RunningServer server;
  check_rows("serve/http_requests.txt", [&](const Row& row) {
    if (!row.group.empty()) {
      return answer_to_headers(server, row);
    }
    HttpClient client(server.port());
    client.send(unescaped(row.given));
    const HttpClient::Answer answer = client.receive();
    const bool shows_body = row.expected.find('{') != std::string::npos;
    return std::to_string(answer.status) +
           (answer.status == 405 ? " " + answer.headers.at("allow") : "") +
           (shows_body ? " " + answer.body : "");
  });
  CHECK(status_of(server, "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') +
                              "\r\n\r\n") == 431);
}

TEST_CASE("one empty line may come before a request, also in two parts") {
  const RunningServer server;
  HttpClient client(server.port());
  client.send("\r\n\r\n" + request_head("GET", "/health", 0) + "\r\n");
  CHECK(client.receive().status == 200);
  client.send("\r");
  client.send("\n" + request_head("GET", "/health", 0));
  CHECK(client.receive().status == 200);
  client.send("\n" + request_head("GET", "/health", 0));
  CHECK(client.receive().status == 400);
}

TEST_CASE("bodies in chunks are read in any pieces up to the limit") {
  const RunningServer server;
  const std::string head =
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: Chunked\r\n\r\n";
  HttpClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send(head + "B;note=1\r\n{\"content\":\r\n5\r\n \"ab\"\r\n");
    client.send("1\r\n}\r\n0\r\nTrailer: x\r\n\r\n");
    CHECK(client.receive().body == R"({"tokens":[97,98]})");
  }
  client.send(head);
  const std::string chunk = "11170\r\n" + std::string(70'000, 'x') + "\r\n";
  for (int i = 0; i < 16 && client.send(chunk); ++i) {
  }
  CHECK(client.receive().status == 413);
}

TEST_CASE("every request is logged in one line without its query and headers") {
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

TEST_CASE("the server works after 10000 hostile requests") {
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

// HttpServer on a free port, with its own thread.
class RunningHttp : public serve::HttpServer {
 public:
  explicit RunningHttp(const serve::HttpOptions& options)
      : HttpServer(options), thread_([this] { run(); }) {}
  ~RunningHttp() { stop(); }
  RunningHttp(const RunningHttp&) = delete;
  RunningHttp& operator=(const RunningHttp&) = delete;

  void stop() {
    close(0);
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  void wait_for_connections(Index most) {
    while (connections() > most) {
      std::this_thread::yield();
    }
  }

 private:
  std::thread thread_;
};

TEST_CASE("connections beyond the limit are closed") {
  serve::HttpOptions options{.port = 0};
  options.limits.connections = 3;
  options.handler = [](const serve::HttpRequest&,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    exchange->send({.body = "here"});
  };
  RunningHttp server(options);
  {
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<HttpClient>(server.port()));
      CHECK(clients.back()->get("/").body == "here");
    }
    CHECK(HttpClient(server.port()).get("/").status == 0);
    clients.pop_back();
    server.wait_for_connections(2);
    CHECK(HttpClient(server.port()).get("/").body == "here");
  }
}

TEST_CASE("connections of slow and silent clients are closed") {
  serve::HttpOptions options{.port = 0};
  options.limits.seconds = 1;
  RunningHttp server(options);
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
  server.wait_for_connections(0);
}

TEST_CASE("an abandoned answer is distinguished from a finished one") {
  serve::HttpOptions options{.port = 0};
  options.handler = [](const serve::HttpRequest& request,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    if (request.path == "/stream") {
      exchange->begin({.body = "some"});
    }
  };
  RunningHttp server(options);
  CHECK(HttpClient(server.port()).get("/").status == 500);
  HttpClient client(server.port());
  client.send(request_head("GET", "/stream", 0));
  std::string all;
  for (std::string more = client.receive_some(); !more.empty(); more = client.receive_some()) {
    all += more;
  }
  CHECK(all.ends_with("4\r\nsome\r\n"));
}

TEST_CASE("a delayed answer does not block other requests and its client may disconnect") {
  std::vector<std::string> lines;
  serve::HttpOptions options{.port = 0};
  options.log = [&](const std::string& line) { lines.push_back(line); };
  options.handler = [](const serve::HttpRequest& request,
                       const std::shared_ptr<serve::HttpExchange>& exchange) {
    exchange->send({.body = "here", .seconds_held_back = request.path == "/late" ? 1 : 0});
  };
  RunningHttp server(options);
  HttpClient late(server.port());
  {
    HttpClient leaving(server.port());
    leaving.send(request_head("GET", "/late", 0));
    late.send(request_head("GET", "/late", 0));
    CHECK(HttpClient(server.port()).get("/").body == "here");
  }
  CHECK(late.receive().body == "here");
  CHECK(late.get("/").body == "here");
  server.stop();
  REQUIRE(!lines.empty());
  CHECK(lines.front().starts_with("GET / 200"));
}

using Exchange = std::shared_ptr<serve::HttpExchange>;

// Server whose requests wait until the test answers them. It ends with the test.
class WaitingServer {
 public:
  explicit WaitingServer(Index all_unsent_bytes,
                         std::chrono::milliseconds silence = std::chrono::seconds(60))
      : server_(options(all_unsent_bytes, silence)) {}

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
  RunningHttp server_;
};

TEST_CASE("an answer is refused when answers waiting for their clients exceed a memory limit") {
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

TEST_CASE("clients that leave or do not read or send too far ahead are disconnected") {
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

TEST_CASE("a stream without news gets comments, and an error after them is an event") {
  WaitingServer server(1 << 20, std::chrono::milliseconds(20));
  const serve::HttpResponse head{.headers = {{"Content-Type", "text/event-stream"}}};
  HttpClient client(server.port());
  const auto ask = [&] {
    client.send(request_head("GET", "/", 0));
    Exchange exchange = server.next();
    exchange->await_stream(head, ": waiting\n\n");
    return exchange;
  };
  const auto read_until = [&](const std::string& end) {
    std::string all;
    while (!contains(all, end)) {
      all += client.receive_some();
    }
    return all;
  };
  {
    const Exchange exchange = ask();
    CHECK(
        read_until(": waiting").starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
    read_until(": waiting");  // again
    exchange->begin({.body = "data: 1\n\n"});
    exchange->end();
  }
  CHECK_THAT(read_until("0\r\n\r\n"), contains_text("data: 1"));
  {
    const Exchange exchange = ask();
    read_until(": waiting");
    exchange->send({.status = 503, .body = "whole", .event = "data: failed\n\n"});
  }
  CHECK_THAT(read_until("0\r\n\r\n"), contains_text("data: failed") && !contains_text("whole"));
}

TEST_CASE("an error before any comment keeps its status") {
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
