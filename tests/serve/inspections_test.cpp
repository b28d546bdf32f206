#include "headlight/interpret/lens/lens.h"
#include "serve/running_server.h"
#include "support/test.h"

TEST_CASE("embeddings are mean hidden states of length 1 as numbers or base64") {
  const RunningServer server;
  const ServedModel served = lively_served();
  const auto vectors_of = [&](const Json& input, const std::string& format) {
    return server.asked("/v1/embeddings", {{"input", input}, {"encoding_format", format}});
  };
  const Json one = vectors_of("abc", "float");
  CHECK(one["usage"]["prompt_tokens"].integer() == 3);
  const Tensor sums =
      sum(served.loaded.model->hidden(make_batch({{'a', 'b', 'c'}})), {.axes = {0}});  // [16]
  const Json& vector = one["data"][0]["embedding"];
  REQUIRE(vector.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(vector[i].number() == Approx(sums.to_vector()[i] / norm(sums)).margin(1e-5));
  }
  const std::string base64 = vectors_of("abc", "base64")["data"].front()["embedding"].text();
  CHECK(base64.size() == 88);  // 64 bytes
  CHECK(base64.ends_with("=="));
}

TEST_CASE("analysis requests do not change texts generated at the same time") {
  const RunningServer server({}, lively_served(2048));
  const Json request{{"prompt", "x"}, {"max_tokens", 600}, {"seed", 4}, {"ignore_eos", true}};
  const std::string alone = server.asked("/v1/completions", request).value("choices", {}).dump();
  std::string beside;
  std::thread client([&] { beside = server.asked("/v1/completions", request)["choices"].dump(); });
  for (int i = 0; i < 10; ++i) {
    server.asked("/api/lens", {{"text", "abcabc"}, {"intervene", "off 0.0, mlp.1"}});
    server.asked("/api/patch", {{"clean", "abca"},
                                {"corrupt", "abda"},
                                {"answer", "x"},
                                {"wrong", "y"},
                                {"intervene", "off 1.1"}});
  }
  client.join();
  CHECK(beside == alone);
}

TEST_CASE("/api/predict gives the mean loss of its tokens and the chosen answers") {
  const RunningServer server;
  const Json plain = server.asked("/api/predict", {{"text", "abcabc"}, {"top_k", 1}})["before"];
  double sum = 0;
  for (std::size_t i = 1; i < 6; ++i) {
    sum -= plain["logprobs"][i].number();
  }
  CHECK(std::abs(sum / 5 - plain["loss"].number()) < 1e-9);
  const Json& likeliest = plain["next"][0];
  const Json asked = server.asked(
      "/api/predict",
      {{"text", "abcabc"}, {"answer", likeliest["id"]}, {"wrong", "x"}})["before"]["asked"];
  REQUIRE(asked.size() == 2);
  CHECK(std::abs(std::exp(asked[0].number()) - likeliest["probability"].number()) < 1e-9);
  CHECK(asked[1].number() < asked[0].number());
}

TEST_CASE("short requests are answered while a long job runs") {
  const RunningServer server;
  const std::string path = GENERATE("/api/scores", "/api/patch");
  // A long job: 16,000 sequences of one token, or a cell for every head and position. The next
  // requests come while the job runs.
  const std::string letters(200, 'a');
  const Json scores{{"text", std::string(16'000, 'a')}, {"sequence_tokens", 1}, {"stream", true}};
  const Json pair{
      {"clean", "b" + letters}, {"corrupt", "c" + letters}, {"answer", "x"}, {"wrong", "y"}};
  const Json patch{{"pairs", {pair, pair}}, {"by", "head,position"}, {"stream", true}};
  const std::string body = (path == "/api/scores" ? scores : patch).dump();
  HttpClient client(server.port());
  client.send(post_request(path, body));
  CHECK(client.receive_some().starts_with("HTTP/1.1 200"));
  CHECK(server.asked("/api/predict", {{"text", "abc"}})["tokens"].size() == 3);
  CHECK(server.asked("/v1/completions", {{"prompt", "x"}, {"max_tokens", 3}}).is_object());
  CHECK(server.metric("headlight_jobs") == 1);
  // The job ends when its client goes.
  client.close();
  server.wait_for("headlight_jobs", 0, 0);
}
