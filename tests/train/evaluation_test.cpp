#include "support/test.h"

namespace evaluation_test {
const std::string kText = "one two three four five six seven eight nine ten, 하나 둘 셋 넷.";

Gpt small_model(const Tokenizer& tokenizer) {
  return Gpt({.vocab_size = tokenizer.vocab_size(),
              .block_size = 16,
              .n_layer = 1,
              .n_head = 2,
              .n_embd = 16},
             3, DType::float64);
}

TEST_CASE("evaluation counts every target once, whatever the batch size") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(kText));
  const Evaluation whole = evaluate(model, tokenizer, dataset, {.batch_size = 1});
  CHECK(whole.tokens == dataset.token_count - 1);
  CHECK(whole.bytes == static_cast<Index>(kText.size()) - 1);  // first character: no target
  for (const Index batch_size : {2, 3, 100}) {
    const Evaluation other = evaluate(model, tokenizer, dataset, {.batch_size = batch_size});
    CHECK(other.tokens == whole.tokens);
    CHECK(other.loss == Approx(whole.loss).epsilon(1e-12));
  }
}

TEST_CASE("evaluations report the finished share of their batches") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(kText));
  std::vector<double> shares;
  const EvaluationOptions options{.batch_size = 1, .max_batches = 4, .progress = [&](double share) {
                                    shares.push_back(share);
                                  }};
  evaluate(model, tokenizer, dataset, options);
  evaluate_tokens(model, tokenizer, dataset, options, [](const TokenEvaluation&) {});
  evaluation_logits(model, dataset, options);
  CHECK(shares == std::vector<double>{.25, .5, .75, 1, .25, .5, .75, 1, .25, .5, .75, 1});
}

TEST_CASE("perplexity and bits per byte follow from the loss") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = document_dataset(
      {tokenizer.encode("three four"), tokenizer.encode("하나 둘")}, tokenizer.end_of_text());
  const Evaluation result = evaluate(model, tokenizer, dataset);
  CHECK(result.tokens == 11 + 5);  // each document's characters and its <|endoftext|>
  CHECK(result.bytes == 10 + 3 * 3 + 1);
  CHECK(result.perplexity == Approx(std::exp(result.loss)));
  CHECK(result.bits_per_byte == Approx(result.loss * static_cast<double>(result.tokens) /
                                       std::log(2.0) / static_cast<double>(result.bytes)));
  const NoGrad no_grad;
  const Batch batch = training_batch(token_ids(dataset));
  CHECK(result.loss == Approx(model.loss(batch).item()).epsilon(1e-12));
}

TEST_CASE("an evaluation with max_batches uses that many batches") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(kText));
  const Evaluation part = evaluate(model, tokenizer, dataset, {.batch_size = 1, .max_batches = 2});
  CHECK(part.tokens == 2 * 16);
}

std::vector<TokenEvaluation> tokens_of(const Gpt& model, const Tokenizer& tokenizer,
                                       const TokenDataset& dataset,
                                       const EvaluationOptions& options, Evaluation& result) {
  std::vector<TokenEvaluation> tokens;
  result = evaluate_tokens(model, tokenizer, dataset, options,
                           [&](const TokenEvaluation& token) { tokens.push_back(token); });
  return tokens;
}

// Returns the log softmax of `token` after `context`.
double plain_log_probability(const Gpt& model, const Ids& context, std::int32_t token) {
  return element(log_probabilities(model, context), std::ssize(context) - 1, token);
}

TEST_CASE("an evaluation reports every token of a stream once with the loss of a forward pass") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const Ids ids = tokenizer.encode(kText);  // longer than three blocks
  const TokenDataset dataset = stream_dataset(ids);
  Evaluation result;
  const auto tokens = tokens_of(model, tokenizer, dataset, {.batch_size = 2}, result);
  REQUIRE(tokens.size() == ids.size());
  CHECK_FALSE(tokens[0].is_predicted());
  CHECK(std::isnan(tokens[0].log_probability));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    INFO("token " << i);
    CHECK(tokens[i].position == static_cast<Index>(i));
    CHECK(tokens[i].token == ids[i]);
    if (i > 0) {
      const auto context = static_cast<Index>((i - 1) % 16 + 1);  // a block is 16 tokens
      CHECK(tokens[i].context == context);
      const auto at = ids.begin() + static_cast<Index>(i);
      CHECK(tokens[i].log_probability ==
            Approx(plain_log_probability(model, {at - context, at}, ids[i])).epsilon(1e-5));
    }
  }
}

TEST_CASE("the mean over the tokens is the loss of the evaluation") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset stream = stream_dataset(tokenizer.encode(kText));
  const TokenDataset documents = document_dataset(
      {tokenizer.encode("three four five six seven"), {}, tokenizer.encode("하나 둘")},
      tokenizer.end_of_text());
  const EvaluationOptions all{.batch_size = 3};
  const EvaluationOptions some{.batch_size = 1, .max_batches = 2};
  for (const TokenDataset* dataset : {&stream, &documents}) {
    for (const EvaluationOptions& options : {all, some}) {
      const Evaluation plain = evaluate(model, tokenizer, *dataset, options);
      Evaluation result;
      double sum = 0;
      Index predicted = 0;
      for (const auto& token : tokens_of(model, tokenizer, *dataset, options, result)) {
        sum += token.is_predicted() ? -token.log_probability : 0;
        predicted += token.is_predicted() ? 1 : 0;
      }
      CHECK(predicted == plain.tokens);
      CHECK(sum / static_cast<double>(predicted) == Approx(plain.loss).epsilon(1e-6));
      CHECK(result.loss == Approx(plain.loss).epsilon(1e-6));
      CHECK(result.tokens == plain.tokens);
      CHECK(result.bits_per_byte == Approx(plain.bits_per_byte).epsilon(1e-6));
    }
  }
}

TEST_CASE("reported tokens have the numbers of their document and of their position in it") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const Ids second = tokenizer.encode("하나 둘");
  const TokenDataset dataset =
      document_dataset({tokenizer.encode("one"), second}, tokenizer.end_of_text());
  Evaluation result;
  const auto tokens = tokens_of(model, tokenizer, dataset, {}, result);
  REQUIRE(tokens.size() == 5 + 6);  // each document is between two <|endoftext|>
  CHECK(tokens[5].sequence == 1);
  CHECK(tokens[5].position == 0);
  CHECK(tokens[5].token == tokenizer.end_of_text());
  CHECK_FALSE(tokens[5].is_predicted());
  CHECK(tokens[6].token == second[0]);
  CHECK(tokens[6].is_predicted());
  CHECK(tokens[10].token == tokenizer.end_of_text());
}
}  // namespace evaluation_test
