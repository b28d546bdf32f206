#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/gguf/gguf_model.h"
#include "support/models/byte_vocabulary.h"
#include "support/test.h"

// All bytes, <|endoftext|> as token 256 and the merge "ab".
std::unique_ptr<Tokenizer> base_tokenizer() {
  return std::make_unique<BpeTokenizer>(byte_vocabulary({"<|endoftext|>"}, {{"a", "b"}}));
}

LoadedModel base_model(Index rows, bool tied = false) {
  LoadedModel loaded{};
  loaded.model = std::make_unique<Gpt>(GptConfig{.vocab_size = rows,
                                                 .block_size = 64,
                                                 .n_layer = 1,
                                                 .n_head = 1,
                                                 .n_embd = 8,
                                                 .tie_weights = tied});
  loaded.tokenizer = base_tokenizer();
  return loaded;
}

Tensor weight_of(const Gpt& model, Part part) {
  for (const ModelWeight& weight : model.weights()) {
    if (weight.weight.part == part) {
      return weight.tensor;
    }
  }
  return {};
}

std::vector<float> row_of(const Tensor& rows, Index row) {
  const float* begin = rows.data<float>() + row * rows.size(1);
  return {begin, begin + rows.size(1)};
}

TEST_CASE("a chat template brings its special tokens into the vocabulary of a base model") {
  LoadedModel loaded = base_model(258);
  const std::unique_ptr<Gpt> before = std::move(loaded.model);
  loaded.model = base_model(258).model;
  CHECK(set_chat_template(loaded, read_chat_template("chatml")) ==
        std::vector<std::string>{"<|im_start|>", "<|im_end|>"});
  const Tokenizer& tokenizer = *loaded.tokenizer;
  CHECK(tokenizer.special_id("<|im_start|>") == 258);
  CHECK(tokenizer.special_id("<|im_end|>") == 259);
  CHECK(tokenizer.end_of_text() == 256);
  CHECK(tokenizer.stop_tokens() == Ids{256, 259});
  CHECK(tokenizer.encode("cab") == Ids{'c', 257});
  CHECK(loaded.model->config().vocab_size == 260);
  for (const Part part : {Part::token_embedding, Part::head}) {
    const Tensor old_rows = weight_of(*before, part);
    const Tensor rows = weight_of(*loaded.model, part);
    std::vector<double> mean(8);
    for (Index row = 0; row < 258; ++row) {
      REQUIRE(row_of(rows, row) == row_of(old_rows, row));
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += static_cast<double>(row_of(rows, row)[i]) / 258;
      }
    }
    // The deviation of the old rows is 0.02; that of the new ones is a tenth of it.
    for (std::size_t i = 0; i < mean.size(); ++i) {
      CHECK(static_cast<double>(row_of(rows, 258)[i]) == Approx(mean[i]).margin(0.01));
      CHECK(row_of(rows, 259)[i] != row_of(rows, 258)[i]);
    }
  }
  const ChatFormat chat(tokenizer.chat_template(), tokenizer);
  CHECK(chat.missing_names().empty());
  CHECK(chat.encode({{"user", "a"}}).front() == 258);
}

TEST_CASE("a model with a new chat template is the same after it is written and read") {
  const TemporaryFolder folder;
  LoadedModel loaded = base_model(258, true);
  set_chat_template(loaded, read_chat_template("chatml"));
  write_gguf_model(folder.path() / "m.gguf", *loaded.model, *loaded.tokenizer, {});
  fs::create_directory(folder.path() / "hf");
  write_model_files(folder.path() / "hf", *loaded.model, *loaded.tokenizer);
  for (const char* name : {"m.gguf", "hf"}) {
    INFO(name);
    const LoadedModel back = load_model(folder.path() / name);
    CHECK(back.tokenizer->chat_template() == loaded.tokenizer->chat_template());
    CHECK(back.tokenizer->stop_tokens() == loaded.tokenizer->stop_tokens());
    CHECK(back.tokenizer->special_id("<|im_end|>") == 259);
    CHECK(set_chat_template(loaded, read_chat_template("chatml")).empty());
    CHECK(loaded.model->config().vocab_size == 260);
  }
}

TEST_CASE("rows that a model has beyond its vocabulary are used for new tokens") {
  LoadedModel loaded = base_model(300);
  set_chat_template(loaded, read_chat_template("phi3"));
  CHECK(loaded.model->config().vocab_size == 300);
  CHECK(loaded.tokenizer->vocab_size() > 258);
  const Tensor rows = weight_of(*loaded.model, Part::token_embedding);
  CHECK(row_of(rows, 258) != row_of(rows, 299));  // rows start apart
}

TEST_CASE("a tokenizer of characters and a faulty template are refused and change nothing") {
  LoadedModel loaded = base_model(258);
  CHECK_THROWS_WITH(set_chat_template(loaded, "{{ x"), contains_text("chat template, line 1"));
  CHECK(loaded.tokenizer->chat_template().empty());
  loaded.tokenizer = std::make_unique<CharTokenizer>(std::vector<char32_t>{U'a', U'b'});
  CHECK_THROWS_WITH(set_chat_template(loaded, read_chat_template("chatml")),
                    "chat_template: a tokenizer of kind char takes no special tokens, but the "
                    "template needs <|im_start|>");
  CHECK(loaded.tokenizer->chat_template().empty());
}
