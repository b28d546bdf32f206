#include "support/bytes/compressed.h"
#include "support/test.h"

namespace data_files_test {
// Text input from several files, folders, patterns, JSON lines, compressed files and stdin.

using Json = nlohmann::json;

std::string story(char first, int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += std::string(1, first) + " cat sat on mat " + std::to_string(i % 7) + "\n\n";
  }
  return text;
}

// Two texts, a.txt and b.txt, and a JSON lines file.
class Given {
 public:
  Given() : a(folder.write("a.txt", story('a', 40))), b(folder.write("b.txt", story('b', 40))) {
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      lines += Json{{"id", i}, {"text", "a cat sat\n\non mat " + std::to_string(i % 7)}}.dump();
      lines += "\n";
    }
    json = folder.write("c.jsonl", lines);
  }

  Arguments train(const std::string& run, const Arguments& data) const {
    return changed(
        changed({"train", "--out_dir", folder.at(run)}, data),
        words("--tokenizer byte --n_layer 1 --n_head 2 --n_embd 8 --block_size 16 --batch_size 2 "
              "--max_iters 2 --eval_iters 1 --threads 1"));
  }
  // Trains and returns the log messages.
  std::string trained(const std::string& run, const Arguments& data) const {
    return log_of(train(run, data));
  }
  // Trains a model on both texts.
  std::string model() const {
    trained("model", {"--data", a, b});
    return folder.at("model");
  }

  TemporaryFolder folder;
  std::string a;
  std::string b;
  std::string json;
};

// Numbers of training and validation tokens, from the log messages.
std::string counts(const std::string& messages) {
  const std::size_t begin = messages.find("data: ");
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

TEST_CASE("training accepts several files in every common form", "[cli]") {
  const Given given;
  const Arguments first{"--data", given.a, given.b};
  const std::string expected = counts(given.trained("first", first));
  // Of the 800 bytes of each file, the last 80 are for validation. One token separates the files.
  CHECK(expected.starts_with("data: 1,441 training tokens ("));
  CHECK(expected.ends_with("161 validation tokens"));
  const std::string weights = weights_of(given.folder.at("first"));
  given.folder.write("list.toml", "data = [\"" + given.a + "\", \"" + given.b + "\"]\n");
  fs::create_directory(given.folder.at("texts"));
  given.folder.write("texts/a.txt", story('a', 40));
  given.folder.write("texts/b.txt", story('b', 40));
  given.folder.write("texts/README.md", "what this is");
  int number = 0;
  for (const Arguments& data :
       {Arguments{"--data", given.a, "--data", given.b}, Arguments{"--data=" + given.a, given.b},
        Arguments{"--data", given.a + "," + given.b}, Arguments{"--data", given.folder.at("?.txt")},
        Arguments{"--data", given.folder.at("texts")}, Arguments{given.folder.at("list.toml")}}) {
    const std::string run = "run" + std::to_string(number++);
    INFO(run);
    CHECK(counts(given.trained(run, data)) == expected);
    CHECK((weights_of(given.folder.at(run)) == weights));
  }
  CHECK(contains(file_contents(given.folder.at("first/config.toml")),
                 "data = [\"" + given.a + "\", \"" + given.b + "\"]\n"));
  // A resumed run reads the saved settings.
  output_of({"train", "--resume", "--out_dir", given.folder.at("first"), "--max_iters", "3"});
}

TEST_CASE("files of a folder that are not texts and tables read as text get one message each",
          "[cli]") {
  const Given given;
  const std::string texts = given.folder.at("texts");
  fs::create_directory(texts);
  given.folder.write("texts/A.TXT", story('a', 40));
  std::string rows = "id,text\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::to_string(i) + ",one two three\n";
  }
  const std::string table = given.folder.write("texts/b.csv", rows);
  const std::string skipped = "warning: " + texts + ": read 1 file; skipped 1: 1 .csv";
  const std::string look = "warning: " + table + ": looks like CSV, but is read as plain text";
  CHECK(contains(given.trained("run", {"--data", texts}), skipped + "\n"));
  CHECK(contains(given.trained("table", {"--data", given.a, table}), look));
  const std::string model = given.folder.at("run");
  const auto messages_of = [](const Arguments& arguments) {
    return run_headlight(arguments).messages();
  };
  for (const Arguments& start :
       {Arguments{"eval", model, "--data"}, {"tokenizer", "encode", model, "--file"}}) {
    const std::vector<std::string> messages = messages_of(changed(start, {texts}));
    const bool is_eval = start.front() == "eval";  // of a text that the run trained on
    REQUIRE(messages.size() == (is_eval ? 2U : 1U));
    CHECK(messages.front() == skipped);
    CHECK((!is_eval || messages.back().find("the run trained on this text") != std::string::npos));
    const std::vector<std::string> lines = messages_of(changed(start, {table}));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with(look));
  }
}

TEST_CASE("a configuration may follow the data files and a pattern without a match is named",
          "[cli]") {
  const Given given;
  const std::string config = given.folder.write("a.toml", "seed = 5\n");
  const std::string messages = given.trained("run", {"--data", given.a, given.b, config});
  CHECK(contains(messages, "seed = 5\n"));
  CHECK(refusal(given.train("none", {"--data", given.folder.at("*.tex")})) ==
        "error: " + given.folder.at("*.tex") + ": no file matches this pattern");
  CHECK(!fs::exists(given.folder.at("none")));
}

TEST_CASE("training reads standard input but a resumed run does not", "[cli]") {
  const Given given;
  given.trained("plain", {"--data", given.a});
  CHECK(run_headlight_reading(story('a', 40), given.train("piped", {"--data", "-"})).exit_code ==
        0);
  CHECK((weights_of(given.folder.at("piped")) == weights_of(given.folder.at("plain"))));
  const Arguments resume =
      words("train --resume --out_dir", given.folder.at("piped"), "--max_iters 3");
  CHECK(refusal(resume) ==
        "error: --resume: the data came from standard input, which cannot be read again; name a "
        "file with the same text (--data FILE)");
  log_of(changed(resume, {"--data", given.a}));
  CHECK(refusal(given.train("none", {"--data", "-", "--validation_data", "-"})) ==
        "error: validation_data: standard input can be read only once, and data uses it");
  // A run that learns a tokenizer reads the text twice.
  Arguments learns = words(
      "train --data - --out_dir", given.folder.at("learned"),
      "--n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --max_iters 1 --eval_iters 1 --threads 1");
  CHECK(run_headlight_reading(gzip(story('a', 40)), learns).exit_code == 0);
}

TEST_CASE("every command that reads text takes several files", "[cli]") {
  const Given given;
  const std::string model = given.model();
  const Json both = report_of({"eval", model, "--data", given.a, given.b});
  CHECK(both["tokens"] == 1600);
  CHECK(report_of({"eval", model, "--data", given.a, "--data", given.b}) == both);
  CHECK(report_of({"eval", model, "--data", given.folder.at("?.txt")}) == both);
  CHECK(report_of({"eval", "--data", given.a, model})["tokens"] == 799);
  const std::string compressed =
      given.folder.write("c.jsonl.zst", zstandard(file_contents(given.json)));
  CHECK(report_of({"eval", model, "--data", compressed}) ==
        report_of({"eval", model, "--data", given.json}));
  const ProgramResult piped = run_headlight_reading(
      story('a', 40), {"eval", model, "--data", "-", given.b, "--json", "--log_level", "error"});
  REQUIRE(piped.exit_code == 0);
  CHECK(Json::parse(piped.out) == both);
  const Json heads = report_of(words("heads", model, "--data", given.a, given.json,
                                     "--resamples 0 --repeats 0 --redundancy 0 --max_tokens 16"));
  CHECK(heads["sequences"] == 41);
  const Json ablated = report_of({"ablate", model, "--data", given.a, given.b, "--resamples", "2"});
  CHECK(ablated["tokens"] == 1600);
  CHECK(report_of({"importance", model, "--data", given.a, given.b, "--no_ablation"})["tokens"] ==
        1600);
  output_of(words("prune", model, "--heads 0.0 --data", given.a, given.b,
                  "--finetune_iters 1 --finetune_data", given.a, given.json, "--out",
                  given.folder.at("small")));
  const Json maps = report_of(words("attention", model, "--file", given.json,
                                    "--max_documents 2 --max_tokens 8 --format json --out",
                                    given.folder.at("maps")));
  CHECK(maps["tokens"] == 16);
  CHECK(refusal(words("eval --data", given.a, given.b, model)) ==
        "error: --data: it is unclear which of its values is MODEL; write it first: headlight eval "
        "MODEL --data ...");
}

TEST_CASE("a tokenizer learns from files without an option, and is replaced only by force",
          "[cli]") {
  const Given given;
  const std::string bpe = given.folder.at("bpe");
  const Arguments command = words("tokenizer train", given.a, given.json, "--vocab_size 280 --out",
                                  bpe, "--log_level error");
  const Json report = report_of(command);
  CHECK(report["bytes"] == 800 + 40 * 19);
  CHECK(refusal(command) ==
        "error: " + bpe + "/tokenizer.json: already exists; --force replaces it");
  const std::string before = file_contents(bpe + "/tokenizer.json");
  Arguments forced =
      words("tokenizer train --data", given.b, "--vocab_size 270 --out", bpe, "--force");
  output_of(forced);
  CHECK(file_contents(bpe + "/tokenizer.json") != before);
  const std::string ids = given.folder.write("ids.bin", "abcd");
  CHECK(refusal(words("tokenizer train", ids, "--vocab_size 270 --out", bpe, "--force")) ==
        "error: " + ids + ": contains token ids, expected text");
}

TEST_CASE("encode turns documents into ids and puts the end of text after each", "[cli]") {
  const Given given;
  const std::string byte = given.folder.at("byte");
  headlight::save_tokenizer(byte, headlight::ByteTokenizer());
  const std::string lines =
      given.folder.write("d.jsonl.gz", gzip("{\"text\": \"ab\"}\n{\"text\": \"\"}\n\"c\"\n"));
  const std::string out = given.folder.at("ids.bin");
  const Json report = report_of({"tokenizer", "encode", byte, lines, "--out", out});
  check_json(report, R"({"tokens": 5, "bytes": 3})");
  CHECK(file_contents(out) == std::string("a\0b\0\0\1c\0\0\1", 10));
  CHECK(output_of(words("tokenizer encode", byte, lines, "--json")) ==
        "{\"ids\": [[97, 98], [], [99]]}\n");
  const std::string x = given.folder.write("x.txt", "x\n");
  CHECK(output_of({"tokenizer", "encode", byte, x, "--file", x}) == "120 10\n120 10\n");
  CHECK(output_of({"tokenizer", "encode", "--file", x, byte}) == "120 10\n");
  output_of({"tokenizer", "encode", byte, x, "--out", out});
  CHECK(file_contents(out) == std::string("x\0\n\0", 4));
  const ProgramResult piped = run_headlight_reading(
      "{\"body\": \"hi\"}\n", {"tokenizer", "encode", byte, "-", "--jsonl", "body"});
  CHECK(piped.out == "104 105\n");
}

TEST_CASE("a prompt comes through standard input", "[cli]") {
  const Given given;
  const std::string model = given.model();
  const Arguments command =
      words("generate", model, "--prompt_file - --max_new_tokens 1 --json --log_level error");
  const ProgramResult result = run_headlight_reading("a cat", command);
  REQUIRE(result.exit_code == 0);
  CHECK(Json::parse(result.out)["prompt"] == "a cat");
  CHECK(refusal(command) == "error: standard input: is empty");
}

TEST_CASE("short files are trained on whole, and validation data takes several", "[cli]") {
  const Given given;
  const std::string one = given.folder.write("one.txt", "x");
  CHECK(counts(given.trained("short", {"--data", given.a, one})).ends_with("validation tokens"));
  CHECK(counts(given.trained("run", {"--data", given.a, "--validation_data", given.a, given.b}))
            .ends_with("1,601 validation tokens"));
}
}  // namespace data_files_test
