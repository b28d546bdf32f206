#include "support/test.h"

namespace data_weights_test {
// Training on several weighted sources, with the real program.

class Given {
 public:
  Given() {
    std::string letters;
    std::string digits;
    for (int i = 0; i < 200; ++i) {
      letters += std::string(1, static_cast<char>('a' + i % 26)) + "bc\n";
      digits += std::to_string(i * 7919 % 1000) + "\n";
    }
    a_ = folder_.write("a.txt", letters);
    b_ = folder_.write("b.txt", digits);
  }

  const TemporaryFolder& folder() const { return folder_; }
  std::string a(const std::string& weight = "") const { return a_ + weight; }
  std::string b(const std::string& weight = "") const { return b_ + weight; }

  Arguments train(const std::string& out, const Arguments& more) const {
    return changed({"train",
                    "--out_dir",
                    folder_.at(out),
                    "--tokenizer",
                    "byte",
                    "--n_layer",
                    "1",
                    "--n_head",
                    "1",
                    "--n_embd",
                    "8",
                    "--block_size",
                    "8",
                    "--batch_size",
                    "6",
                    "--max_iters",
                    "12",
                    "--warmup_iters",
                    "2",
                    "--lr_decay_iters",
                    "12",
                    "--eval_iters",
                    "2",
                    "--log_level",
                    "info",
                    "--save_interval",
                    "5"},
                   more);
  }
  // Weights of the model after a training run.
  std::string trained(const std::string& out, const Arguments& more) const {
    output_of(train(out, more));
    return weights_of(folder_.at(out));
  }

 private:
  TemporaryFolder folder_;
  std::string a_;
  std::string b_;
};

TEST_CASE("only the ratio of the source weights matters for training", "[cli][train]") {
  const Given given;
  const std::string twice = given.trained("twice", {"--data", given.a(":2"), given.b(":1")});
  CHECK(given.trained("again", {"--data", given.a(":4") + "," + given.b(":2")}) == twice);
  CHECK(given.trained("usual", {"--data", given.a(":2"), given.b()}) == twice);
  CHECK(given.trained("thrice", {"--data", given.a(":3"), given.b(":1")}) != twice);
  CHECK(given.trained("none", {"--data", given.a(), given.b()}) != twice);
  check_refused(given.train("bad", {"--data", given.a(":0"), given.b()}),
                {"a.txt:0: expected a weight above 0"});
  check_refused(given.train("bad", {"--data", given.a(":x"), given.b()}),
                {"a.txt:x: No such file or directory"});
}

TEST_CASE("a run on weighted sources resumes bit for bit at any thread count", "[cli][train]") {
  const Given given;
  for (const std::string batching : {"packed", "padded", "bucketed"}) {
    const Arguments data{"--data",      given.a(":2"), given.b(":0.7"),
                         "--documents", "line",        "--batching",
                         batching,      "--threads",   "1"};
    const std::string whole = given.trained("whole." + batching, data);
    given.trained("parts." + batching, changed(data, {"--max_iters", "7"}));
    output_of({"train", "--resume", "--out_dir", given.folder().at("parts." + batching),
               "--max_iters", "12", "--threads", "2"});
    CHECK(weights_of(given.folder().at("parts." + batching)) == whole);
  }
}

TEST_CASE("a file whose name contains a colon is read without a weight", "[cli][train]") {
  const Given given;
  const std::string odd = given.folder().write("a.txt:2", std::string(500, 'x'));
  const std::string messages =
      run_headlight(given.train("run", {"--data", odd, "--tokenizer", "char"})).err;
  CHECK(messages.find("450 training tokens") != std::string::npos);
}

TEST_CASE("weighted token files train to the bits of their weighted texts", "[cli][train]") {
  const Given given;
  const std::string text = given.trained("text", {"--data", given.a(":2"), given.b(":1")});
  const auto encoded = [&](const std::string& name, const std::string& file) {
    output_of({"tokenizer", "encode", given.folder().at("text"), file, "--special_tokens", "off",
               "--out", given.folder().at(name)});
    return given.folder().at(name);
  };
  const std::string a = encoded("a.bin", given.a());
  const std::string b = encoded("b.bin", given.b());
  CHECK(given.trained("ids", {"--data", a + ":2", b + ":1"}) == text);
}
}  // namespace data_weights_test
