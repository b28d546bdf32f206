#include <cmath>
#include <filesystem>
#include <fstream>

#include "serve/running_server.h"
#include "support/catch.h"
#include "support/program.h"

namespace runs_test {

// Training runs, as a page watches them.
using namespace headlight;
using namespace headlight::test;

namespace {

struct Runs {
  Runs() {
    std::filesystem::create_directories(folder.at("runs/one"));
    std::filesystem::create_directories(folder.at("runs/empty"));
    append(R"({"iteration":0,"loss":2.5})"
           "\n{\"cut");
    folder.write("secret.txt", "x");
    options.runs = folder.at("runs");
  }

  void append(const std::string& text) const {
    std::ofstream(folder.at("runs/one/metrics.jsonl"), std::ios::app) << text;
  }

  ScratchFolder folder;
  ServeOptions options;
};

// Reads a stream until an event with something to tell has come.
Json next_event(HttpClient& client, std::string& rest) {
  while (true) {
    const std::size_t begin = rest.find("data: ");
    const std::size_t end = begin == std::string::npos ? begin : rest.find("\n\n", begin);
    if (end != std::string::npos) {
      const Json event = parse_json(rest.substr(begin + 6, end - begin - 6), "event");
      rest.erase(0, end + 2);
      return event;
    }
    const std::string more = client.receive_some();
    require(!more.empty(), "the stream has ended behind ", rest);
    rest += more;
  }
}

void ask_to_watch(HttpClient& client) {
  const std::string body = R"({"runs": ["one"]})";
  client.send(request_head("POST", "/api/watch", body.size()) + body);
}

}  // namespace

TEST_CASE("runs are folders with a log, and names lead to no other file", "[serve]") {
  const Runs given;
  const RunningServer server(given.options);
  const Json listed = parse_json(server.get("/api/runs").body, "runs");
  REQUIRE(listed["runs"].size() == 1);
  CHECK(listed["runs"][0].text() == "one");
  for (const char* name : {"empty", "..", "../runs/one", "one/../one", "/etc", ""}) {
    INFO(name);
    CHECK(server.post("/api/watch", Json{{"runs", {Json(name)}}}.dump()).status == 400);
  }
  const RunningServer without;
  CHECK(parse_json(without.get("/api/runs").body, "runs")["runs"].size() == 0);
}

TEST_CASE("who watches a run gets its complete lines, and those that come", "[serve]") {
  const Runs given;
  RunningServer server(given.options);
  HttpClient client(server.port());
  ask_to_watch(client);
  std::string rest;
  const Json first = next_event(client, rest);
  CHECK(first["run"].text() == "one");
  REQUIRE(first["metrics"].size() == 1);
  CHECK(first["metrics"][0]["loss"].number() == 2.5);
  CHECK(first["heads"].size() == 0);
  given.append("\n{\"iteration\":1,\"loss\":2.25}\n");  // what was cut is no JSON and left out
  const Json second = next_event(client, rest);
  REQUIRE(second["metrics"].size() == 1);
  CHECK(second["metrics"][0]["iteration"].integer() == 1);
  given.folder.write("runs/one/heads.jsonl", "{\"iteration\":7}\n");
  CHECK(next_event(client, rest)["heads"].size() == 1);
  given.folder.write("runs/one/metrics.jsonl", "{\"iteration\":0,\"loss\":3.0}\n");
  const Json third = next_event(client, rest);
  CHECK(third["reset"].boolean());
  CHECK(third["metrics"][0]["loss"].number() == 3.0);
  REQUIRE(third["heads"].size() ==
          1);  // whose log is as it was: who is told of a reset forgets all
  CHECK(third["heads"][0]["iteration"].integer() == 7);
  server.stop();  // ends the stream instead of waiting for the client
  while (!client.receive_some().empty()) {
  }
}

TEST_CASE("/api/attribute takes a logit apart", "[serve]") {
  const RunningServer server;
  const Json heads = server.asked("/api/attribute", {{"text", "abcabc"}, {"target", "a"}});
  CHECK(heads["token"]["id"].integer() == 'a');
  double sum = 0;
  for (const Json& part : heads["parts"]) {
    sum += part["logit"].number();
  }
  CHECK(std::abs(sum - heads["logit"].number()) < 1e-4);
  const Json off = server.asked("/api/attribute",
                                {{"text", "abcabc"}, {"target", "a"}, {"intervene", "off 0.1"}});
  CHECK(off["logit"].number() != heads["logit"].number());
  const Json sources =
      server.asked("/api/attribute", {{"text", "abcabc"}, {"by", "source"}, {"against", "b"}});
  CHECK(sources["sources"].size() == 6);
  CHECK(server.post("/api/attribute", R"({"text": "abc", "by": "heads"})").status == 400);
}

}  // namespace runs_test
