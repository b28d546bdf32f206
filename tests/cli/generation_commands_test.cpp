#include "support/saved_model.h"
#include "support/test.h"

// `generate` and `attention` with the real program and models made in memory.

std::string random_model(const TemporaryFolder& folder) {
  return save_model(folder, "random", *lively_model(257, 32));
}

TEST_CASE("a terminal gets no control characters of prompts, models and files", "[cli]") {
  const TemporaryFolder folder;
  const std::string control =
      "a\x1B]0;t\x07\xC2\x9B"
      "31mb\x7F";
  const std::string model = save_model(folder, "model", *scripted_model(257, script_of(control)));
  const std::vector<std::vector<std::string>> commands{
      {"generate", model, "--prompt", "?" + control},
      {"generate", model, "--prompt", "?" + control, "--stream"},
      {"generate", model, "--prompt", "?" + control, "--json"},
      {"tokenizer", "decode", model, "--ids", "97,27,93,48,194,155,127"},
  };
  for (const std::vector<std::string>& command : commands) {
    const std::string shown = run_headlight_typing({}, command).out;
    INFO(shown);
    CHECK(contains(shown, command[0] == "generate" ? "b" : "a"));
    for (const char* sequence : {"\x1B]", "\x07", "\xC2\x9B", "\x7F"}) {
      CHECK_FALSE(contains(shown, sequence));
    }
  }
  // Other readers get the bytes.
  CHECK(output_of({"generate", model, "--prompt", "?"}) == "?" + control + "\n");
}

TEST_CASE("attention writes the patterns of all heads as arrays", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("maps");
  output_of({"attention", random_model(folder), "--text", "a\xC3\xA9", "--out", out});
  const TensorMap arrays = npz_arrays(out + "/attention.npz");
  REQUIRE(arrays.size() == 4);
  const Tensor maps = arrays.at("blocks.1.attn.hook_pattern");
  CHECK(maps.shape() == Shape({1, 2, 3, 3}));
  CHECK(maps.dtype() == DType::float32);
  CHECK(arrays.at("blocks.1.attn.heads").dtype() == DType::int32);
}

TEST_CASE("attention writes a padded batch of documents", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("maps");
  const std::string file = folder.write("lines.txt", "abc\n\ndefgh\nij\n");
  const std::string printed = output_of(
      words("attention", random_model(folder), "--file", file,
            "--documents line --max_documents 2 --heads 1.0,0.1 --format json,npz --out", out));
  CHECK(printed == "wrote " + out + "/attention.npz\nwrote " + out + "/tokens.json\n");
  const TensorMap arrays = npz_arrays(out + "/attention.npz");
  CHECK(arrays.at("blocks.0.attn.hook_pattern").shape() == Shape({2, 1, 5, 5}));
  CHECK(arrays.at("lengths").to_vector() == std::vector<double>{3, 5});
  CHECK(arrays.at("tokens").to_vector() ==
        std::vector<double>{97, 98, 99, 256, 256, 100, 101, 102, 103, 104});
  const json tokens = json::parse(file_contents(out + "/tokens.json"));
  CHECK(tokens["documents"].size() == 2);
  CHECK(tokens["layers"] ==
        json::parse(R"([{"layer": 0, "heads": [1]}, {"layer": 1, "heads": [0]}])"));
}

TEST_CASE("generate answers all prompts of a file, each as if it were alone", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = random_model(folder);
  std::string lines = "{\"id\": \"a\", \"prompt\": \"once\"}\n\"twice\"\n{\"text\": \"thrice\"}\n";
  for (int i = 0; i < 40; ++i) {  // more than the engine computes at once
    lines += "{\"prompt\": \"" + std::string(static_cast<std::size_t>(i % 9) + 1, 'x') + "\"}\n";
  }
  const std::string file = folder.write("prompts.jsonl", lines);
  const Arguments sampling{"--n", "12", "--seed", "5", "--temperature", "0.9", "--ignore_eos"};
  const auto with_sampling = [&](const Arguments& arguments) {
    return changed(arguments, sampling);
  };
  const auto answers = [&](const Arguments& arguments) {
    std::istringstream out(output_of(with_sampling(arguments)));
    std::vector<json> found;
    for (std::string line; std::getline(out, line);) {
      found.push_back(json::parse(line));
    }
    return found;
  };
  const std::vector<json> all = answers({"generate", model, "--prompts", file});
  REQUIRE(all.size() == 43);
  CHECK(all[0]["id"] == "a");
  CHECK_FALSE(all[1].contains("id"));
  for (const std::size_t number : {0U, 1U, 2U, 42U}) {
    const json& one = all[number];
    CHECK(one["index"] == number);
    CHECK(one["tokens"] == 12);
    const json alone =
        report_of(with_sampling({"generate", model, "--prompt", one["prompt"].get<std::string>()}));
    CHECK(one["text"] == alone["text"]);
  }
  CHECK(all[1]["prompt"] == "twice");
  const std::vector<json> sampled =
      answers({"generate", model, "--prompts", file, "--num_samples", "2", "--logprobs", "1"});
  CHECK(sampled.at(0)["samples"].size() == 2);
  CHECK(sampled.at(0)["logprobs"].size() == 12);
  CHECK(sampled.at(0)["samples"][0]["text"] == all[0]["text"]);
}
