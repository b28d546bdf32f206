#include "support/saved_model.h"
#include "support/test.h"

// What trained parameters and logits must be. sessions/fine_tuning.txt and chats.txt have the rest.

// Model of three layers with a context of 24.
std::string start_model(const TemporaryFolder& folder) {
  const GptConfig config{
      .vocab_size = 257, .block_size = 24, .n_layer = 3, .n_head = 2, .n_embd = 8, .bias = false};
  return save_model(folder, "start", Gpt(config, 3));
}

// Trains from the model for three steps.
void tune(const TemporaryFolder& folder, const std::string& run, const Arguments& more) {
  const std::string data = folder.write("text.txt", "some text, and some more text to learn");
  log_of(changed(words("train --init_from", folder.at("start"), "--data", data, "--out_dir",
                       folder.at(run), "--batch_size 2 --learning_rate 0.01 --max_iters 3"),
                 more));
}

TEST_CASE("only the named parts are trained", "[cli]") {
  const TemporaryFolder folder;
  const auto before = load_weights(start_model(folder));
  tune(folder, "run", {"--train", "layer.1-, ln_f"});
  const auto after = load_weights(folder.at("run"));
  for (const auto& [weight, tensor] : before->weights()) {
    INFO(weight.name);
    const bool is_same = same_bits(tensor, after->weight(weight.part, weight.layer));
    CHECK(is_same == (weight.layer < 1 && weight.part != Part::final_norm));
  }
}

TEST_CASE("an exported adapter has changed its matrices and no embedding", "[cli]") {
  const TemporaryFolder folder;
  const auto before = load_weights(start_model(folder));
  tune(folder, "run", {"--lora_rank", "2"});
  log_of({"export", folder.at("run"), "--to", "hf", "--out", folder.at("whole")});
  const auto after = load_weights(folder.at("whole"));
  const auto is_same = [&](Part part, Index layer) {
    return same_bits(before->weight(part, layer), after->weight(part, layer));
  };
  CHECK(same_bits(before->weight(Part::token_embedding), after->weight(Part::token_embedding)));
  CHECK_FALSE(is_same(Part::mlp_out, 1));
}

TEST_CASE("eval writes the logits from which it computes the loss", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);
  const std::string data = folder.write("short.txt", std::string(60, 'x') + "yz");
  const std::string file = folder.at("logits.npz");
  const std::string printed =
      output_of({"eval", start, "--data", data, "--logits", file, "--json"});
  const NamedTensors arrays = read_npz(file);
  REQUIRE(arrays.size() == 4);
  const Tensor& targets = arrays[1].second;
  const Tensor& logits = arrays[3].second;
  CHECK(arrays[0].second.numel() == 61);
  CHECK(targets.to_vector().back() == 'z');
  CHECK(arrays[2].second.to_vector() == std::vector<double>{0, 24, 48, 61});
  CHECK(logits.shape() == Shape{61, 257});
  double loss = 0;
  for (Index row = 0; row < 61; ++row) {
    double sum = 0;
    for (Index id = 0; id < 257; ++id) {
      sum += std::exp(static_cast<double>(logits.data<float>()[row * 257 + id]));
    }
    const Index target = targets.data<std::int32_t>()[row];
    loss += std::log(sum) - static_cast<double>(logits.data<float>()[row * 257 + target]);
  }
  CHECK(json::parse(printed)["loss"] == Approx(loss / 61).epsilon(1e-6));
}

TEST_CASE("the option --window sets how many tokens eval and heads read at once", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);  // context length 24
  const std::string data = folder.write("short.txt", std::string(60, 'x') + "yz");
  const std::string file = folder.at("logits.npz");
  const auto offsets = [&](const std::string& window) {
    REQUIRE(run_headlight({"eval", start, "--data", data, "--logits", file, "--window", window})
                .exit_code == 0);
    return read_npz(file)[2].second.to_vector();
  };
  CHECK(offsets("0") == std::vector<double>{0, 24, 48, 61});
  CHECK(offsets("40") == std::vector<double>{0, 24, 48, 61});
  CHECK(offsets("20") == std::vector<double>{0, 20, 40, 60, 61});
}
