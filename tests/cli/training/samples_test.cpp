#include "support/test.h"

// `headlight train --sample_interval` with the real program.

// Arguments for 12 steps of a tiny model.
Arguments training(const TemporaryFolder& folder, const std::string& out,
                   const Arguments& more = {}) {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "Mina has a red kite, number " + std::to_string(i) + ". The kite flies.\n";
  }
  Arguments arguments =
      words("train --data", folder.write("data.txt", text), "--out_dir", folder.at(out),
            "--n_layer 1 --n_head 2 --n_embd 16 --block_size 24 --batch_size 4 --warmup_iters 2 "
            "--max_iters 12 --lr_decay_iters 12 --eval_interval 4 --learning_rate 0.01");
  return changed(std::move(arguments), more);
}

const Arguments kSampling =
    words("--sample_interval 4 --sample_prompt 'Mina has' --sample_tokens 10");

TEST_CASE("samples are written as the run goes on and change no bit of it", "[cli]") {
  const TemporaryFolder folder;
  output_of(training(folder, "plain"));
  output_of(training(folder, "sampled", kSampling));
  CHECK(weights_of(folder.at("plain")) == weights_of(folder.at("sampled")));
  CHECK_FALSE(fs::exists(folder.at("plain/samples.jsonl")));

  const auto samples = json_lines(folder.at("sampled") + "/samples.jsonl");
  REQUIRE(samples.size() == 3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(samples[i]["iteration"] == 4 * (i + 1));
    CHECK(samples[i]["prompt"] == "Mina has");
    const auto text = samples[i]["text"].get<std::string>();
    CHECK(text.starts_with("Mina has"));
    CHECK(text.size() > 8);
    CHECK(text.size() <= 8 + 10);
  }
}

TEST_CASE("the last sample equals the output of generate with the same seed", "[cli]") {
  const TemporaryFolder folder;
  output_of(training(folder, "run", kSampling));
  const std::string generated = output_of(words(
      "generate", folder.at("run"), "--prompt 'Mina has' --max_new_tokens 10 --seed 1337 --json"));
  const auto samples = json_lines(folder.at("run") + "/samples.jsonl");
  CHECK(samples.back()["text"].get<std::string>() ==
        "Mina has" + nlohmann::json::parse(generated)["text"].get<std::string>());
}

TEST_CASE("a resumed run appends to its samples without repeating one", "[cli]") {
  const TemporaryFolder folder;
  output_of(training(folder, "whole", kSampling));
  output_of(training(folder, "run", changed(kSampling, {"--max_iters", "8"})));
  REQUIRE(json_lines(folder.at("run") + "/samples.jsonl").size() == 2);
  folder.write("run/samples.jsonl", file_contents(folder.at("run/samples.jsonl")) +
                                        "{\"iteration\":12,\"text\":\"old\"}\n{\"iterat");
  output_of(training(folder, "run", changed(kSampling, {"--resume"})));
  CHECK(file_contents(folder.at("run/samples.jsonl")) ==
        file_contents(folder.at("whole/samples.jsonl")));
}
