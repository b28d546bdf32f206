#include "support/saved_model.h"
#include "support/test.h"

namespace fine_tuning_test {
// Training from a model or from token files, with the real program.

// Start model of three layers, untied, with biases and the default dropout of transformers.
std::string start_model(const TemporaryFolder& folder) {
  GptConfig config{.vocab_size = 257,
                   .block_size = 24,
                   .n_layer = 3,
                   .n_head = 2,
                   .n_embd = 8,
                   .residual_dropout = 0.1,
                   .tie_weights = false};
  return save_model(folder, "start", Gpt(config, 3));
}

std::string rotary_model(const TemporaryFolder& folder) {
  GptConfig config{.vocab_size = 257, .block_size = 24, .n_layer = 1, .n_head = 2, .n_embd = 8};
  config.position = PositionKind::rope;
  return save_model(folder, "start", Gpt(config, 3));
}

std::string text_file(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "abcdefgh " + std::to_string(i) + "\n";
  }
  return folder.write("text.txt", text);
}

// Bytes of a text as 16-bit ids.
std::string ids_of(const std::string& text) {
  std::string bytes;
  for (const char c : text) {
    bytes += c;
    bytes += '\0';
  }
  return bytes;
}

Arguments train(const std::string& data, const std::string& out, const Arguments& more) {
  Arguments arguments = words("train --data", data, "--out_dir", out,
                              "--batch_size 2 --learning_rate 0.01 --warmup_iters 1 "
                              "--lr_decay_iters 4 --eval_iters 1 --max_iters");
  return changed(std::move(arguments), more);
}

NamedTensors weights(const std::string& directory) {
  return read_safetensors(directory + "/model.safetensors");
}

TEST_CASE("a run that starts from a model begins with its weights and sizes", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);
  const std::string out = folder.at("run");
  output_of(train(text_file(folder), out, {"0", "--init_from", start}));
  const NamedTensors before = weights(start);
  const NamedTensors after = weights(out + "/latest");
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].first);
    CHECK(after[i].first == before[i].first);
    CHECK(after[i].second.to_vector() == before[i].second.to_vector());
  }
  const std::string saved = file_contents(out + "/config.toml");
  check_parts(saved, {"n_layer = 3\n", "n_embd = 8\n", "block_size = 24\n", "tie_weights = false\n",
                      "bias = true\n", "dropout = 0\n"});
  // Dropout comes from the run, not from the model.
  CHECK(json::parse(file_contents(out + "/latest/config.json"))["resid_pdrop"] == 0.0);
}

TEST_CASE("fine-tuning rises to the given learning rate and then decays", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("run");
  output_of(words("train --init_from", start_model(folder), "--data", text_file(folder),
                  "--out_dir", out, "--learning_rate 3e-5 --max_iters 100 --batch_size 2"));
  std::vector<double> rates;
  for (const json& line : json_lines(out + "/metrics.jsonl")) {
    if (line.contains("learning_rate")) {
      rates.push_back(line["learning_rate"].get<double>());
    }
  }
  REQUIRE(rates.size() == 100);
  CHECK(rates[0] == Approx(7.5e-6));  // warmup_ratio 0.03: three steps
  CHECK(*std::max_element(rates.begin(), rates.end()) == Approx(3e-5));
  CHECK(rates[3] == Approx(3e-5));
  CHECK(rates[99] == Approx(3e-6).epsilon(0.01));
}

TEST_CASE("a smaller block keeps the context length of a model with rotary positions", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = rotary_model(folder);
  const std::string out = folder.at("run");
  const std::string data = text_file(folder);
  output_of(train(data, out, {"1", "--init_from", start, "--block_size", "10"}));
  CHECK(read_effective_config(out + "/latest").block_size == 24);
  output_of(train(data, out, {"2", "--init_from", start, "--block_size", "10", "--resume"}));
  CHECK(read_effective_config(out + "/latest").block_size == 24);
}

TEST_CASE("rope_scaling extends the context of a starting model", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = rotary_model(folder);
  const std::string data = text_file(folder);
  const std::string scaling = GENERATE("linear", "llama3", "yarn");
  const auto extended = [&](const std::string& out, const Arguments& more) {
    Arguments arguments = train(data, folder.at(out), more);
    arguments = changed(std::move(arguments), {"--init_from", start, "--block_size", "50",
                                               "--rope_scaling", scaling, "--rope_factor", "2.5"});
    const ProgramResult result = run_headlight(arguments);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return result.err;
  };
  CHECK(contains(extended("whole", {"4"}),
                 "the context grows from 24 to 60 tokens: " + scaling + ", factor 2.5"));
  const GptConfig config = read_effective_config(folder.at("whole/latest"));
  CHECK(config.block_size == 60);
  CHECK(config.rope.scaling == parse_name<RopeScaling>("", scaling));
  CHECK(config.rope.factor == 2.5);
  if (scaling != "linear") {
    CHECK(config.rope.original_max_position_embeddings == 24);
  }
  CHECK(config.rope.attention_factor ==
        Approx(scaling == "yarn" ? 1 + 0.1 * std::log(2.5) : 1).epsilon(1e-12));
  extended("parts", {"2"});
  CHECK_FALSE(contains(extended("parts", {"4", "--resume"}), "the context grows"));
  CHECK(file_contents(folder.at("whole/latest/model.safetensors")) ==
        file_contents(folder.at("parts/latest/model.safetensors")));
}

TEST_CASE("an extension of the context that cannot be is refused", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("run");
  const Arguments start = train(text_file(folder), out, {"0", "--init_from", rotary_model(folder)});
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--block_size 25",
            "got 25; rope_scaling = yarn with a rope_factor extends the context"},
           {"--rope_scaling yarn", "rope_factor: expected a number above 1"},
           {"--rope_scaling yarn --rope_factor 2 --lora_rank 2",
            "rope_scaling: changes the context of the model, which an adapter cannot hold"},
           {"--rope_scaling yarn --rope_factor 2 --block_size 49",
            "block_size: expected at most 48"},
           {"--rope_factor 2", "rope_factor: expected 1, as in the model"}}) {
    check_parts(refusal(changed(start, split_words(options))), {message});
  }
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("settings that contradict the starting model are refused by name", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);
  const std::string data = text_file(folder);
  const std::string out = folder.at("run");
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--n_layer 2", "n_layer: expected 3, as in the model that the run starts from, got 2"},
           {"--bias false", "bias: expected true, as in the model"},
           {"--norm post", "norm: expected pre, as in the model"},
           {"--block_size 25", "block_size: expected at most 24, as in the model"}}) {
    check_parts(
        refusal(changed(train(data, out, {"0", "--init_from", start}), split_words(options))),
        {message});
  }
  CHECK_FALSE(fs::exists(out));
  Arguments arguments = train(data, out, {"0", "--init_from", start});
  arguments.insert(arguments.begin() + 1, folder.write("a.toml", "hidden_size = 16\n"));
  CHECK(contains(refusal(arguments), "n_embd: expected 8, as in the model"));
}

TEST_CASE("token files of nanoGPT train as the text that they came from", "[cli]") {
  const TemporaryFolder folder;
  const std::string text = file_contents(text_file(folder));
  const std::string train_text = folder.write("train.txt", text.substr(0, 300));
  const std::string validation_text = folder.write("val.txt", text.substr(300));
  fs::create_directory(folder.at("tokens"));
  const std::string train_ids = folder.write("tokens/train.bin", ids_of(text.substr(0, 300)));
  const std::string validation_ids = folder.write("tokens/val.bin", ids_of(text.substr(300)));
  const Arguments small =
      words("2 --tokenizer byte --n_layer 1 --n_head 1 --n_embd 4 --block_size 8");
  const auto trained = [&](const std::string& name, const std::string& data,
                           const Arguments& more) {
    Arguments arguments = train(data, folder.at(name), small);
    arguments = changed(std::move(arguments), more);
    output_of(arguments);
    return file_contents(folder.at(name) + "/latest/model.safetensors");
  };
  const std::string expected = trained("a", train_text, {"--validation_data", validation_text});
  CHECK(trained("b", train_ids, {"--val_data", validation_ids}) == expected);
  CHECK(trained("c", folder.at("tokens"), {}) == expected);
  CHECK(trained("d", train_ids, {"--val_data", validation_text}) == expected);
  CHECK(json::parse(file_contents(folder.at("c") + "/latest/state.json"))["best_validation_loss"] ==
        json::parse(file_contents(folder.at("a") + "/latest/state.json"))["best_validation_loss"]);

  const auto evaluated = [&](const std::string& data) {
    const std::string printed = output_of({"eval", folder.at("a"), "--data", data, "--json"});
    return printed;
  };
  CHECK(evaluated(validation_ids) == evaluated(validation_text));
}

TEST_CASE("token files without a tokenizer or with ids outside its vocabulary are refused",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("run");
  const std::string ids = folder.write("a.bin", ids_of("abcabc") + "\x01\x01");
  const std::string odd = folder.write("odd.bin", "abc");
  fs::create_directory(folder.at("empty"));
  struct Case {
    std::string data;
    std::string options;
    std::string message;
  };
  for (const Case& one : std::vector<Case>{
           {ids, "1",
            "from which no char tokenizer can be made, and there is no tokenizer.json or meta.pkl "
            "next to it"},
           {ids, "1 --tokenizer byte",
            "a.bin: token 6 has id 257, but the tokenizer has the ids 0 to 256"},
           {ids, "1 --tokenizer byte --documents line", "documents: "},
           {odd, "1 --tokenizer byte", "odd.bin: 3 bytes are not a whole number"},
           {folder.at("empty"), "1 --tokenizer byte", "nor token files (.bin)"}}) {
    check_parts(refusal(train(one.data, out, split_words(one.options))), {one.message});
  }
  CHECK_FALSE(fs::exists(out));
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
  CHECK(refusal(words("eval", start, "--data", data, "--window -1")) ==
        "error: --window: expected at least 0, got -1");
  CHECK(contains(refusal(words("attention", start, "--text abcdefgh --window 5")),
                 "the text has 8 tokens, more than the 5 tokens of the context length"));
  CHECK(run_headlight({"heads", start, "--data", data, "--window", "8"}).exit_code == 0);
}
}  // namespace fine_tuning_test
