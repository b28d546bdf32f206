#include "headlight/interpret/lens/lens.h"
#include "serve/running_server.h"
#include "support/test.h"

TEST_CASE("/api/predict gives the losses of a text with and without a head", "[serve]") {
  const RunningServer server;
  const Json answer =
      server.asked("/api/predict", {{"text", "abcabc"}, {"intervene", "off 0.1"}, {"top_k", 3}});
  CHECK(answer["tokens"].size() == 6);
  CHECK(answer["before"]["logprobs"][0].is_null());
  CHECK(answer["before"]["next"].size() == 3);
  CHECK(answer["before"]["loss"].number() != answer["after"]["loss"].number());
  const Json same = server.asked("/api/predict", {{"text", "abcabc"}});
  CHECK(same["before"]["loss"] == same["after"]["loss"]);
  CHECK(same["before"]["loss"] == answer["before"]["loss"]);
  double sum = 0;
  for (std::size_t i = 1; i < 6; ++i) {
    sum -= same["before"]["logprobs"][i].number();
  }
  CHECK(std::abs(sum / 5 - same["before"]["loss"].number()) < 1e-9);
}

TEST_CASE("/api/attention, /api/scores, /api/lens and /api/patch answer", "[serve]") {
  const RunningServer server;
  CHECK(server.asked("/api/attention", {{"text", "abc"}}).is_object());
  const Json scores = server.asked("/api/scores", {{"text", "abcabcabc"}, {"repeats", 1}});
  CHECK(scores["heads"].size() == 4);
  CHECK(scores["labels"]["en"]["previous_token"] == "previous token");
  CHECK(scores["labels"]["ko"][scores["heads"][0]["verdict"].text()].is_string());
  const Json lens = server.asked("/api/lens", {{"text", "abc"}, {"top_k", 2}});
  CHECK(lens["rows"].size() >= 2);
  const Json patch = server.asked("/api/patch", {{"clean", "abca"},
                                                 {"corrupt", "abda"},
                                                 {"answer", "x"},
                                                 {"wrong", 121},
                                                 {"by", "head,position"}});
  CHECK(patch["cells"].size() == 4 * 4);
  CHECK(patch["answer"]["id"].integer() == 'x');
}

TEST_CASE("embeddings are mean hidden states of length 1 as numbers or base64", "[serve]") {
  const RunningServer server;
  const ServedModel served = lively_served();
  const auto vectors_of = [&](const Json& input, const std::string& format) {
    return server.asked("/v1/embeddings", {{"input", input}, {"encoding_format", format}});
  };
  const Json one = vectors_of("abc", "float");
  CHECK(one["usage"]["prompt_tokens"].integer() == 3);
  const Tensor hidden = served.loaded.model->hidden(make_batch({{'a', 'b', 'c'}}));  // [3, 16]
  const Json& vector = one["data"][0]["embedding"];
  REQUIRE(vector.size() == 16);
  std::vector<double> sums(16);
  double squares = 0;
  for (Index i = 0; i < 16; ++i) {
    for (Index row = 0; row < 3; ++row) {
      sums[static_cast<std::size_t>(i)] += static_cast<double>(hidden.data<float>()[row * 16 + i]);
    }
    squares += sums[static_cast<std::size_t>(i)] * sums[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(vector[i].number() == Approx(sums[i] / std::sqrt(squares)).margin(1e-5));
  }
  const Json several = vectors_of({{97, 98, 99}, {120}}, "float");
  REQUIRE(several["data"].size() == 2);
  CHECK(several["data"][0]["embedding"] == vector);
  CHECK(several["data"][1]["index"].integer() == 1);
  CHECK(vectors_of({"abc", "x"}, "float")["data"] == several["data"]);
  const std::string base64 = vectors_of("abc", "base64")["data"].front()["embedding"].text();
  CHECK(base64.size() == 88);  // 64 bytes
  CHECK(base64.ends_with("=="));
  const Json info = parse_json(server.get("/tokenizer_info").body, "answer");
  CHECK(info["vocab_size"].integer() == 257);
  CHECK(info["eos_token"] == "<|endoftext|>");
  CHECK(info["chat_template"].is_null());
}

TEST_CASE("analysis requests do not change texts generated at the same time", "[serve]") {
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

TEST_CASE("classes of heads are given in the request", "[serve]") {
  const RunningServer server;
  const Json by_class = server.asked(
      "/api/predict",
      {{"text", "abcabc"}, {"intervene", "off induction"}, {"classes", {{"1.0", "induction"}}}});
  const Json by_name = server.asked("/api/predict", {{"text", "abcabc"}, {"intervene", "off 1.0"}});
  CHECK(by_class["after"] == by_name["after"]);
}

TEST_CASE("/api/predict reports chosen tokens and applies `always` to both compared runs",
          "[serve]") {
  const RunningServer server;
  const Json plain = server.asked("/api/predict", {{"text", "abcabc"}, {"top_k", 1}});
  const Json& likeliest = plain["before"]["next"][0];
  const Json asked = server.asked(
      "/api/predict", {{"text", "abcabc"}, {"answer", likeliest["id"]}, {"wrong", "x"}});
  REQUIRE(asked["before"]["asked"].size() == 2);
  CHECK(std::abs(std::exp(asked["before"]["asked"][0].number()) -
                 likeliest["probability"].number()) < 1e-9);
  CHECK(asked["before"]["asked"][1].number() < asked["before"]["asked"][0].number());
  const Json beside = server.asked(
      "/api/predict", {{"text", "abcabc"}, {"always", "off 0.1"}, {"intervene", "off 1.0"}});
  const Json one = server.asked("/api/predict", {{"text", "abcabc"}, {"intervene", "off 0.1"}});
  const Json both =
      server.asked("/api/predict", {{"text", "abcabc"}, {"intervene", "off 0.1, 1.0"}});
  CHECK(beside["before"] == one["after"]);
  CHECK(beside["after"] == both["after"]);
}

TEST_CASE("an intervention copies a value of one text to another token of a second text",
          "[serve]") {
  const RunningServer server;
  // The next token depends on the last layer's residual stream at the last token alone.
  const Json carried = server.asked(
      "/api/predict", {{"text", "xyzw"}, {"intervene", "freeze resid_post.1 from \"abc\" at 2 @3"}});
  const Json source = server.asked("/api/predict", {{"text", "abc"}});
  CHECK(carried["after"]["next"][0]["id"] == source["before"]["next"][0]["id"]);
  CHECK(std::abs(carried["after"]["next"][0]["probability"].number() -
                 source["before"]["next"][0]["probability"].number()) < 1e-6);
  CHECK(carried["after"]["next"] != carried["before"]["next"]);
}

TEST_CASE("streamed scores report their progress", "[serve]") {
  const RunningServer server;
  const std::string text = std::string(100, 'a') + std::string(300, 'b');  // longer than the block
  Json question{{"text", text}, {"repeats", 2}, {"sequence_tokens", 64}, {"resamples", 20}};
  const Json whole = server.asked("/api/scores", question);
  CHECK(whole["heads"].size() == 4);
  question["stream"] = true;
  const std::vector<Json> events = events_of(server.post("/api/scores", question.dump()).body);
  REQUIRE(events.size() == 7 + 2 + 1);
  for (std::size_t i = 0; i + 2 < events.size(); ++i) {
    CHECK(events[i]["progress"].number() < events[i + 1]["progress"].number());
  }
  CHECK(events[8]["progress"].number() == 1);
  CHECK(events.back() == whole);
}

TEST_CASE("short requests are answered while a long job runs", "[serve]") {
  const RunningServer server;
  const std::string path = GENERATE("/api/scores", "/api/patch");
  // A long job: 16,000 sequences of one token, or a cell for every head and position. The next
  // requests come while the job runs.
  const std::string letters(200, 'a');
  const Json scores{{"text", std::string(16'000, 'a')}, {"sequence_tokens", 1}, {"stream", true}};
  const Json patch{{"clean", letters + "b"},
                   {"corrupt", letters + "c"},
                   {"by", "head,position"},
                   {"stream", true}};
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

TEST_CASE("/api/attribute accepts a text as token ids", "[serve]") {
  const RunningServer server;
  const Json by_text = server.asked("/api/attribute", {{"text", "abc"}, {"answer", 120}});
  const Json by_number = server.asked("/api/attribute", {{"text", {97, 98, 99}}, {"answer", 120}});
  CHECK(by_text["parts"] == by_number["parts"]);
}

TEST_CASE("requests choose how names of special tokens are read and get a warning for plain text",
          "[serve]") {
  const RunningServer server;
  const std::string text = "ab<|endoftext|>c";
  const std::string warning =
      "text: names of special tokens are read as plain text: '<|endoftext|>' (1); "
      "\"special_tokens\": "
      "true reads them as tokens";
  const Json plain = server.asked("/api/predict", {{"text", text}});
  CHECK(plain["tokens"].size() == text.size());
  CHECK(plain["warnings"] == Json::array({warning}));
  const Json read = server.asked("/api/predict", {{"text", text}, {"special_tokens", true}});
  CHECK(read["tokens"].size() == 4);
  CHECK(read["tokens"][2]["id"].integer() == 256);
  CHECK(read.find("warnings") == nullptr);
  CHECK(server.asked("/api/predict", {{"text", "abc"}}).find("warnings") == nullptr);
  CHECK(server.asked("/api/attention", {{"text", text}})["warnings"] == Json::array({warning}));
  const Json events = server.asked("/tokenize", {{"content", text}, {"special_tokens", true}});
  CHECK(events["tokens"].dump() == "[97,98,256,99]");
  // The text of an intervention follows the same rule for names of special tokens.
  const Json changed = server.asked(
      "/api/predict", {{"text", "abc"}, {"intervene", "mean 0.1 from \"a<|endoftext|>\""}});
  CHECK(changed["warnings"].front().text().starts_with("intervene: names of special tokens"));
  CHECK(server.asked("/api/predict", {{"text", "abc"},
                                     {"intervene", "mean 0.1 from \"a<|endoftext|>\""},
                                     {"special_tokens", true}})["after"] != changed["after"]);
}
