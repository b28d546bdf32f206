#include "support/saved_model.h"
#include "support/test.h"

namespace token_report_test {
// Model with three ids that its tokenizer lacks.
struct Given {
  TemporaryFolder folder;
  CharTokenizer tokenizer = build_char_tokenizer("abcdefgh 하\n");
  std::string model =
      save_model(folder, "model", *lively_model(tokenizer.vocab_size() + 3, 16), tokenizer);
  std::string text = folder.write("text.txt", "abc defgh 하 abc abc\ndefgh abc abc defgh a bc");
};

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

TEST_CASE("eval --per_token --json writes a line for every token and the mean last", "[cli]") {
  const Given given;
  const std::vector<json> lines =
      lines_of(output_of({"eval", given.model, "--data", given.text, "--per_token", "--json"}));
  const json plain = report_of({"eval", given.model, "--data", given.text});
  REQUIRE(lines.size() == 44 + 1);
  CHECK(lines[0]["token"] == "a");
  CHECK(lines[0]["logprob"].is_null());
  CHECK(lines[10]["token"] == "하");
  double sum = 0;
  for (std::size_t i = 1; i < 44; ++i) {
    CHECK(lines[i]["position"] == i);
    CHECK(lines[i]["rank"] >= 1);
    CHECK(lines[i]["entropy"] >= 0);
    sum -= lines[i]["logprob"].get<double>();
  }
  CHECK(sum / 43 == Approx(plain["loss"]).epsilon(1e-6));
  CHECK(lines[44]["tokens"] == plain["tokens"]);
  CHECK(lines[44]["loss"] == Approx(plain["loss"]).epsilon(1e-6));
}

TEST_CASE("eval --per_token --layout text colours the text and leaves it as it is", "[cli]") {
  const Given given;
  std::string text =
      output_of({"eval", given.model, "--data", given.text, "--per_token", "--layout", "text"});
  CHECK(contains(text, "\x1B["));
  for (std::size_t at = 0; (at = text.find("\x1B[")) != std::string::npos;) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  check_parts(text, {"nats a token", "probability of a token:"});
  const std::size_t line_end = text.find("⏎");
  if (line_end != std::string::npos) {
    text.erase(line_end, std::string("⏎").size());
  }
  CHECK(text.rfind(file_contents(given.text), 0) == 0);
}

TEST_CASE("generate --logprobs lists the chosen tokens and the likeliest", "[cli]") {
  const Given given;
  const Arguments command =
      words("generate", given.model, "--prompt ab --max_new_tokens 40 --logprobs 99 --ignore_eos");
  const json report = report_of(command);
  REQUIRE(report["logprobs"].size() == 40);
  std::string text;
  for (const json& token : report["logprobs"]) {
    text += token["token"].get<std::string>();
    REQUIRE(token["top_logprobs"].size() == 16);  // 11 characters, two special, three without names
    double sum = 0;
    bool found = false;
    for (const json& other : token["top_logprobs"]) {
      sum += std::exp(other["logprob"].get<double>());
      found = found || (other["id"] == token["id"] && other["logprob"] == token["logprob"]);
    }
    CHECK(sum == Approx(1).epsilon(1e-6));
    CHECK(found);
  }
  CHECK(report["text"].get<std::string>() == text);
  CHECK(contains(output_of(command), "<|15|>"));  // id without a name
}
}  // namespace token_report_test
