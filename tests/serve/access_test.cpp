#include "serve/http/access.h"
#include "serve/running_server.h"
#include "support/rows.h"
#include "support/test.h"

namespace access_test {
using namespace headlight::serve;

int status(const Access& access, HttpHeaders headers, const std::string& path = "/v1/models",
           const std::string& method = "GET") {
  const Admission admission =
      access.check({.method = method, .path = path, .headers = std::move(headers)});
  return admission.refusal ? admission.refusal->status : 200;
}

constexpr const char* kKey = "0123456789abcdef";

Access access_of(const std::string& name) {
  return name == "hosts"   ? Access({.allowed_hosts = {"Box.EXAMPLE"}}, 8080)
         : name == "pages" ? Access({.allowed_origins = {"https://page.example"}}, 8080)
                           : Access({.api_key = kKey}, 8080, {"/", "/health"});
}

TEST_CASE("requests are admitted by their host, origin and key") {
  check_rows("serve/access.txt", [](const Row& row) {
    HttpHeaders headers;
    std::string method = "GET";
    std::string path = "/v1/models";
    for (const std::string& line : lines_of(row.given)) {
      const std::size_t colon = line.find(':');
      if (line[0] != 'G' && line[0] != 'O') {
        headers.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
      } else {
        method = line.substr(0, line.find(' '));
        path = line.substr(line.find(' ') + 1);
      }
    }
    const bool has_host = !headers.empty() && headers.front().first == "host";
    if (row.group != "hosts" && !has_host) {
      headers.emplace_back("host", "localhost:8080");
    }
    return std::to_string(status(access_of(row.group), headers, path, method));
  });
}

TEST_CASE("only an allowed origin gets CORS headers") {
  const Access access({.allowed_origins = {"https://page.example"}}, 8080);
  const auto shared = [&](const char* origin, const char* method) {
    const Admission admission = access.check(
        {.method = method, .path = "/", .headers = {{"host", "localhost"}, {"origin", origin}}});
    return admission.headers.empty() ? "" : admission.headers[0].second;
  };
  CHECK(shared("https://page.example", "OPTIONS") == "https://page.example");
  const HttpHeaders told =
      access
          .check({.method = "OPTIONS",
                  .path = "/",
                  .headers = {{"host", "localhost"}, {"origin", "https://page.example"}}})
          .headers;
  // OpenAI's browser client sends many headers, and * excludes Authorization.
  CHECK(std::count(told.begin(), told.end(),
                   HttpHeaders::value_type{"Access-Control-Allow-Headers",
                                           "Authorization, Content-Type, *"}) == 1);
  CHECK(shared("http://localhost", "GET").empty());
}

TEST_CASE("invalid allowed origins and those that match every page are refused at the start") {
  const auto allowing = [](const char* origin) {
    ServeOptions options{.api_key = kKey, .allowed_origins = {origin}};
    options.validate();
  };
  CHECK_THROWS_WITH(allowing("*"), Catch::Matchers::StartsWith("allow_origin: expected pages by"));
  CHECK_THROWS_WITH(allowing("https://*.example"), contains_text("every web page"));
  for (const char* wrong : {"example.org", "https://", "https://example.org/", "http://a b", ""}) {
    INFO(wrong);
    CHECK_THROWS_WITH(allowing(wrong), contains_text("expected scheme, host and port alone"));
  }
  for (const char* good : {"https://example.org", "http://localhost:3000", "null"}) {
    CHECK_NOTHROW(allowing(good));
  }
}

TEST_CASE("an API key file that others can write is refused") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string file = folder.write("key", kKey);
  const auto asked = [&](fs::perms perms) {
    fs::permissions(file, perms);
    return test::refusal(words("serve", folder.at("no_model"), "--port 0 --api_key_file", file));
  };
  const fs::perms own = fs::perms::owner_read | fs::perms::owner_write;
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    CHECK(asked(own | others) ==
          "error: --api_key_file: expected a file that only its owner can write, got " + file +
              ", which others can also write; run chmod go-w " + file);
  }
  CHECK(contains(asked(own | fs::perms::group_read), "no_model"));
}

TEST_CASE("a session cookie stands for the API key") {
  const Access access = access_of("key");
  const auto with = [&](const std::string& value) {
    return status(access, {{"host", "localhost"}, {"cookie", value}});
  };
  const std::string cookie = access.session_cookie();
  CHECK(contains(cookie, "; HttpOnly; SameSite=Strict; Path=/"));
  const std::string pair = cookie.substr(0, cookie.find(';'));
  CHECK(with(pair) == 200);
  CHECK(with("a=b; " + pair + "; c=d") == 200);
  CHECK(with("headlight_8081=" + pair.substr(pair.find('=') + 1)) == 401);
}

TEST_CASE("a wrong API key delays the answer and a missing one does not") {
  const Access access({.api_key = kKey}, 8080);
  const auto held_back = [&](HttpHeaders headers) {
    headers.emplace_back("host", "localhost");
    const Admission admission =
        access.check({.method = "GET", .path = "/v1/models", .headers = std::move(headers)});
    REQUIRE(admission.refusal);
    return admission.refusal->seconds_held_back;
  };
  CHECK(held_back({}) == 0);
  CHECK(held_back({{"authorization", "Bearer 0123456789abcdeF"}}) == 1);
}

TEST_CASE("the page exchanges the API key for a cookie") {
  ServeOptions options{.api_key = kKey};
  const test::RunningServer server(options);
  CHECK(server.get("/").status == 200);
  CHECK(server.get("/v1/models").status == 401);
  CHECK(server.post("/api/login", R"({"key": "0123456789abcdeg"})").status == 401);
  const HttpClient::Answer good = server.post("/api/login", Json{{"key", kKey}}.dump());
  REQUIRE(good.status == 200);
  const std::string cookie = good.headers.at("set-cookie");
  HttpClient client(server.port());
  client.send(request_head("GET", "/v1/models", 0,
                           "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n"));
  const HttpClient::Answer answer = client.receive();
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("content-security-policy").starts_with("default-src 'none'"));
  CHECK(answer.headers.count("access-control-allow-origin") == 0);
}

TEST_CASE("a host address reachable by others requires an API key") {
  ServeOptions options{.host = "0.0.0.0"};
  CHECK_THROWS_WITH(options.validate(), contains_text("--host 0.0.0.0"));
  options.api_key = "short";
  CHECK_THROWS_WITH(options.validate(), contains_text("at least 16"));
  options.api_key = kKey;
  CHECK_NOTHROW(options.validate());
}
}  // namespace access_test
