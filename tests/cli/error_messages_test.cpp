#include <sys/wait.h>

#include "support/test.h"

namespace error_messages_test {
// Exact texts of the error messages that no other test checks.

// Runs a command that must be refused. Returns its only message, without "error: ".
std::string refusal(const Arguments& arguments) {
  const ProgramResult result = run_headlight(arguments);
  UNSCOPED_INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  const std::vector<std::string> lines = result.messages();
  CHECK(lines.size() == 1);
  const std::string prefix = "error: ";
  CHECK((!lines.empty() && lines[0].rfind(prefix, 0) == 0));
  return lines.empty() ? "" : lines[0].substr(prefix.size());
}

// Model of two layers with two heads, and a text.
struct Given {
  Given() {
    std::filesystem::create_directory(model);
    write_model_files(model, *test::lively_model(257, 32), ByteTokenizer());
  }

  // Runs `command` on the model, which must refuse it. Returns the message.
  std::string refused(const std::string& command, const Arguments& options) const {
    Arguments arguments{command, model};
    arguments = headlight::test::changed(std::move(arguments), options);
    return refusal(arguments);
  }
  Arguments with_data(const Arguments& options) const {
    Arguments all{"--data", text};
    return headlight::test::changed(std::move(all), options);
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "A text of some words, and of some more words.");
};

TEST_CASE("rules that many options share are refused with the name of the option", "[cli]") {
  const Given given;
  CHECK(refusal({"train", "-x"}) ==
        "unknown option '-x': options start with --; see headlight train --help");
  CHECK(refusal({"gradcheck", "all"}) ==
        "unexpected argument 'all'; see headlight gradcheck --help");
  CHECK(refusal({"eval"}) == "expected one MODEL, got 0 arguments; see headlight eval --help");
  CHECK(refusal({"eval", "a", "b"}) ==
        "expected one MODEL, got 2 arguments; see headlight eval --help");
  CHECK(refusal({"train", "--threads", "1025"}) == "--threads: expected 1 to 1024, got 1025");
  CHECK(given.refused("generate", {"--temperature", "inf"}) ==
        "--temperature: expected a finite number, got 'inf'");
  CHECK(given.refused("attention", {"--text", "a", "--layers", "0,x"}) ==
        "--layers: expected whole numbers separated by commas, got 'x'");
}

TEST_CASE("quoted text in a message cannot break its line or control a terminal", "[cli]") {
  const Given given;
  CHECK(refusal({"train", "--n_layer", "a\nb\x1b[2J"}) ==
        "--n_layer: expected a whole number, got 'a\\x0ab\\x1b[2J'");
  const std::string config = given.folder.write("a.toml", "n_layer = \"a\\nb\\u001b\"\n");
  CHECK(refusal({"train", config}) ==
        config + ": n_layer: expected a whole number, got a\\x0ab\\x1b");
  CHECK(refusal({"tra\nin"}) ==
        "unknown command 'tra\\x0ain'; did you mean 'train'? (see headlight "
        "--help)");
  const std::string message = refusal({"train", "--n_layer", std::string(100000, '9') + "x"});
  CHECK(message.size() < 1010);
  CHECK(message.rfind("--n_layer: expected a whole number, got '999", 0) == 0);
  CHECK(message.find("999...999") != std::string::npos);
  CHECK(message.substr(message.size() - 5) == "999x'");
}

TEST_CASE("a path that the system refuses is named with the system's reason", "[cli]") {
  const Given given;
  const std::string name(5000, 'n');
  for (const Arguments& arguments :
       {Arguments{"train", "--data", name, "--log_level", "error"}, Arguments{"info", name},
        Arguments{"eval", name}, Arguments{"tokenizer", "info", name}, Arguments{"train", name}}) {
    const std::string message = refusal(arguments);
    CAPTURE(message);
    CHECK(message.find("nnnnn") != std::string::npos);
  }
  const std::string missing = given.folder.at("missing");
  CHECK(refusal({"eval", missing}) == missing + ": no such directory");
  const std::string file = given.folder.write("file", "x");
  CHECK(given.refused("attention", {"--text", "ab", "--out", file + "/maps"})
            .rfind(file + "/maps: cannot create this directory", 0) == 0);
}

TEST_CASE("a message calls a value an option only if it can come from no other place", "[cli]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("negative.toml", "vocab_size = -5\n");
  const std::string line = "vocab_size: expected at least 0, got -5";
  CHECK(refusal({"info", file, "--vocab_size", "65"}) == line);
  CHECK(refusal({"train", file}) == line);
  CHECK(refusal({"bench", "--config", file}) == line);
  CHECK(refusal({"train", "--batching", "some"}) ==
        "batching: expected padded, bucketed or packed, got 'some'");
  const std::string typed = folder.write("typed.toml", "seed = \"a\"\n");
  CHECK(refusal({"train", typed, "--seed", "1"}) ==
        typed + ": seed: expected a whole number, got a");
  CHECK(refusal({"lab", "--lang", "fr"}) == "--lang: expected en or ko, got 'fr'");
  CHECK(refusal({"gradcheck", "--products", "mkl"}) ==
        "--products: expected own, blas or auto, got 'mkl'");
}

TEST_CASE("attention names the option that it refuses", "[cli]") {
  const Given given;
  const auto error = [&](const Arguments& options) { return given.refused("attention", options); };
  CHECK(error({}) == "expected either --text or --file");
  CHECK(error({"--text", ""}) == "--text: expected a text, got an empty one");
  CHECK(error({"--text", "a\xFF"}) == "--text: invalid UTF-8 at byte 1");
  CHECK(error({"--text", "a", "--max_tokens", "-1"}) ==
        "--max_tokens: expected at least 0, got -1");
  CHECK(error({"--text", "a", "--max_documents", "-1"}) ==
        "--max_documents: expected at least 0, got -1");
  CHECK(error({"--text", "a", "--layers", "0", "--heads", "0.1"}) ==
        "--layers: cannot be combined with --heads 0.1, which names layers");
  CHECK(error({"--text", "a", "--heads", "9.0"}) ==
        "--heads: the model has layers 0 to 1, got 9.0");
  const std::string other = given.folder.write(
      "heads.json", R"({"heads": [{"head": "3.0", "verdict": "x", "score": 1}]})");
  CHECK(
      error({"--text", "a", "--scores", other}) ==
      other +
          ": contains head 3.0, which the model does not have; expected the scores of this model");
  CHECK(error({"--text", "a", "--documents", "foo"}) ==
        "--documents: expected none, line, blank_line or token, got 'foo'");
  CHECK(error({"--text", "a", "--view", "foo"}) ==
        "--view: expected model, head, neuron, grid or terminal, got 'foo'");
  CHECK(error({"--text", "a", "--compare_text", ""}) ==
        "--compare_text: expected a text, got none");
  CHECK(error({"--text", "a", "--format", ""}) ==
        "--format: expected some of npz, json, svg, png, html, bertviz or text, got none");
}

TEST_CASE("commands on heads name the option that they refuse", "[cli]") {
  const Given given;
  const std::string out = given.folder.at("out");
  CHECK(given.refused("patch", {"--clean", "", "--corrupt", "abd"}) == "--clean: expected a text");
  CHECK(given.refused("patch",
                      {"--clean", "abc", "--corrupt", "abd", "--answer", "a", "--wrong", "a"}) ==
        "--wrong: expected a token other than the answer, got 'a' for both; name them "
        "with answer and wrong");
  const std::string longer(40, 'a');
  CHECK(given.refused("attribute", {"--text", longer}) ==
        "--text: expected at most 32 tokens, the context length of the model, got 40");
  CHECK(given.refused("patch",
                      {"--clean", longer, "--corrupt", longer, "--answer", "a", "--wrong", "b"}) ==
        "--clean: expected at most 32 tokens, the context length of the model, got 40");
  CHECK(given.refused("ablate", given.with_data({"--pairs", "1"})) ==
        "--pairs: expected 0 or at least 2 heads, got 1");
  CHECK(given.refused("ablate", given.with_data({"--heads", "9.9"})) ==
        "--heads: the model has layers 0 to 1, got 9.9");
  CHECK(given.refused("heads", given.with_data({"--seed", "-5"})) ==
        "--seed: expected at least 0, got -5");
  CHECK(given.refused("heads", {"--text", "abc", "--documents", "line"}) ==
        "--documents: needs --data");
  CHECK(given.refused("heads", {"--over_time", "--filter", "layer=0"}) ==
        "--filter: cannot be combined with --over_time");
  CHECK(given.refused("prune", {"--heads", "0.1", "--out", out, "--rounds", "2"}) ==
        "--rounds: needs --keep or --until_loss");
  CHECK(given.refused("prune", {"--heads", "0.1", "--out", out + "/a/b"}) ==
        out + "/a/b: its parent directory " + out + "/a does not exist");
  CHECK(given.refused("prune", given.with_data({"--keep", "2.5", "--out", out})) ==
        "--keep: expected a whole number or a share like 50%, got 2.5");
  CHECK(given.refused("eval", given.with_data({"--documents", "lines"})) ==
        "--documents: expected none, line, blank_line or token, got 'lines'");
  CHECK(given.refused("eval", given.with_data({"--separator", "x"})) ==
        "--separator: needs --documents token");
  CHECK(given.refused("eval", given.with_data({"--documents", "token", "--separator", ""})) ==
        "--separator: expected a text, got none");
  CHECK(given.refused("eval", given.with_data({"--documents", "token", "--separator", "a\xFF"})) ==
        "--separator: invalid UTF-8 at byte 1");
  CHECK(given.refused("generate", {"--start", "a\xFF"}) == "--start: invalid UTF-8 at byte 1");
  CHECK(given.refused("info", {"--vocab_size", "7"}) ==
        "--vocab_size: needs a configuration, " + given.model + " is a model");
  CHECK(given.refused("heads", given.with_data({"--columns", ""})) ==
        "--columns: expected names of columns, got none");
  CHECK(refusal({"lab", "params", "--seed", "-1"}) == "--seed: expected at least 0, got -1");
  CHECK(given.refused("prune", {"--heads", "0.0", "--out", out, "--finetune_iters", "2"}) ==
        "--data: expected a text file to fine-tune on");
  CHECK(given.refused("prune", given.with_data({"--heads", "0.0", "--out", out, "--finetune_iters",
                                                "2", "--learning_rate", "0"})) ==
        "--learning_rate: expected a number above 0, got 0");
  CHECK(given.refused("eval", given.with_data({"--batch_size", "0"})) ==
        "--batch_size: expected at least 1, got 0");
  const std::string ids = given.folder.write("ids.bin", std::string(8, '\1'));
  CHECK(given.refused("eval", {"--data", ids, "--documents", "line"}) ==
        "--documents: " + ids +
            " contains one stream of token ids; set documents = none, or add an index of its "
            "documents (.idx)");
}

TEST_CASE("bench and export and info name the missing or invalid option or file", "[cli]") {
  const Given given;
  const std::string config = given.folder.write(
      "a.toml", "n_layer = 1\nn_head = 1\nn_embd = 4\nblock_size = 8\nvocab_size = 16\n");
  const std::string nothing = given.folder.write("nothing.toml", "n_layer = 1\n");
  CHECK(refusal({"bench", "train", "--config", nothing}) ==
        "vocab_size: needed, because bench reads no data; set it in the configuration or by "
        "--vocab_size");
  CHECK(refusal({"bench", "gemm", "--signature"}) ==
        "bench: --signature measures nothing; leave out --signature or the kind");
  CHECK(refusal({"bench", "generate", "--config", config, "--prompt_tokens", "0"}) ==
        "--prompt_tokens: expected at least 1, got 0");
  CHECK(refusal({"bench", "generate", "--config", config, "--new_tokens", "1"}) ==
        "--new_tokens: expected at least 2, got 1");
  CHECK(given.refused("export", {"--out", given.folder.at("out")}) ==
        "--to: expected hf, nanogpt, gguf, npz or safetensors");
  const std::string bpe = given.folder.write("bpe.toml", "tokenizer = \"bpe\"\n");
  CHECK(refusal({"info", bpe}) == "--vocab_size: needed, because the configuration names no data");
  CHECK(refusal({"info", nothing}) ==
        "--vocab_size: needed, because the configuration names no data");
}

TEST_CASE("tokenizer names the missing or invalid option or file", "[cli]") {
  const Given given;
  const auto train = [](const Arguments& options) {
    Arguments arguments{"tokenizer", "train"};
    arguments = headlight::test::changed(std::move(arguments), options);
    return refusal(arguments);
  };
  CHECK(train({"--vocab_size", "300"}) == "--data: expected a text file");
  CHECK(train({"--data", given.text}) == "--vocab_size: expected the number of tokens to learn");
  CHECK(train({"--data", given.text, "--vocab_size", "300"}) ==
        "--out: expected a folder to write the tokenizer into");
  CHECK(refusal({"tokenizer", "encode", given.model, "--jsonl", "text", "--text", "a"}) ==
        "--jsonl: needs a file");
  CHECK(refusal({"tokenizer", "encode", given.model, given.folder.at("none")}) ==
        given.folder.at("none") + ": No such file or directory");
  CHECK(refusal({"tokenizer", "encode", given.model, "--file",
                 given.folder.write("deep.jsonl", std::string(100000, '['))}) ==
        given.folder.at("deep.jsonl") + ": line 1: JSON is nested deeper than 64");
  CHECK(refusal({"tokenizer", "decode", given.model}) == "expected either --ids or --file");
  CHECK(refusal({"tokenizer", "show", given.model}) ==
        "expected TOKENIZER TEXT, got 1 arguments; put the text in quotes (see headlight tokenizer "
        "show --help)");
}

TEST_CASE("a tokenizer of a model is not replaced by another", "[cli]") {
  const Given given;
  CHECK(refusal({"tokenizer", "train", "--data", given.text, "--vocab_size", "300", "--out",
                 given.model}) ==
        given.model +
            ": contains a model, whose tokenizer must not be replaced; choose another folder");
}

TEST_CASE("every command fails when its output cannot be written", "[cli]") {
  const Given given;
  for (const std::string& command :
       {std::string("--version"), "info " + given.model,
        "attention " + given.model + " --text ab --format text",
        "generate " + given.model + " --prompt ab --max_new_tokens 2 --log_level error"}) {
    CAPTURE(command);
    const std::string errors = given.folder.at("errors");
    const std::string line =
        std::string(HEADLIGHT_PROGRAM) + " " + command + " >/dev/full 2>" + errors;
    CHECK(WEXITSTATUS(std::system(line.c_str())) == 1);
    CHECK(file_contents(errors) == "error: stdout: cannot be written\n");
  }
}

TEST_CASE("the largest possible numbers as options cause no crash", "[cli]") {
  const Given given;
  const std::string most = "9223372036854775807";
  const std::string model = given.folder.at("hello");
  std::filesystem::create_directory(model);
  write_model_files(model, *test::scripted_model(257, test::script_of("hello")), ByteTokenizer());
  const ProgramResult result =
      run_headlight({"generate", model, "--prompt", "?", "--max_new_tokens", most, "--top_k", most,
                     "--repetition_window", most, "--seed", most});
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out == "?hello\n");
  const ProgramResult evaluated =
      run_headlight({"eval", given.model, "--data", given.text, "--batch_size", most});
  CAPTURE(evaluated.err);
  CHECK(evaluated.exit_code == 0);
}

TEST_CASE("train names the missing or invalid option or file", "[cli]") {
  const Given given;
  const std::string run = given.folder.at("run");
  const auto train = [&](const Arguments& options) {
    Arguments arguments{"train", "--data",      given.text, "--out_dir",   run,    "--n_layer",
                        "1",     "--n_head",    "1",        "--n_embd",    "4",    "--block_size",
                        "4",     "--max_iters", "3",        "--log_level", "error"};
    arguments = headlight::test::changed(std::move(arguments), options);
    return refusal(arguments);
  };
  CHECK(refusal({"train", "a.toml", "b.toml"}) ==
        "expected one configuration file, got a.toml and b.toml");
  CHECK(train({"--separator", "a\xFF"}) == "--separator: invalid UTF-8 at byte 1");
  CHECK(train({"--out_dir", run + "\xFF"}) ==
        "--out_dir: invalid UTF-8 at byte " + std::to_string(run.size()));
  CHECK(train({"--resume"}).rfind(run + ": no such run directory", 0) == 0);
  const std::string one = given.folder.write("one.txt", "A");
  CHECK(train({"--validation_data", one}) ==
        "validation_data: expected at least two consecutive tokens, got 1 tokens in 1 parts; "
        "give more text");
}

TEST_CASE("training that diverges is a failure, not bad input", "[cli]") {
  const Given given;
  const ProgramResult result = run_headlight({"train",
                                              "--data",
                                              given.text,
                                              "--out_dir",
                                              given.folder.at("run"),
                                              "--n_layer",
                                              "1",
                                              "--n_head",
                                              "1",
                                              "--n_embd",
                                              "4",
                                              "--block_size",
                                              "4",
                                              "--max_iters",
                                              "3",
                                              "--log_level",
                                              "error",
                                              "--learning_rate",
                                              "1e30",
                                              "--decay_lr",
                                              "false",
                                              "--warmup_iters",
                                              "0"});
  CHECK(result.exit_code == 1);
  REQUIRE(result.messages().size() == 1);
  CHECK(result.messages()[0].starts_with("error: step "));
  CHECK(result.messages()[0].find("is not finite; try a smaller learning_rate") !=
        std::string::npos);
}

TEST_CASE("help is printed for every usual spelling", "[cli]") {
  const std::string help = run_headlight({"eval", "--help"}).out;
  CHECK(run_headlight({"eval", "-h"}).out == help);
  CHECK(run_headlight({"help", "eval"}).out == help);
  CHECK(refusal({"help", "evil"}).find("did you mean 'eval'") != std::string::npos);
}

TEST_CASE("arguments after -- are not options", "[cli]") {
  const Given given;
  const ProgramResult result =
      run_headlight({"tokenizer", "show", "--json", "--", given.model, "-5"});
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("\"label\":\"-\"") != std::string::npos);
  CHECK(refusal({"tokenizer", "show", given.model, "-5"}) ==
        "unknown option '-5': options start with --; see headlight tokenizer show --help");
}
}  // namespace error_messages_test
