#include "headlight/train/evaluation.h"

#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/data/training_batch.h"
#include "headlight/text/char_tokenizer.h"
#include "support/catch.h"

using namespace headlight;

namespace {

const std::string kText = "one two three four five six seven eight nine ten, 하나 둘 셋 넷.";

Gpt small_model(const Tokenizer& tokenizer) {
  return Gpt({.vocab_size = tokenizer.vocab_size(),
              .block_size = 16,
              .n_layer = 1,
              .n_head = 2,
              .n_embd = 16},
             3, DType::float64);
}

}  // namespace

TEST_CASE("evaluation counts every target once, whatever the batch size", "[train]") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(kText));
  const Evaluation whole = evaluate(model, tokenizer, dataset, {.batch_size = 1});
  CHECK(whole.tokens == dataset.token_count - 1);
  CHECK(whole.bytes == static_cast<Index>(kText.size()) - 1);  // the first character is no target
  for (const Index batch_size : {2, 3, 100}) {
    const Evaluation other = evaluate(model, tokenizer, dataset, {.batch_size = batch_size});
    CHECK(other.tokens == whole.tokens);
    CHECK(other.loss == Approx(whole.loss).epsilon(1e-12));
  }
}

TEST_CASE("perplexity and bits per byte follow from the loss", "[train]") {
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

TEST_CASE("a limited evaluation uses so many batches", "[train]") {
  const CharTokenizer tokenizer = build_char_tokenizer(kText);
  const Gpt model = small_model(tokenizer);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(kText));
  const Evaluation part = evaluate(model, tokenizer, dataset, {.batch_size = 1, .max_batches = 2});
  CHECK(part.tokens == 2 * 16);
}
