#include "headlight/interpret/interventions/interventions.h"
#include "serve/running_server.h"
#include "support/test.h"

namespace changes_test {
constexpr const char* kChanges =
    "off 0.1; scale mlp.1 0.5; mean 1.0 from \"abcab\"; freeze pattern.1.1 from \"other\"";

Json request_with(const std::string& changes) {
  return {{"prompt", "Once upon"},
          {"max_tokens", 40},
          {"top_k", 30},
          {"seed", 11},
          {"intervene", changes}};
}

std::string text_of(const RunningServer& server, const Json& request) {
  return server.asked("/v1/completions", request)["choices"].front()["text"].text();
}

// Returns the text of `headlight generate`, with --intervene if there are changes.
std::string generated(const std::string& changes) {
  const ServedModel served = lively_served();
  if (!changes.empty()) {
    served.loaded.model->attach(std::make_shared<Interventions>(
        *served.loaded.model, parse_changes(changes),
        Interventions::Options{.tokenizer = served.loaded.tokenizer.get(), .scores = {}}));
  }
  GenerateOptions options{.max_new_tokens = 40};
  options.sampling = {.top_k = 30, .seed = 11};
  return generate(*served.loaded.model, *served.loaded.tokenizer, "Once upon", options).text;
}

TEST_CASE("a request gives the same text as generate, also with interventions") {
  const RunningServer server;
  const std::string plain = text_of(server, request_with(""));
  CHECK(plain == generated(""));
  CHECK(text_of(server, request_with(kChanges)) == generated(kChanges));
  CHECK(text_of(server, request_with("off 0.0")) == generated("off 0.0"));
  CHECK(generated(kChanges) != plain);
  CHECK(generated("off 0.0") != plain);
  CHECK(text_of(server, request_with("")) == plain);
}

TEST_CASE("interventions of a request affect no other text and share no cached prompt") {
  const RunningServer server;
  Json request = request_with("");
  request["prompt"] = std::string(150, 'x') + "abc";
  request["n"] = 3;
  const auto choices = [&](const std::string& changes) {
    Json one = request;
    one["intervene"] = changes;
    return server.asked("/v1/completions", one)["choices"].dump();
  };
  const std::vector<std::string> all{"", "off 0.1", "", "off 0.1, mlp.1", "scale 1.0 2", "off 0.1"};
  const auto alone =
      mapped<std::string>(all, [&](const std::string& changes) { return choices(changes); });
  CHECK(alone[0] == alone[2]);
  CHECK(alone[1] == alone[5]);
  CHECK(alone[0] != alone[1]);
  std::vector<std::string> together(all.size());
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < all.size(); ++i) {
    clients.emplace_back([&, i] { together[i] = choices(all[i]); });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  CHECK(together == alone);
  request["intervene"] = "off 0.1";
  const Json usage = server.asked("/v1/completions", request)["usage"];
  CHECK(usage["prompt_tokens_details"]["cached_tokens"].integer() == 0);
}
}  // namespace changes_test
