#include <cmath>

#include "headlight/heads/lens.h"
#include "serve/running_server.h"
#include "support/catch.h"

using namespace headlight;
using namespace headlight::test;

TEST_CASE("/api/ablate tells what a text loses without a head", "[serve]") {
  const RunningServer server;
  const Json answer =
      server.asked("/api/ablate", {{"text", "abcabc"}, {"intervene", "off 0.1"}, {"top_k", 3}});
  CHECK(answer["tokens"].size() == 6);
  CHECK(answer["before"]["logprobs"][0].is_null());
  CHECK(answer["before"]["next"].size() == 3);
  CHECK(answer["before"]["loss"].number() != answer["after"]["loss"].number());
  const Json same = server.asked("/api/ablate", {{"text", "abcabc"}});
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
  CHECK(server.asked("/api/scores", {{"text", "abcabcabc"}, {"repeats", 1}})["heads"].size() == 4);
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

TEST_CASE("questions change nothing for the texts beside them", "[serve]") {
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

TEST_CASE("no question names a file", "[serve]") {
  const RunningServer server;
  for (const char* change :
       {"mean 0.1 from /etc/passwd", "add resid_post.0 /tmp/a.npz:v", "freeze 0.1 from book.txt"}) {
    const HttpClient::Answer answer =
        server.post("/api/ablate", Json{{"text", "abc"}, {"intervene", change}}.dump());
    CHECK(answer.status == 400);
    CHECK(answer.body.find("requests name no files") != std::string::npos);
  }
  CHECK(server.asked("/api/ablate", {{"text", "abc"}, {"intervene", "mean 0.1 from \"a text\""}})
            .is_object());
}

TEST_CASE("classes of heads come from the request", "[serve]") {
  const RunningServer server;
  const Json by_class = server.asked(
      "/api/ablate",
      {{"text", "abcabc"}, {"intervene", "off induction"}, {"classes", {{"1.0", "induction"}}}});
  const Json by_name = server.asked("/api/ablate", {{"text", "abcabc"}, {"intervene", "off 1.0"}});
  CHECK(by_class["after"] == by_name["after"]);
  CHECK(server.post("/api/ablate", R"({"text": "abc", "intervene": "off induction"})").status ==
        400);
}
