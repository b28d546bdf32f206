#include <future>

#include "serve/running_server.h"
#include "support/test.h"

TEST_CASE("while models are loaded the page works and models get a 503") {
  std::promise<void> has_loaded;
  const auto load = [&] {
    has_loaded.get_future().wait();
    return served_models();
  };
  Server server(load, {.port = 0, .ends_by_signal = false});
  std::thread thread([&] { server.run(); });
  HttpClient client(static_cast<long>(server.port()));
  const std::string body = R"({"prompt": "a", "max_tokens": 2})";
  for (const HttpClient::Answer& answer :
       {client.get("/health"), client.get("/v1/models"), client.get("/metrics"),
        client.post("/v1/completions", body), client.post("/api/lens", R"({"text": "a"})")}) {
    CHECK(answer.status == 503);
    CHECK(parse_json(answer.body, "answer")["error"]["code"] == "loading");
    CHECK(answer.headers.count("retry-after") == 1);
  }
  for (const char* path : {"/", "/main.js", "/style.css", "/api/runs"}) {
    CHECK(client.get(path).status == 200);
  }
  CHECK(client.get("/v2").status == 404);
  has_loaded.set_value();
  while (client.get("/health").status == 503) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(client.post("/v1/completions", body).status == 200);
  server.stop();
  thread.join();
}

TEST_CASE("an error while models are loaded ends the server") {
  Server server([]() -> std::vector<ServedModel> { fail("no such model"); },
                {.port = 0, .ends_by_signal = false});
  CHECK_THROWS_WITH(server.load(), "no such model");
  Server twice(
      [] {
        std::vector<ServedModel> models;
        models.push_back(lively_served());
        models.push_back(lively_served());
        return models;
      },
      {.port = 0, .ends_by_signal = false});
  CHECK_THROWS_WITH(twice.run(), contains_text("expected a different name"));
}

TEST_CASE("the caches of a draft model count as memory and are limited") {
  std::vector<ServedModel> large;
  large.push_back(lively_served());
  large.back().draft_room = std::make_shared<DraftRoom>(1e15);
  CHECK_THROWS_WITH(Server(std::move(large), {.port = 0, .ends_by_signal = false}),
                    contains_text("keys and values do not fit in memory"));

  std::vector<ServedModel> models = served_models();
  const auto room = models.back().draft_room = std::make_shared<DraftRoom>(4.0);
  const Server server(std::move(models),
                      {.port = 0, .context_tokens = 512, .ends_by_signal = false});
  CHECK(room->take(512));
  CHECK_FALSE(room->take(1));
}

TEST_CASE("a server that is loaded but never run ends") {
  Server server([] { return served_models(); }, {.port = 0, .ends_by_signal = false});
  server.load();
  CHECK(HttpClient(static_cast<long>(server.port())).get("/health").status == 200);
}
