#include "support/saved_model.h"
#include "support/test.h"

// `generate` and `attention` with the real program and models made in memory.

// Makes a model that writes "hello" and stops, after a prompt of one byte.
std::string hello_model(const TemporaryFolder& folder) {
  return save_model(folder, "hello", *scripted_model(257, script_of("hello")));
}

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

TEST_CASE("generate prints the prompt and its continuation", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = hello_model(folder);
  CHECK(output_of({"generate", model}) == "hello\n");
  const std::string file = folder.write("prompt.txt", "!");
  for (const auto& [options, text] : std::vector<std::pair<std::string, std::string>>{
           {"--prompt ?", "?hello\n"},
           {"--prompt ? --stream", "?hello\n"},
           {"--prompt ? --no-cache --temp=0", "?hello\n"},
           {"--prompt ? --stop lo", "?hel\n"},
           {"--prompt ? --max_new_tokens 2", "?he\n"},
           {"--prompt ? --n 2", "?he\n"},
           {"--prompt ? --predict 2", "?he\n"},
           {"--prompt ? --n_predict 2", "?he\n"},
           {"--prompt ? --num_samples 2", "?hello\n---------------\n?hello\n"},
           {"--prompt ? --weights float32", "?hello\n"},
           {"--prompt ? --weights bfloat16", "?hello\n"},
           {"--prompt ? --weights int8", "?hello\n"},
           {"--prompt_file " + file, "!hello\n"},
           {"--start FILE:" + file, "!hello\n"},
           {"--start #", "#hello\n"}}) {
    INFO(options);
    CHECK(output_of(changed({"generate", model}, split_words(options))) == text);
  }
}

TEST_CASE("generate reports the times of the prompt and of the tokens", "[cli]") {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_headlight({"generate", hello_model(folder), "--prompt", "?", "--num_samples", "2"});
  REQUIRE(result.messages().size() == 3);
  CHECK(result.messages()[0].rfind("6 tokens: the first after 0.", 0) == 0);
  check_parts(result.messages()[0],
              {"(prompt length 1), then ", " tokens/s; ended by end_of_text"});
  CHECK(result.messages()[2].rfind("2 texts of 12 tokens in ", 0) == 0);
}

TEST_CASE("generate describes its result as JSON", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = hello_model(folder);
  const json one = json::parse(output_of({"generate", model, "--prompt", "?", "--json"}));
  check_json(one, R"({"text": "hello", "prompt": "?", "tokens": 6, "prompt_tokens": 1,
                      "finish_reason": "end_of_text", "prompt_was_cut": false})");
  CHECK(one["tokens_per_second"] > 0);
  CHECK(!one.contains("samples"));
  const json many = json::parse(output_of(
      words("generate", random_model(folder), "--num_samples 3 --n 9 --ignore_eos --json")));
  REQUIRE(many["samples"].size() == 3);
  CHECK(many["text"] == many["samples"][0]["text"]);
  CHECK(many["samples"][0]["text"] != many["samples"][1]["text"]);
  check_json(many, R"({"samples/2/tokens": 9, "finish_reason": "length"})");
}

TEST_CASE("generate warns when the model cannot see the whole prompt", "[cli]") {
  const TemporaryFolder folder;
  const ProgramResult result = run_headlight(
      {"generate", random_model(folder), "--prompt", std::string(33, 'x'), "--n", "1"});
  CHECK(result.exit_code == 0);
  REQUIRE(!result.messages().empty());
  CHECK(result.messages()[0] ==
        "warning: the prompt has 33 tokens, more than the context length of 32: the model reads "
        "only the last 16");
}

TEST_CASE("attention writes arrays and tokens and pictures and lists the files", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("new/maps");
  const json result = json::parse(output_of(
      {"attention", random_model(folder), "--text", "a\xC3\xA9", "--out", out, "--json"}));
  check_json(result, R"({"tokens": 3, "layers": 2, "heads": 4})");
  CHECK(result["directory"] == out);
  CHECK(result["files"] ==
        json::array({out + "/attention.npz", out + "/tokens.json", out + "/layer_0.svg",
                     out + "/layer_1.svg", out + "/attention.html"}));
  for (const json& file : result["files"]) {
    CHECK(!file_contents(file.get<std::string>()).empty());
  }
  const TensorMap arrays = npz_arrays(out + "/attention.npz");
  REQUIRE(arrays.size() == 4);
  const Tensor maps = arrays.at("blocks.1.attn.hook_pattern");
  CHECK(maps.shape() == Shape({1, 2, 3, 3}));
  CHECK(maps.dtype() == DType::float32);
  CHECK(arrays.at("blocks.1.attn.heads").dtype() == DType::int32);
  const json tokens = json::parse(file_contents(out + "/tokens.json"));
  CHECK(tokens["documents"][0]["ids"] == json::array({97, 0xC3, 0xA9}));
  CHECK(tokens["documents"][0]["tokens"] == json::array({"a", "<0xC3>", "<0xA9>"}));
  CHECK(tokens["documents"][0]["text"] == "a\xC3\xA9");
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

TEST_CASE("generate answers the conversations of a file", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = hello_model(folder);
  const std::string source = folder.write("own.jinja", "{{ messages[-1].content }}");
  const std::string file = folder.write(
      "chats.jsonl",
      R"({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "no"}]})"
      "\n"
      R"({"instruction": "?", "output": "no", "category": "x"})");
  const ProgramResult result =
      run_headlight({"generate", model, "--prompts", file, "--chat_template", source});
  REQUIRE(result.exit_code == 0);
  std::istringstream out(result.out);
  for (std::string line; std::getline(out, line);) {
    const json answer = json::parse(line);
    CHECK(answer["text"] == "hello");
    CHECK(answer["prompt"] == json::parse(R"([{"role": "user", "content": "?"}])"));
  }
  CHECK(contains(result.err, "keys that are ignored: \"category\", \"output\""));
  CHECK(contains(refusal({"generate", model, "--prompts", file}),
                 "chats.jsonl: line 1: messages: this model has no chat template"));

  CHECK(contains(refusal({"generate", model, "--prompts", folder.write("a.jsonl", "{\"x\": 1}")}),
                 "line 1: expected a text, or an object with \"prompt\""));
  CHECK_THAT(refusal({"generate", model, "--prompts", folder.write("a.txt", "One day\n")}),
             contains_text("a.txt: line 1: invalid JSON at byte 0") &&
                 contains_text("expected JSON Lines such as \"One day\", {\"prompt\": "));
}
