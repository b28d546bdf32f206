#include "support/test.h"

// Advice of the program where a first training goes wrong.

constexpr const char* kPoem = "roses are red, violets are blue\nsugar is sweet, and so are you\n";

Arguments tiny_run(const std::string& data, const std::string& out, const Arguments& more) {
  return changed(
      words("train --data", data, "--out_dir", out,
            "--n_layer 1 --n_head 1 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 8"),
      more);
}

std::string poems(const TemporaryFolder& folder, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += kPoem + std::to_string(i * 7919 % 1000) + "\n";
  }
  return folder.write("poems.txt", text);
}

// 16-bit ids.
std::string id_file(const TemporaryFolder& folder, const std::string& name,
                    const std::vector<int>& ids) {
  std::string bytes;
  for (const int id : ids) {
    bytes += static_cast<char>(id & 0xFF);
    bytes += static_cast<char>(id >> 8);
  }
  return folder.write(name, bytes);
}

TEST_CASE("a text instead of a configuration is refused with --data", "[cli]") {
  const TemporaryFolder folder;
  const std::string poem = folder.write("poems.txt", kPoem);
  check_refused({"train", poem}, {"expected a configuration file in TOML", "--data " + poem});
  check_refused({"train", folder.path().string()}, {"--data " + folder.path().string()});
}

TEST_CASE("all bad files are named at once", "[cli]") {
  const TemporaryFolder folder;
  folder.write("texts_a.txt", "caf\xE9 au lait, d\xE9j\xE0 vu");
  folder.write("texts_b.txt", kPoem);
  folder.write("texts_c.txt", "\xFF\xFE\x01");
  check_refused(tiny_run(folder.at("texts_*.txt"), folder.at("run"), {}),
                {"2 of 3 files",
                 "texts_a.txt: invalid UTF-8 at byte 3 (if it is Latin-1: iconv -f "
                 "ISO-8859-1 -t UTF-8 ",
                 "texts_c.txt: expected UTF-8, got UTF-16"});
  check_refused(tiny_run(folder.at("none.txt"), folder.at("run"), {"--validation_data", "no.txt"}),
                {"none.txt"});
  check_refused({"eval", "model", "--data", folder.at("one.txt"), folder.at("two.txt")}, {"model"});
}

TEST_CASE("token ids without a text get a vocabulary of numbers", "[cli]") {
  const TemporaryFolder folder;
  std::vector<int> ids;
  for (int i = 0; i < 200; ++i) {
    ids.insert(ids.end(), {399, 12, 300, 7});
  }
  const std::string data = id_file(folder, "midi.bin", ids);
  const std::string run = folder.at("run");
  check_refused(tiny_run(data, run, {}), {"no char tokenizer", "set tokenizer to ids"});
  const Arguments train =
      tiny_run(data, run, {"--tokenizer", "ids", "--max_iters", "150", "--learning_rate", "0.01"});
  CHECK(contains(log_of(train), "a vocabulary of the ids 0 to 399"));
  const auto report = report_of(
      {"generate", run, "--prompt", "399 12", "--temperature", "0", "--max_new_tokens", "4"});
  CHECK(report["text"] == " 300 7 399 12");
  check_refused({"generate", run, "--prompt", "400"}, {"400", "is not one of the 400 tokens"});
}

TEST_CASE("ids above nanoGPT's table are no special tokens", "[cli]") {
  const TemporaryFolder folder;  // with nanoGPT's table of one character
  fs::copy(HEADLIGHT_SOURCE_DIR "/tests/datasets/nanogpt/meta_one.pkl", folder.at("meta.pkl"));
  const std::string good = id_file(folder, "good.bin", std::vector<int>(64, 0));
  std::vector<int> ids(64, 0);
  ids[40] = 1;
  const std::string bad = id_file(folder, "bad.bin", ids);
  log_of(tiny_run(good, folder.at("run"), {"--token_dtype", "uint16"}));
  check_refused(tiny_run(bad, folder.at("bad"), {"--token_dtype", "uint16"}),
                {"token 40 has id 1", "0 to 0"});
}

TEST_CASE("bpe learns a vocabulary of usual size if none is given", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = poems(folder, 60);
  CHECK(contains(log_of(tiny_run(data, folder.at("run"), {"--tokenizer", "bpe"})),
                 "vocab_size is 1024"));
}

TEST_CASE("config.toml says where a warm-up came from", "[cli]") {
  const TemporaryFolder folder;
  log_of(tiny_run(poems(folder, 20), folder.at("run"), {"--warmup_ratio", "0.25"}));
  CHECK(contains(file_contents(folder.at("run/config.toml")),
                 "# warmup_iters = 2  # not given: warmup_ratio max_iters\n"));
}

TEST_CASE("patience counts evaluations, also after a change of eval_interval", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  // Without a learning rate no evaluation after the first is better.
  log_of(tiny_run(poems(folder, 20), run,
                  {"--learning_rate", "0", "--eval_interval", "4", "--max_iters", "12"}));
  const std::string log = log_of(
      {"train", "--resume", run, "--eval_interval", "1", "--patience", "5", "--max_iters", "40"});
  CHECK(contains(log, "no better validation loss in 5 evaluations (patience)"));
  CHECK(json_lines(run + "/metrics.jsonl").back()["iteration"] == 15);
}

TEST_CASE("over-fitting is shown with the best step and advice", "[cli]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) {  // nothing to learn but these numbers
    text += std::to_string(i * i * 7919 % 100003) + " ";
  }
  const std::string data = folder.write("numbers.txt", text);
  const std::string run = folder.at("run");
  const std::string log =
      log_of(tiny_run(data, run,
                      {"--n_layer", "2", "--n_head", "2", "--n_embd", "64", "--block_size", "16",
                       "--batch_size", "8", "--max_iters", "300", "--eval_interval", "30",
                       "--learning_rate", "0.003", "--validation_fraction", "0.3"}));
  check_parts(log, {"o: validation loss", "validation loss: best ", "over-fitting: since step ",
                    "--dropout 0.2"});

  const ProgramResult seen = run_headlight({"eval", run + "/best", "--data", data});
  CHECK(contains(seen.err, "the run trained on this text"));
  const std::string excerpt = folder.write("copy.md", text.substr(20, 120));
  CHECK(contains(run_headlight({"eval", run, "--data", excerpt}).err,
                 "the run trained on this text"));
  const std::string held_out = folder.write("held_out.txt", text.substr(text.size() * 8 / 10));
  CHECK_FALSE(contains(run_headlight({"eval", run, "--data", held_out}).err,
                       "the run trained on this text"));
}
