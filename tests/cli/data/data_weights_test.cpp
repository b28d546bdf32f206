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
    return changed(words("train --out_dir", folder_.at(out),
                         "--tokenizer byte --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 "
                         "--batch_size 6 --max_iters 12 --warmup_iters 2 --lr_decay_iters 12 "
                         "--eval_iters 2 --log_level info --save_interval 5"),
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

TEST_CASE("a run on weighted sources resumes bit for bit at any thread count", "[cli][train]") {
  const Given given;
  for (const std::string batching : {"packed", "padded", "bucketed"}) {
    const Arguments data = words("--data", given.a(":2"), given.b(":0.7"),
                                 "--documents line --batching", batching, "--threads 1");
    const std::string whole = given.trained("whole." + batching, data);
    given.trained("parts." + batching, changed(data, {"--max_iters", "7"}));
    output_of(words("train --resume --out_dir", given.folder().at("parts." + batching),
                    "--max_iters 12 --threads 2"));
    CHECK(weights_of(given.folder().at("parts." + batching)) == whole);
  }
}
}  // namespace data_weights_test
