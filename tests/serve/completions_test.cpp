#include "headlight/formats/gguf/gguf_model.h"
#include "serve/running_server.h"
#include "support/test.h"

// Returns requests with varied members. Every third one shares its beginning with others.
Json varied_request(Index number) {
  const std::string common(number % 3 == 0 ? 130 : 5, 'x');
  Json request{{"prompt", common + std::to_string(number % 7)},
               {"max_tokens", 5 + number % 11},
               {"seed", number},
               {"temperature", number % 4 == 0 ? 0.0 : 1.0},
               {"n", 1 + number % 3}};
  if (number % 2 == 0) {
    request["logprobs"] = 2;
  }
  if (number % 5 == 0) {
    request["stop"] = {"e", "\n"};
    request["frequency_penalty"] = 0.5;
  }
  request["echo"] = number % 8 == 2;
  return request;
}

Json answered(const RunningServer& server, Json request) {
  return server.asked("/v1/completions", request)["choices"];
}

std::string text_of(const RunningServer& server, Json request) {
  return answered(server, std::move(request)).front()["text"].text();
}

TEST_CASE("32 simultaneous clients get the same bytes as each alone") {
  constexpr Index kClients = 32;
  std::vector<std::string> alone;
  {
    const RunningServer server;
    for (Index i = 0; i < kClients; ++i) {
      alone.push_back(answered(server, varied_request(i)).dump());
    }
  }
  const RunningServer server({.slots = 8});
  std::vector<std::string> together(kClients);
  std::vector<std::thread> clients;
  for (Index i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      together[static_cast<std::size_t>(i)] = answered(server, varied_request(i)).dump();
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  CHECK(together == alone);
  CHECK(server.metric("headlight_prompt_tokens_reused_total") >= 64);
}

TEST_CASE("streamed pieces joined together equal the whole answer") {
  const RunningServer server;
  Json request{{"prompt", {"One", "Two"}},
               {"max_tokens", 30},
               {"n", 2},
               {"seed", 5},
               {"logprobs", 1},
               {"echo", true},
               {"stop", {"\n"}}};
  const Json whole = server.asked("/v1/completions", request);
  request["stream"] = true;
  request["stream_options"] = {{"include_usage", true}};
  const HttpClient::Answer answer = server.post("/v1/completions", request.dump());
  CHECK(answer.headers.at("content-type") == "text/event-stream; charset=utf-8");
  std::vector<std::string> texts(4);
  std::vector<std::string> reasons(4);
  std::vector<Json> tokens(4, Json::array());
  const std::vector<Json> events = events_of(answer.body);
  for (const Json& event : events) {
    for (const Json& choice : event["choices"]) {
      const auto place = static_cast<std::size_t>(choice["index"].integer());
      texts[place] += choice["text"].text();
      if (!choice["finish_reason"].is_null()) {
        reasons[place] = choice["finish_reason"].text();
      }
      if (!choice["logprobs"].is_null()) {
        for (const Json& token : choice["logprobs"]["tokens"]) {
          tokens[place].push_back(token);
        }
      }
    }
  }
  CHECK(events.back()["usage"] == whole["usage"]);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(texts[i] == whole["choices"][i]["text"].text());
    CHECK(reasons[i] == whole["choices"][i]["finish_reason"].text());
    CHECK(tokens[i] == whole["choices"][i]["logprobs"]["tokens"]);
  }
}

TEST_CASE("tokens of a stop text are removed from text and logprobs") {
  const RunningServer server;
  Json request{{"prompt", "ab"}, {"max_tokens", 40}, {"seed", 9}, {"logprobs", 1}};
  // ASCII only: a byte is a token and a character.
  for (int id = 128; id < 257; ++id) {
    request["logit_bias"][std::to_string(id)] = -100;
  }
  const Json whole = answered(server, request).front();
  const std::string text = whole["text"].text();
  REQUIRE(text.size() == 40);
  request["stop"] = {text.substr(20, 4), "never to be found"};
  const std::size_t length = text.find(text.substr(20, 4));
  const Json stopped = answered(server, request).front();
  CHECK(stopped["text"].text() == text.substr(0, length));
  CHECK(stopped["finish_reason"].text() == "stop");
  CHECK(stopped["logprobs"]["tokens"].size() == length);
  request["stream"] = true;
  std::string streamed;
  std::size_t tokens = 0;
  for (const Json& event : events_of(server.post("/v1/completions", request.dump()).body)) {
    const Json& choice = event["choices"][0];
    streamed += choice["text"].text();
    tokens += choice["logprobs"].is_null() ? 0 : choice["logprobs"]["tokens"].size();
  }
  CHECK(streamed == text.substr(0, length));
  CHECK(tokens == length);
}

TEST_CASE("a model file that changes on disk changes nothing") {
  const TemporaryFolder folder;
  const fs::path path = folder / "model.gguf";
  write_gguf_model(path, *lively_model(257, 256), ByteTokenizer());
  const RunningServer server({}, {.name = "lively", .loaded = load_model(path)});
  const Json request{{"prompt", "Once"}, {"max_tokens", 30}, {"seed", 4}};
  const std::string before = text_of(server, request);
  std::ofstream(path, std::ios::trunc) << "nothing";
  CHECK(text_of(server, request) == before);
  fs::remove(path);
  CHECK(text_of(server, request) == before);
}

TEST_CASE("a client that disconnects frees its slot before the next token") {
  // With one slot, a second request that is not short is answered only when the first has lost it.
  const RunningServer server({.slots = 1, .context_tokens = 1 << 20}, lively_served(100'000));
  const Json endless{
      {"prompt", "x"}, {"max_tokens", 90'000}, {"stream", true}, {"ignore_eos", true}};
  for (int i = 0; i < 3; ++i) {
    HttpClient client(server.port());
    client.send(post_request("/v1/completions", endless.dump()));
    CHECK(client.receive_some().starts_with("HTTP/1.1 200"));
    client.close();
    CHECK(text_of(server, {{"prompt", "y"}, {"max_tokens", 17}, {"ignore_eos", true}}).size() > 0);
  }
  // A waiting client that goes frees its place, too.
  HttpClient first(server.port());
  first.send(post_request("/v1/completions", endless.dump()));
  CHECK(!first.receive_some().empty());
  Json waiting = endless;
  waiting["stream"] = false;
  HttpClient second(server.port());
  second.send(post_request("/v1/completions", waiting.dump()));
  server.wait_for("headlight_requests", 2, 2);
  second.close();
  first.close();
  server.wait_for("headlight_requests", 0, 0);
  server.wait_for("headlight_texts", 0, 0);
}

TEST_CASE("requests beyond the queue limit get status 429") {
  const RunningServer server({.slots = 1, .queue = 1, .context_tokens = 1 << 20},
                             lively_served(100'000));
  const std::string endless =
      Json{{"prompt", "x"}, {"max_tokens", 90'000}, {"ignore_eos", true}}.dump();
  HttpClient first(server.port());
  HttpClient second(server.port());
  first.send(post_request("/v1/completions", endless));
  second.send(post_request("/v1/completions", endless));
  server.wait_for("headlight_requests", 2, 2);
  const HttpClient::Answer third = server.post("/v1/completions", endless);
  CHECK(third.status == 429);
  CHECK(third.headers.at("retry-after") == "2");
  CHECK(parse_json(third.body, "answer")["error"]["code"].text() == "queue_full");
}

TEST_CASE("a server that stops finishes the answers it has begun") {
  RunningServer server({}, lively_served(4096));
  HttpClient client(server.port());
  const std::string body =
      Json{{"prompt", "x"}, {"max_tokens", 3000}, {"ignore_eos", true}, {"stream", true}}.dump();
  client.send(post_request("/v1/completions", body));
  std::string all = client.receive_some();
  server.stop();
  for (std::string more = client.receive_some(); !more.empty(); more = client.receive_some()) {
    all += more;
  }
  CHECK(contains(all, "data: [DONE]"));
  CHECK_THROWS(HttpClient(server.port()));
}
