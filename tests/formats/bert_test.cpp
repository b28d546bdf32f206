#include "support/models/bert_directory.h"
#include "support/saved_model.h"
#include "support/test.h"

// BERT directories as transformers writes them.

const std::vector<std::vector<std::int32_t>> kTexts{{2, 5, 6, 8, 3}, {2, 7, 3}};

// Loads a directory and collects its warnings.
std::unique_ptr<Gpt> loaded(const fs::path& directory, std::vector<std::string>& warnings) {
  return load_weights(directory, {.bidirectional = true, .warn = [&](const std::string& line) {
                                    warnings.push_back(line);
                                  }});
}

TEST_CASE("a BERT directory gives the weights back bit by bit") {
  const TemporaryFolder folder;
  for (const bool masked_head : {true, false}) {
    const fs::path directory = write_bert(folder / (masked_head ? "head" : "body"), masked_head);
    std::vector<std::string> warnings;
    const std::unique_ptr<Gpt> read = loaded(directory, warnings);
    CHECK(warnings.empty());
    CHECK(read->config().has_head() == masked_head);
    const Batch batch = make_batch(kTexts);
    const Index layers = read->config().n_layer;
    const auto original = random_bert(masked_head);
    CHECK(same_bits(read->residual(batch, layers), original->residual(batch, layers)));
    CHECK((!masked_head || same_bits(read->logits(batch), original->logits(batch))));
  }
}

TEST_CASE("BERT files may have old names and no prefix and heads for other tasks") {
  const TemporaryFolder folder;
  const fs::path directory = write_bert(folder / "bert");
  const fs::path file = directory / "model.safetensors";
  NamedTensors tensors = read_safetensors(file);
  for (auto& [name, tensor] : tensors) {
    const bool is_norm = name.find("LayerNorm.") != name.npos;
    if (is_norm) {
      name.replace(name.rfind('.'), name.npos, name.ends_with("weight") ? ".gamma" : ".beta");
    }
    if (name.starts_with("bert.")) {
      name.erase(0, 5);
    }
  }
  tensors.emplace_back("pooler.dense.weight", Tensor::zeros({8, 8}));
  write_safetensors(file, tensors);
  std::vector<std::string> warnings;
  const std::unique_ptr<Gpt> read = loaded(directory, warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "ignored 'pooler.dense.weight'"));
  const Batch batch = make_batch(kTexts);
  CHECK(same_bits(read->logits(batch), random_bert()->logits(batch)));
}

TEST_CASE("a bidirectional model is refused unless it is asked for") {
  const TemporaryFolder folder;
  const fs::path directory = write_bert(folder / "bert");
  CHECK(error_of([&] { load_model(directory); }) ==
        "this needs a causal model; " + directory.string() + " is bidirectional (bert)");
}

TEST_CASE("BERT configurations that contradict the weights are refused by name") {
  const TemporaryFolder folder;
  const fs::path directory = write_bert(folder / "bert");
  const std::string original = file_contents(directory / "config.json");
  const std::vector<std::pair<json, std::string>> cases{
      {{{"is_decoder", true}}, "is_decoder"},
      {{{"position_embedding_type", "relative_key"}}, "position_embedding_type"},
      {{{"type_vocab_size", 3}}, "token_type_embeddings.weight: expected shape [3, 8]"},
      {{{"type_vocab_size", 0}}, "type_vocab_size"},
      {{{"vocab_size", 14}}, "expected shape"},
      {{{"max_position_embeddings", 1 << 30}}, "max_position_embeddings"},
      {{{"num_hidden_layers", 3}}, "missing 'bert.encoder.layer.2."},
      {{{"num_hidden_layers", 1}}, "unexpected 'bert.encoder.layer.1."}};
  for (const auto& [changes, expected] : cases) {
    write_bytes(directory / "config.json", original);
    change_config(directory, changes);
    INFO(changes);
    std::vector<std::string> warnings;
    CHECK(error_of([&] { loaded(directory, warnings); }).find(expected) != std::string::npos);
  }
}

TEST_CASE("WordPiece takes the longest pieces and keeps the ends of prompts") {
  const auto tokenizer = word_piece();
  const std::vector<std::pair<std::string, Ids>> cases{{"The cats sat.", {5, 6, 11, 8, 12}},
                                                       {"THE\tm\u00e1t", {5, 10}},
                                                       {"catdog", {1}},
                                                       {"catss", {6, 11, 11}},
                                                       {"dog\u4e16cat", {7, 1, 6}},
                                                       {"", {}},
                                                       {"[MASK]", {1, 1, 1}},
                                                       {std::string(101, 's'), {1}}};
  for (const auto& [text, ids] : cases) {
    INFO(text);
    CHECK(tokenizer->encode(text) == ids);
  }
  CHECK(tokenizer->encode_prompt("the dogs.") == Ids{2, 5, 7, 11, 12, 3});
  CHECK(tokenizer->decode(Ids{2, 5, 7, 11, 12, 3}) == "the dogs.");
  CHECK(tokenizer->kind() == "wordpiece");
  tokenizer->set_reads_special(true);
  CHECK(tokenizer->encode("the [MASK]") == Ids{5, 4});
}
