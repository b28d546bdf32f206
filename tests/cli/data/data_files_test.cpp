#include "support/bytes/compressed.h"
#include "support/saved_model.h"
#include "support/test.h"

// Compressed text input. sessions/data.txt has the other forms.

TEST_CASE("compressed files and input are read as the text in them") {
  const SavedModel given;
  const std::string lines = "{\"text\": \"ab\"}\n{\"text\": \"\"}\n\"cd\"\n";
  const json plain =
      report_of({"eval", given.model, "--data", given.folder.write("a.jsonl", lines)});
  const std::string small = given.folder.write("b.jsonl.zst", zstandard(lines));
  CHECK(report_of({"eval", given.model, "--data", small}) == plain);
  const std::string zipped = given.folder.write("c.jsonl.gz", gzip(lines));
  CHECK(output_of(words("tokenizer encode", given.model, zipped, "--json")) ==
        "{\"ids\": [[97, 98], [], [99, 100]]}\n");
  // A run that learns a tokenizer reads its input twice.
  const std::string text(400, 'a');
  const Arguments learns = words(
      "train --data - --out_dir", given.folder.at("run"),
      "--n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --max_iters 1 --eval_iters 1 --threads 1");
  CHECK(run_headlight_reading(gzip(text), learns).exit_code == 0);
}
