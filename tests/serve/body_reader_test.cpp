#include <future>

#include "serve/api_error.h"
#include "serve/body_reader.h"
#include "serve/running_server.h"
#include "support/test.h"

using serve::BodyReader;

// Byte tokenizer whose encode() of texts longer than `most` bytes waits for `may_go_on`.
class WaitingTokenizer final : public Tokenizer {
 public:
  WaitingTokenizer(std::atomic<int>& encoded, std::shared_future<void> may_go_on,
                   std::size_t most = 0)
      : Tokenizer(ByteTokenizer().end_of_text()),
        encoded_(encoded),
        may_go_on_(std::move(may_go_on)),
        most_(most) {}

  std::string_view kind() const override { return "byte"; }
  Index vocab_size() const override { return bytes_.vocab_size(); }
  Ids encode_bytes(std::string_view bytes, const EncodeOptions& options) const override {
    ++encoded_;
    if (bytes.size() > most_) {
      may_go_on_.wait();
    }
    return bytes_.encode_bytes(bytes, options);
  }
  std::string token_bytes(std::int32_t id) const override { return bytes_.token_bytes(id); }

 private:
  ByteTokenizer bytes_;
  std::atomic<int>& encoded_;
  std::shared_future<void> may_go_on_;
  std::size_t most_;
};

// Returns why no client can connect; "" if one can.
std::string error_of_connecting(long port) {
  try {
    const HttpClient client(port);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_CASE("bodies are read one after the other and only a limited number may wait") {
  BodyReader reader(2);
  std::promise<void> has_begun;
  std::promise<void> may_end;
  std::vector<int> order;
  std::promise<void> is_over;
  reader.run([&] {
    has_begun.set_value();
    may_end.get_future().wait();
    order.push_back(1);
  });
  has_begun.get_future().wait();
  reader.run([&] {
    order.push_back(2);
    throw std::bad_alloc();
  });
  reader.run([&] {
    order.push_back(3);
    is_over.set_value();
  });
  CHECK_THROWS_AS(reader.run([] {}), serve::ApiError);
  may_end.set_value();
  is_over.get_future().wait();
  CHECK(order == std::vector<int>{1, 2, 3});
  reader.stop();
  CHECK_THROWS_AS(reader.run([] {}), serve::ApiError);
}

TEST_CASE("a text that takes long to tokenize does not block other clients") {
  std::atomic<int> encoded = 0;
  std::promise<void> may_go_on;
  ServedModel served = lively_served();
  served.loaded.tokenizer =
      std::make_unique<WaitingTokenizer>(encoded, may_go_on.get_future().share());
  const RunningServer server({}, std::move(served));
  const std::string path = GENERATE("/v1/completions", "/tokenize", "/api/predict");
  const Json body = path == "/v1/completions" ? Json{{"prompt", "abc"}}
                    : path == "/tokenize"     ? Json{{"content", "abc"}}
                                              : Json{{"text", "abc"}};
  HttpClient::Answer answer;
  std::thread client([&] { answer = server.post(path, body.dump()); });
  while (encoded == 0) {
    std::this_thread::yield();
  }
  const HttpClient::Answer health = server.get("/health");
  may_go_on.set_value();
  client.join();
  CHECK(health.status == 200);
  CHECK(answer.status == 200);
}

TEST_CASE("small bodies do not wait for large ones") {
  std::atomic<int> encoded = 0;
  std::promise<void> may_go_on;
  ServedModel served = lively_served();
  served.loaded.tokenizer =
      std::make_unique<WaitingTokenizer>(encoded, may_go_on.get_future().share(), 1000);
  const RunningServer server({}, std::move(served));
  const auto tokenize = [&](std::size_t bytes) {
    return server.post("/tokenize", Json{{"content", std::string(bytes, 'a')}}.dump());
  };
  HttpClient::Answer answer;
  std::thread client([&] { answer = tokenize(100'000); });
  while (encoded == 0) {
    std::this_thread::yield();
  }
  CHECK(tokenize(3).status == 200);
  may_go_on.set_value();
  client.join();
  CHECK(answer.status == 200);
  CHECK(parse_json(answer.body, "answer")["tokens"].size() == 100'000);
}

TEST_CASE("a body is no longer read when its client goes or the server stops") {
  std::atomic<int> encoded = 0;
  std::promise<void> may_go_on;
  ServedModel served = lively_served();
  served.loaded.tokenizer =
      std::make_unique<WaitingTokenizer>(encoded, may_go_on.get_future().share());
  RunningServer server({.seconds_to_end = 0}, std::move(served));
  // 100 prompts, of which only the first is encoded: the client has gone by then.
  const std::vector<std::string> prompts(100, "abc");
  std::thread client([&] {
    try {
      server.post("/v1/completions", Json{{"prompt", prompts}}.dump());
    } catch (const std::exception&) {  // the server closes the connection
    }
  });
  while (encoded == 0) {
    std::this_thread::yield();
  }
  std::thread stopping([&] { server.stop(); });
  client.join();
  may_go_on.set_value();
  stopping.join();
  CHECK(encoded == 1);
}
