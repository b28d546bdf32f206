#include "support/test.h"

// Training on several weighted sources, with the real program.

TEST_CASE("a run on weighted sources resumes bit for bit at any thread count",
          "[cli][train][long]") {
  const TemporaryFolder folder;
  std::string letters;
  std::string digits;
  for (int i = 0; i < 200; ++i) {
    letters += std::string(1, static_cast<char>('a' + i % 26)) + "bc\n";
    digits += std::to_string(i * 7919 % 1000) + "\n";
  }
  const Arguments train = words(
      "train --data", folder.write("a.txt", letters) + ":2", folder.write("b.txt", digits) + ":0.7",
      "--documents line --tokenizer byte --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 "
      "--batch_size 6 --max_iters 12 --warmup_iters 2 --lr_decay_iters 12 --eval_iters 2 "
      "--save_interval 5 --threads 1");
  for (const std::string batching : {"packed", "padded", "bucketed"}) {
    const std::string whole = folder.at("whole." + batching);
    const std::string parts = folder.at("parts." + batching);
    const Arguments own = changed(train, {"--batching", batching});
    output_of(changed(own, {"--out_dir", whole}));
    output_of(changed(own, words("--max_iters 7 --out_dir", parts)));
    output_of(words("train --resume --out_dir", parts, "--max_iters 12 --threads 2"));
    CHECK(weights_of(parts) == weights_of(whole));
  }
}
