#include "support/test.h"

// sessions/first_training.txt has the other advice of the program.

TEST_CASE("over-fitting is shown with the best step and advice") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) {  // nothing to learn but these numbers
    text += std::to_string(i * i * 7919 % 100003) + " ";
  }
  const std::string data = folder.write("numbers.txt", text);
  const std::string run = folder.at("run");
  const std::string log =
      log_of(words("train --data", data, "--out_dir", run,
                   "--n_layer 2 --n_head 2 --n_embd 64 --block_size 16 --batch_size 8 "
                   "--max_iters 300 --eval_interval 30 --learning_rate 0.003 "
                   "--validation_fraction 0.3"));
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
