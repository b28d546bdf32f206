#include <nlohmann/json.hpp>

#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/model_directory.h"
#include "headlight/io/safetensors.h"
#include "headlight/text/bpe_tokenizer.h"
#include "support/catch.h"
#include "support/commands.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/tensors.h"

namespace chat_tuning_test {

// Fine-tuning on conversations, and with adapters, with the real program.
using namespace headlight;
using namespace headlight::test;

namespace {

// A model of all bytes with a chat template.
std::string chat_model(const ScratchFolder& folder, const std::string& name = "start",
                       Index width = 16) {
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.resize(257);
  vocabulary.special = {{"<|endoftext|>", 256}};
  LoadedModel loaded{};
  GptConfig config;
  config.vocab_size = 257;
  config.block_size = 128;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = width;
  config.bias = false;
  config.norm_type = NormKind::rms;
  config.position = PositionKind::rope;
  config.activation = Activation::silu;
  config.gated_mlp = true;
  config.n_inner = 24;
  loaded.model = std::make_unique<Gpt>(config, 3);
  loaded.tokenizer = std::make_unique<BpeTokenizer>(std::move(vocabulary));
  set_chat_template(loaded, read_chat_template("chatml"));
  const std::string path = folder.at(name);
  std::filesystem::create_directory(path);
  write_model_files(path, *loaded.model, *loaded.tokenizer);
  return path;
}

std::string conversations(const ScratchFolder& folder) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    lines += R"({"messages": [{"role": "user", "content": "say )" + number +
             R"("}, {"role": "assistant", "content": ")" + number + R"("}]})" + "\n";
  }
  return folder.write("chat.jsonl", lines);
}

std::vector<std::string> tuning(const std::string& start, const std::string& data,
                                const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"train", "--init_from",     start,  "--data",
                                     data,    "--out_dir",       out,    "--batch_size",
                                     "4",     "--learning_rate", "0.01", "--eval_interval",
                                     "3",     "--max_iters",     "6"};
  return changed(std::move(arguments), more);
}

std::string log_of(const std::vector<std::string>& arguments) {
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return result.err + result.out;
}

std::string adapter_of(const std::string& run) {
  return file_contents(run + "/latest/adapter_model.safetensors");
}

const std::vector<std::string> kLora{"--lora_rank", "2"};

std::vector<std::string> with_lora(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = kLora;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("a run with lora_rank trains an adapter that other commands open", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string run = folder.at("run");
  const std::string log = log_of(tuning(start, conversations(folder), run, with_lora()));
  CHECK_THAT(log, contains_text("20 conversations, 20 answers; "));
  CHECK_THAT(log, contains_text("batching padded"));
  CHECK(std::filesystem::exists(run + "/best/adapter_config.json"));
  CHECK_FALSE(std::filesystem::exists(run + "/best/model.safetensors"));
  CHECK_THAT(log_of({"generate", run, "--prompt", "say", "--max_new_tokens", "2"}),
             contains_text("say"));
  const std::string whole = folder.at("whole");
  log_of({"export", run, "--to", "hf", "--out", whole});
  const auto before = load_weights(start);
  const auto after = load_weights(whole);
  CHECK(same_bits(before->weight(Part::token_embedding), after->weight(Part::token_embedding)));
  CHECK_FALSE(same_bits(before->weight(Part::mlp_out, 1), after->weight(Part::mlp_out, 1)));
}

TEST_CASE("heads are tracked on conversations, which have tokens that are context", "[cli]") {
  const ScratchFolder folder;
  const std::string run = folder.at("run");
  log_of(tuning(chat_model(folder), conversations(folder), run, with_lora({"--track_heads", "3"})));
  CHECK(json_lines(run + "/heads.jsonl").size() == 3);  // steps 0, 3 and 6
}

TEST_CASE("a resumed run with an adapter has the same bits", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const std::string format = GENERATE("float32", "int8");
  const std::vector<std::string> six =
      with_lora({"--lora_dropout", "0.1", "--lr_decay_iters", "6", "--warmup_iters", "1",
                 "--base_weights", format, "--track_heads", "3"});
  log_of(tuning(start, data, folder.at("once"), six));
  log_of(changed(tuning(start, data, folder.at("halves"), six), {"--max_iters", "3"}));
  log_of({"train", "--resume", folder.at("halves"), "--max_iters", "6"});
  CHECK(adapter_of(folder.at("halves")) == adapter_of(folder.at("once")));
}

TEST_CASE("an adapter trains over the blocks of a GGUF file as over their expanded weights",
          "[cli]") {
  const ScratchFolder folder;
  const std::string data = conversations(folder);
  const std::string start = folder.at("start.gguf");
  log_of({"export", chat_model(folder, "whole", 32), "--to", "gguf", "--type", "q8_0", "--out",
          start});
  const auto arguments = [&](const std::string& run, const std::string& form) {
    return tuning(start, data, folder.at(run),
                  with_lora({"--lora_dropout", "0.1", "--lr_decay_iters", "6", "--warmup_iters",
                             "1", "--base_weights", form, "--track_heads", "3", "--sample_interval",
                             "3", "--sample_prompt", "say"}));
  };
  const auto loss_of = [&](const std::string& run) {
    return nlohmann::json::parse(
               file_contents(folder.at(run) + "/latest/state.json"))["best_validation_loss"]
        .get<double>();
  };
  log_of(arguments("once", "stored"));
  log_of(arguments("expanded", "float32"));
  CHECK(loss_of("once") == Approx(loss_of("expanded")).epsilon(1e-4));
  log_of(changed(arguments("halves", "stored"), {"--max_iters", "3"}));
  log_of({"train", "--resume", folder.at("halves"), "--max_iters", "6"});
  CHECK(adapter_of(folder.at("halves")) == adapter_of(folder.at("once")));
  CHECK_THAT(log_of({"generate", folder.at("once"), "--prompt", "say", "--max_new_tokens", "2"}),
             contains_text("say"));
}

TEST_CASE("packed matrices under an adapter train nearly as those of float32", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const auto validation_loss = [&](const std::string& format) {
    const std::string run = folder.at(format);
    log_of(tuning(
        start, data, run,
        with_lora({"--base_weights", format, "--sample_interval", "3", "--sample_prompt", "say"})));
    return nlohmann::json::parse(file_contents(run + "/latest/state.json"))["best_validation_loss"]
        .get<double>();
  };
  const double exact = validation_loss("float32");
  CHECK(validation_loss("bfloat16") == Approx(exact).epsilon(0.01));
  CHECK(validation_loss("int8") == Approx(exact).epsilon(0.01));
  CHECK(adapter_of(folder.at("int8")) != adapter_of(folder.at("float32")));
}

TEST_CASE("computing layers again changes no bit", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const std::vector<std::string> more =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"--lora_rank", "2"},
               std::vector<std::string>{"--dropout", "0.1", "--shards", "2"});
  std::vector<std::string> again = more;
  again.emplace_back("--recompute");
  log_of(tuning(start, data, folder.at("kept"), more));
  log_of(tuning(start, data, folder.at("again"), again));
  const std::string file = std::filesystem::exists(folder.at("kept") + "/latest/model.safetensors")
                               ? "/latest/model.safetensors"
                               : "/latest/adapter_model.safetensors";
  CHECK(file_contents(folder.at("kept") + file) == file_contents(folder.at("again") + file));
}

TEST_CASE("only the named parts are trained", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string run = folder.at("run");
  log_of(tuning(start, conversations(folder), run, {"--train", "layer.1-, ln_f"}));
  const auto before = load_weights(start);
  const auto after = load_weights(run);
  for (const auto& [weight, tensor] : before->weights()) {
    INFO(weight.name);
    const bool is_same = same_bits(tensor, after->weight(weight.part, weight.layer));
    CHECK(is_same == (weight.layer != 1 && weight.part != Part::final_norm));
  }
}

TEST_CASE("a random split of conversations depends on its seed alone", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const auto trained = [&](const std::string& name, const std::vector<std::string>& more) {
    log_of(tuning(start, data, folder.at(name), more));
    return metrics_of(folder.at(name));
  };
  const auto one = trained("one", {"--val_share", "0.2", "--split_seed", "5"});
  CHECK(one == trained("same", {"--val_share", "0.2", "--split_seed", "5"}));
  CHECK_FALSE(one == trained("other", {"--val_share", "0.2", "--split_seed", "6"}));
  CHECK_FALSE(one == trained("end", {"--val_share", "0.2"}));
  check_refused({"train", "--data", folder.write("a.txt", "One day. Two days."), "--split_seed",
                 "5", "--out_dir", folder.at("stream")},
                {"split_seed: draws documents at random, but the text is one stream"});
}

TEST_CASE("the first conversation is shown as training reads it", "[cli]") {
  const ScratchFolder folder;
  const std::string data =
      folder.write("chat.jsonl", R"({"messages": [{"role": "user", "content": "<|im_end|>"},)"
                                 R"( {"role": "assistant", "content": "b"}]})"
                                 "\n");
  const std::string start = chat_model(folder);
  const auto ends = [&](const std::vector<std::string>& more) {
    Arguments show{"tokenizer", "show", start, "--template", data, "--json"};
    show.insert(show.end(), more.begin(), more.end());
    const nlohmann::json tokens = report_of(show)["tokens"];
    return std::count_if(tokens.begin(), tokens.end(),
                         [](const auto& token) { return token["label"] == "<|im_end|>"; });
  };
  CHECK(ends({}) == 2);
  CHECK(ends({"--special_tokens", "off"}) == 2);
  CHECK(ends({"--special_tokens", "on"}) == 3);
}

TEST_CASE("epochs give the number of steps and patience ends a run", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const std::string log = log_of({"train", "--init_from", start, "--data", data, "--out_dir",
                                  folder.at("run"), "--batch_size", "4", "--epochs", "2"});
  CHECK_THAT(log, contains_text("epochs 2: 10 steps"));  // 18 conversations for training
  CHECK_THAT(log_of(tuning(start, data, folder.at("worse"),
                           {"--learning_rate", "0", "--patience", "2", "--max_iters", "30"})),
             contains_text("stopping: no better validation loss in 2 evaluations (patience)"));
}

TEST_CASE("settings of fine-tuning that contradict others are refused", "[cli]") {
  const ScratchFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const auto refused = [&](const std::vector<std::string>& more) {
    const ProgramResult result = run_headlight(tuning(start, data, folder.at("run"), more));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(std::filesystem::exists(folder.at("run")));
    return result.err;
  };
  CHECK_THAT(refused({"--lora_targets", "q"}), contains_text("lora_targets: needs lora_rank"));
  CHECK_THAT(refused(with_lora({"--lora_targets", "q,x"})), contains_text("lora_targets"));
  CHECK_THAT(refused(with_lora({"--train", "wte"})), contains_text("train: expected parts"));
  CHECK_THAT(refused({"--base_weights", "int8"}), contains_text("base_weights: needs lora_rank"));
  CHECK_THAT(refused(with_lora({"--base_weights", "int4"})), contains_text("base_weights"));
  CHECK_THAT(refused({"--base_weights", "stored"}), contains_text("base_weights: needs lora_rank"));
  CHECK_THAT(refused(with_lora({"--base_weights", "stored"})),
             contains_text("base_weights: stored needs the blocks of a GGUF file"));
  CHECK_THAT(refused(with_lora({"--optimizer", "muon"})), contains_text("optimizer: muon"));
  CHECK_THAT(refused({"--train", "layer.7"}), contains_text("train: expected parts of the model"));
  CHECK_THAT(refused({"--batching", "packed"}),
             contains_text("contains conversations, which packed would cut"));
  CHECK_THAT(refused({"--epochs", "2"}), contains_text("give one of the two"));
}

}  // namespace chat_tuning_test
