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

// Returns the text of `headlight generate --intervene`.
std::string generated(const std::string& changes) {
  const ServedModel served = lively_served();
  served.loaded.model->attach(std::make_shared<Interventions>(
      *served.loaded.model, parse_changes(changes),
      Interventions::Options{.tokenizer = served.loaded.tokenizer.get(), .scores = {}}));
  GenerateOptions options{.max_new_tokens = 40};
  options.sampling = {.top_k = 30, .seed = 11};
  return generate(*served.loaded.model, *served.loaded.tokenizer, "Once upon", options).text;
}

TEST_CASE("a request with interventions gives the same text as generate with them", "[serve]") {
  const RunningServer server;
  const std::string plain = text_of(server, request_with(""));
  CHECK(text_of(server, request_with(kChanges)) == generated(kChanges));
  CHECK(text_of(server, request_with("off 0.0")) == generated("off 0.0"));
  CHECK(generated(kChanges) != plain);
  CHECK(generated("off 0.0") != plain);
  CHECK(text_of(server, request_with("")) == plain);
}

TEST_CASE("interventions of a request affect no other text and share no cached prompt", "[serve]") {
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
  std::vector<std::string> alone;
  for (const std::string& changes : all) {
    alone.push_back(choices(changes));
  }
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

TEST_CASE("echo with log-probabilities scores the prompt with the interventions", "[serve]") {
  const RunningServer server;
  const Json changed = server.asked("/v1/completions", {{"prompt", "abcabc"},
                                                        {"max_tokens", 0},
                                                        {"echo", true},
                                                        {"logprobs", 1},
                                                        {"intervene", "off 0.1"}});
  const Json told =
      server.asked("/api/predict", {{"text", "abcabc"}, {"intervene", "off 0.1"}})["after"];
  const Json& values = changed["choices"][0]["logprobs"]["token_logprobs"];
  for (std::size_t i = 1; i < 6; ++i) {
    CHECK(std::abs(values[i].number() - told["logprobs"][i].number()) < 1e-4);
  }
}

TEST_CASE("too many interventions of a request are refused, and a class of heads is not",
          "[serve]") {
  const RunningServer server;
  const auto refusal = [&](Json request) {
    const HttpClient::Answer answer = server.post("/v1/completions", request.dump());
    CHECK(answer.status == 400);
    return answer.body;
  };
  std::string many = "off 0.1";
  for (int i = 0; i < 256; ++i) {
    many += ";off 0.1";
  }
  CHECK(contains(refusal(request_with(many)), "at most 256 changes"));
  const std::string text(9000, 'x');
  CHECK(contains(
      refusal(request_with("mean 0.1 from \"" + text + "\"; mean 0.0 from \"" + text + "\"")),
      "texts of at most 16384 tokens together, got 18000"));
  CHECK(contains(refusal(request_with("off " + std::string(70'000, ' '))), "at most 65536 bytes"));
  std::string distinct = "off mlp_post.0.0";
  for (int neuron = 1; neuron <= 1'024; ++neuron) {
    distinct += ",mlp_post.0." + std::to_string(neuron);
  }
  CHECK(contains(refusal(request_with(distinct)), "at most 1024 targets in all, got 1025"));
  Json by_class = request_with("off induction");
  by_class["classes"] = {{"0.1", "induction"}};
  CHECK(text_of(server, by_class) == text_of(server, request_with("off 0.1")));
}
}  // namespace changes_test
