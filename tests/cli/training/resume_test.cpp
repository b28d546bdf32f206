#include "support/test.h"

// sessions/resume.txt has the other tests of resumed runs.

TEST_CASE("texts of a checkpoint cannot control a terminal") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(words("train --data", folder.write("data.txt", std::string(400, 'a')), "--out_dir", run,
               "--n_layer 1 --n_head 1 --n_embd 8 --block_size 16 --max_iters 2"));
  const fs::path latest = fs::canonical(fs::path(run) / "latest");
  json state = json::parse(file_contents(latest / "state.json"));
  state["build"] = "of \x1b]0;x\x07 \xC2\x9B";
  write_bytes(latest / "state.json", state.dump());
  fs::remove(latest / "MANIFEST.json");
  write_manifest(latest);
  const std::string resumed = log_of({"train", "--resume", run, "--max_iters", "3"});
  CHECK(contains(resumed, "by headlight of \\x1b]0;x\\x07 \\xc2\\x9b, now "));
  CHECK_FALSE(contains(resumed, "\x1b"));
}
