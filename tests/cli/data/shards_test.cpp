#include "support/test.h"

// Training on folders of token files, with the real program.

Arguments train(const std::string& data, const std::string& out, const std::string& batching) {
  return {"train", "--data",      data,     "--out_dir",    out,  "--tokenizer",
          "byte",  "--batching",  batching, "--n_layer",    "1",  "--n_head",
          "1",     "--n_embd",    "8",      "--block_size", "16", "--batch_size",
          "4",     "--max_iters", "30",     "--eval_iters", "2",  "--bucket_window",
          "3"};
}

TEST_CASE("shards provide their tokenizer and need documents for batches of documents",
          "[cli][train]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("a.txt", std::string(3000, 'a'));
  output_of({"tokenizer", "train", text, "--vocab_size", "260", "--out", folder.at("bpe")});
  CHECK(output_of(words("tokenizer encode", folder.at("bpe"), text, "--out", folder.at("ids"),
                        "--shard_tokens 500"))
            .starts_with(folder.at("ids") + ": "));
  CHECK(contains(output_of(words("tokenizer encode", folder.at("bpe"), text, "--out",
                                 folder.at("ids"), "--shard_tokens 500")),
                 "already existed"));
  Arguments packed = train(folder.at("ids"), folder.at("run"), "packed");
  packed = changed(packed, {"--tokenizer", "char"});
  output_of(packed);
  CHECK(report_of({"info", folder.at("run")})["vocab_size"] == 260);
  check_refused(train(folder.at("ids"), folder.at("other"), "packed"),
                {"shard_000000.bin: its ids were made with another tokenizer"});
  for (const auto& entry : fs::directory_iterator(folder.at("ids"))) {
    if (entry.path().extension() == ".idx") {
      fs::remove(entry.path());
    }
  }
  check_refused(changed(packed, words("--batching padded --out_dir", folder.at("padded"))),
                {"batching: padded needs documents; ", "no index of documents (.idx) next to"});
}
