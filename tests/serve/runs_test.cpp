#include "serve/running_server.h"
#include "support/test.h"

// Streams of training runs at /api/watch.

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

  TemporaryFolder folder;
  ServeOptions options;
};

// Reads a stream up to the next event with data.
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

void ask_to_watch(HttpClient& client, const std::string& run = "one") {
  const std::string body = Json{{"runs", {Json(run)}}}.dump();
  client.send(post_request("/api/watch", body));
}

TEST_CASE("runs are folders with a log and their names give access to no other file") {
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

TEST_CASE("watching a run gives its complete lines and then new ones") {
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
  given.append("\n{\"iteration\":1,\"loss\":2.25}\n");  // the cut line is no JSON and left out
  const Json second = next_event(client, rest);
  REQUIRE(second["metrics"].size() == 1);
  CHECK(second["metrics"][0]["iteration"].integer() == 1);
  given.folder.write("runs/one/heads.jsonl", "{\"iteration\":7}\n");
  CHECK(next_event(client, rest)["heads"].size() == 1);
  given.folder.write("runs/one/metrics.jsonl", "{\"iteration\":0,\"loss\":3.0}\n");
  const Json third = next_event(client, rest);
  CHECK(third["reset"].boolean());
  CHECK(third["metrics"][0]["loss"].number() == 3.0);
  REQUIRE(third["heads"].size() == 1);  // log unchanged, but sent again after a reset
  CHECK(third["heads"][0]["iteration"].integer() == 7);
  server.stop();  // ends the stream instead of waiting for the client
  while (!client.receive_some().empty()) {
  }
}

TEST_CASE("no link leads out of the folder of runs") {
  namespace fs = std::filesystem;
  const Runs given;
  const TemporaryFolder other;
  other.write("metrics.jsonl", "{\"secret\":1}\n");
  fs::create_directories(given.folder.at("runs/linked"));
  fs::create_symlink(other.at("metrics.jsonl"), given.folder.at("runs/linked/metrics.jsonl"));
  fs::create_directory_symlink(other.at("."), given.folder.at("runs/outside"));
  fs::create_directory_symlink(given.folder.at("runs/one"), given.folder.at("runs/same"));
  fs::create_symlink(other.at("metrics.jsonl"), given.folder.at("runs/one/heads.jsonl"));
  const RunningServer server(given.options);
  const Json listed = parse_json(server.get("/api/runs").body, "runs")["runs"];
  CHECK(listed.size() == 2);  // "one", and "same", a link to it
  for (const char* name : {"linked", "outside"}) {
    CHECK(server.post("/api/watch", Json{{"runs", {Json(name)}}}.dump()).status == 400);
  }
  HttpClient client(server.port());
  ask_to_watch(client);
  std::string rest;
  const Json first = next_event(client, rest);
  CHECK(first["metrics"].size() == 1);
  CHECK(first["heads"].size() == 0);
}

TEST_CASE("a line that is too long is skipped and later ones are sent") {
  const Runs given;
  given.append("\n{\"long\":\"" + std::string(9 << 20, 'x') + "\"}\n{\"iteration\":5}\n");
  const RunningServer server(given.options);
  HttpClient client(server.port());
  ask_to_watch(client);
  std::string rest;
  const Json before = next_event(client, rest);
  CHECK(before["metrics"][0]["iteration"].integer() == 0);
  const Json behind = next_event(client, rest);
  REQUIRE(behind["metrics"].size() == 1);
  CHECK(behind["metrics"][0]["iteration"].integer() == 5);
}

TEST_CASE("a run whose name is not UTF-8 can be watched") {
  const Runs given;
  std::filesystem::create_directories(given.folder.at("runs/caf\xe9"));
  given.folder.write("runs/caf\xe9/metrics.jsonl", "{\"iteration\":9}\n");
  std::filesystem::remove_all(given.folder.at("runs/one"));
  const RunningServer server(given.options);
  const Json listed = parse_json(server.get("/api/runs").body, "runs")["runs"];
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].text() == "caf\\xe9");
  HttpClient client(server.port());
  ask_to_watch(client, listed[0].text());
  std::string rest;
  const Json first = next_event(client, rest);
  CHECK(first["run"].text() == "caf\\xe9");
  CHECK(first["metrics"][0]["iteration"].integer() == 9);
}
