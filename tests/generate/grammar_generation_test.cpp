#include "generate/results.h"
#include "generate/word_tokenizer.h"
#include "support/test.h"

GenerateOptions with_grammar(const char* gbnf, Index count = 40) {
  GenerateOptions options{.max_new_tokens = count};
  options.grammar = std::make_shared<const Grammar>(gbnf);
  return options;
}

GenerateResult generated(const GenerateOptions& options, const char* prompt = "x") {
  const auto model = lively_model(257, 64);
  return generate(*model, ByteTokenizer(), prompt, options);
}

TEST_CASE("a text with a grammar ends when nothing may follow") {
  GenerateOptions options = with_grammar(R"(root ::= "id: " [0-9]{4} ("é" | "ü"))");
  for (const bool ignore : {false, true}) {
    options.ignore_end_of_text = ignore;
    const GenerateResult result = generated(options);
    INFO(result.text);
    CHECK(options.grammar->matches(result.text));
    CHECK(result.tokens.size() == 10);
    CHECK(result.finish_reason == FinishReason::end_of_text);
  }
  options.max_new_tokens = 9;  // the last character is cut
  CHECK(generated(options).finish_reason == FinishReason::length);
  const GenerateResult nothing = generated(with_grammar(R"(root ::= "")"));
  CHECK(nothing.tokens.empty());
  CHECK(nothing.finish_reason == FinishReason::end_of_text);
}

TEST_CASE("a text with a grammar ends early only where it may") {
  const std::int32_t end = ByteTokenizer().end_of_text();
  GenerateOptions options = with_grammar(R"(root ::= "abc" "d"*)");
  options.sampling.logit_bias = {{.token = end, .bias = 1000}};
  const GenerateResult result = generated(options);
  CHECK(result.text == "abc");
  CHECK(result.tokens == Ids{'a', 'b', 'c', end});
  CHECK(result.finish_reason == FinishReason::end_of_text);
  // Other tokens that end texts are no part of the grammar's text, either.
  options.end_tokens = {'d'};
  options.sampling.logit_bias = {{.token = 'd', .bias = 1000}};
  CHECK(generated(options).text == "abc");
  options.ignore_end_of_text = true;
  options.end_tokens.clear();
  CHECK(generated(options).text == "abc" + std::string(37, 'd'));
}

TEST_CASE("each text of an engine has its own state of the grammar") {
  const auto model = lively_model(257, 64);
  const ByteTokenizer tokenizer;
  Decoder decoder(*model);
  Engine engine(decoder, tokenizer);
  std::map<Index, std::string> pieces;
  std::map<Index, GenerateResult> results;
  const GenerateOptions options = with_grammar(R"(root ::= "<" [a-z]* ">" root? | "." [^.]{3})");
  Request request{.prompt = tokenizer.encode("x"), .options = options, .samples = 12};
  request.on_text = [&](Index sample, std::string_view piece) { pieces[sample] += piece; };
  request.on_end = [&](Index sample, GenerateResult result) { results[sample] = result; };
  engine.begin(request);
  engine.begin({.prompt = tokenizer.encode("y"), .options = {.max_new_tokens = 30}});
  finish(engine);
  std::set<std::string> texts;
  for (const auto& [sample, result] : results) {
    INFO(result.text);
    CHECK(pieces[sample] == result.text);
    const bool finished = result.finish_reason == FinishReason::end_of_text;
    CHECK((!finished || options.grammar->matches(result.text)));
    texts.insert(result.text);
    GenerateOptions alone = options;
    alone.sample = sample;
    CHECK(generate(decoder, tokenizer, "x", alone).text == result.text);
  }
  CHECK(results.size() == 12);
  CHECK(texts.size() > 6);
}

TEST_CASE("a grammar leaves the log probabilities of the model unchanged") {
  GenerateOptions free{.logprobs = 3};
  GenerateOptions options = with_grammar(R"(root ::= "q" [a-c]+)");
  options.logprobs = 3;
  const TokenChoice first = generated(free).choices.at(0);
  const TokenChoice forced = generated(options).choices.at(0);
  CHECK(forced.token == 'q');
  CHECK(forced.log_probability < -0.5);
  REQUIRE(forced.likeliest.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(forced.likeliest[i].token == first.likeliest[i].token);
    CHECK(forced.likeliest[i].log_probability == first.likeliest[i].log_probability);
  }
}

TEST_CASE("filters choose among the tokens of a grammar") {
  GenerateOptions options = with_grammar("root ::= [a-z0-9]{30}");
  options.sampling.top_k = 1;
  const std::string likeliest = generated(options).text;
  options.sampling.top_k = 0;
  options.sampling.temperature = 0;
  CHECK(generated(options).text == likeliest);
  CHECK(likeliest.size() == 30);
  options.stop = {likeliest.substr(3, 2)};
  CHECK(generated(options).text == likeliest.substr(0, likeliest.find(options.stop[0])));
  CHECK(generated(options).finish_reason == FinishReason::stop);
}

TEST_CASE("the first token of a text continues the grammar without its blank") {
  const auto model = lively_model(9, 16);
  GenerateOptions options = with_grammar(R"(root ::= "ab a")");
  options.sampling.logit_bias = {{.token = 3, .bias = 1000}};  // " ab"
  const GenerateResult start = generate(*model, WordTokenizer(), "", options);
  CHECK(start.text == "ab a");
  CHECK(start.tokens.front() == 3);
  Decoder decoder(*model);
  const GenerateResult inside = generate(decoder, WordTokenizer(), {2}, options);
  CHECK(inside.text == "ab a");
  CHECK(inside.tokens.front() == 2);
}

TEST_CASE("a grammar holds beyond the context length") {
  GenerateOptions options = with_grammar(R"(root ::= ("ab" [0-9])+)", 200);
  options.ignore_end_of_text = true;
  const std::string text = generated(options).text;
  CHECK(text.size() == 200);
  CHECK(options.grammar->matches(text.substr(0, 198)));
}
