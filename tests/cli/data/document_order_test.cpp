#include <filesystem>

#include "support/catch.h"
#include "support/commands.h"
#include "support/program.h"
#include "support/runs.h"

namespace document_order_test {

// Document order of resumed runs, with the real program.
using namespace headlight::test;

namespace {

namespace fs = std::filesystem;

Arguments train(const ScratchFolder& folder, const std::string& out, const Arguments& more) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text +=
        "line " + std::string(static_cast<std::size_t>(i * 7 % 20), 'x') + std::to_string(i) + "\n";
  }
  return changed({"train",
                  "--data",
                  folder.write("a.txt", text),
                  "--documents",
                  "line",
                  "--batching",
                  "bucketed",
                  "--out_dir",
                  folder.at(out),
                  "--tokenizer",
                  "byte",
                  "--n_layer",
                  "1",
                  "--n_head",
                  "1",
                  "--n_embd",
                  "8",
                  "--block_size",
                  "16",
                  "--max_iters",
                  "12",
                  "--warmup_iters",
                  "2",
                  "--lr_decay_iters",
                  "12",
                  "--batch_size",
                  "6"},
                 more);
}

std::string state_of(const fs::path& run) { return file_contents(run / "latest" / "state.json"); }

}  // namespace

TEST_CASE("resumed runs go on in their order of documents", "[cli][train]") {
  const ScratchFolder folder;
  const Arguments listed{"--document_order", "listed"};
  output_of(train(folder, "whole", listed));
  output_of(train(folder, "old", changed(listed, {"--max_iters", "7"})));
  const ProgramResult resumed =
      run_headlight({"train", "--resume", "--out_dir", folder.at("old"), "--max_iters", "12"});
  CHECK(resumed.exit_code == 0);
  CHECK(resumed.err.find("\"listed\" (was") == std::string::npos);
  CHECK(weights_of(folder.at("old")) == weights_of(folder.at("whole")));
  CHECK(state_of(folder.at("old")).find("\"data_order\": 1,") != std::string::npos);

  output_of(train(folder, "new", {}));
  CHECK(weights_of(folder.at("new")) != weights_of(folder.at("whole")));
  CHECK(state_of(folder.at("new")).find("\"data_order\": 2,") != std::string::npos);
  output_of(train(folder, "parts", {"--max_iters", "7"}));
  output_of({"train", "--resume", "--out_dir", folder.at("parts"), "--max_iters", "12"});
  CHECK(weights_of(folder.at("parts")) == weights_of(folder.at("new")));
}

TEST_CASE("a run may be given another order, with which an epoch begins", "[cli][train]") {
  const ScratchFolder folder;
  output_of(train(folder, "run", {"--max_iters", "7"}));
  const ProgramResult resumed =
      run_headlight({"train", "--resume", "--out_dir", folder.at("run"), "--max_iters", "12",
                     "--document_order", "listed", "--log_level", "info"});
  CHECK(resumed.err.find("document_order = \"listed\" (was \"computed\")") != std::string::npos);
  CHECK(resumed.err.find("begins in a new order") != std::string::npos);
  CHECK(state_of(folder.at("run")).find("\"data_order\": 1,") != std::string::npos);
}

}  // namespace document_order_test
