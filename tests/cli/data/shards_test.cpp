#include "support/test.h"

namespace data_shards_test {
// Training on folders of token files, with the real program.

std::string json_lines_text() {
  std::string text;
  for (int i = 0; i < 90; ++i) {
    text += R"({"text": "document )" + std::string(static_cast<std::size_t>(i * 7 % 40), 'x') +
            std::to_string(i) + "\"}\n";
  }
  return text;
}

Arguments train(const std::string& data, const std::string& out, const std::string& batching) {
  return {"train", "--data",      data,     "--out_dir",    out,  "--tokenizer",
          "byte",  "--batching",  batching, "--n_layer",    "1",  "--n_head",
          "1",     "--n_embd",    "8",      "--block_size", "16", "--batch_size",
          "4",     "--max_iters", "30",     "--eval_iters", "2",  "--bucket_window",
          "3"};
}

TEST_CASE("shards train to the same bits as their text in padded and bucketed batches",
          "[cli][train]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("a.jsonl", json_lines_text());
  const std::string tokenizer = folder.at("text.padded");  // any run with a byte tokenizer serves
  for (const char* batching : {"padded", "bucketed"}) {
    output_of(train(text, folder.at(std::string("text.") + batching), batching));
    const std::string all = folder.at(std::string("all.") + batching);
    output_of(changed(train(text, all, batching), {"--validation_fraction", "0"}));
  }
  const auto report = report_of({"tokenizer", "encode", tokenizer, text, "--special_tokens", "off",
                                 "--out", folder.at("one"), "--shard_tokens", "100000"});
  CHECK(report["shards"] == 1);
  CHECK(report["documents"] == 90);
  const std::string messages =
      run_headlight({"tokenizer", "encode", tokenizer, text, "--special_tokens", "off", "--out",
                     folder.at("many"), "--shard_size", "300", "--log_level", "info"})
          .err;
  CHECK(messages.find("shard_000001.bin: ") != std::string::npos);
  for (const std::string batching : {"padded", "bucketed"}) {
    output_of(train(folder.at("one"), folder.at("one." + batching), batching));
    CHECK(weights_of(folder.at("one." + batching)) == weights_of(folder.at("text." + batching)));
    output_of(changed(train(folder.at("many"), folder.at("many." + batching), batching),
                      {"--validation_fraction", "0"}));
    CHECK(weights_of(folder.at("many." + batching)) == weights_of(folder.at("all." + batching)));
  }
}

TEST_CASE("shards provide their tokenizer and need documents for batches of documents",
          "[cli][train]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("a.txt", std::string(3000, 'a'));
  output_of({"tokenizer", "train", text, "--vocab_size", "260", "--out", folder.at("bpe")});
  CHECK(output_of({"tokenizer", "encode", folder.at("bpe"), text, "--out", folder.at("ids"),
                   "--shard_tokens", "500"})
            .starts_with(folder.at("ids") + ": "));
  CHECK(output_of({"tokenizer", "encode", folder.at("bpe"), text, "--out", folder.at("ids"),
                   "--shard_tokens", "500"})
            .find("already existed") != std::string::npos);
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
  check_refused(changed(packed, {"--batching", "padded", "--out_dir", folder.at("padded")}),
                {"batching: padded needs documents; ", "no index of documents (.idx) next to"});
}
}  // namespace data_shards_test
