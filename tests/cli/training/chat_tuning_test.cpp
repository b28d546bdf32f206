#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "support/saved_model.h"
#include "support/test.h"

// Fine-tuning on conversations, and with adapters, with the real program.

// A model of all bytes with a chat template.
std::string chat_model(const TemporaryFolder& folder, const std::string& name = "start",
                       Index width = 16, bool head_bias = false) {
  BpeVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.resize(257);
  vocabulary.special = {{"<|endoftext|>", 256}};
  LoadedModel loaded{};
  GptConfig config{.vocab_size = 257,
                   .block_size = 128,
                   .n_layer = 2,
                   .n_head = 2,
                   .n_embd = width,
                   .bias = false,
                   .head_bias = head_bias,
                   .norm_type = NormKind::rms,
                   .position = PositionKind::rope,
                   .activation = Activation::silu,
                   .gated_mlp = true,
                   .n_inner = 24};
  loaded.model = std::make_unique<Gpt>(config, 3);
  loaded.tokenizer = std::make_unique<BpeTokenizer>(std::move(vocabulary));
  set_chat_template(loaded, read_chat_template("chatml"));
  return save_model(folder, name, *loaded.model, *loaded.tokenizer);
}

std::string conversations(const TemporaryFolder& folder) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    lines += R"({"messages": [{"role": "user", "content": "say )" + number +
             R"("}, {"role": "assistant", "content": ")" + number + R"("}]})" + "\n";
  }
  return folder.write("chat.jsonl", lines);
}

Arguments tuning(const std::string& start, const std::string& data, const std::string& out,
                 const Arguments& more) {
  Arguments arguments =
      words("train --init_from", start, "--data", data, "--out_dir", out,
            "--batch_size 4 --learning_rate 0.01 --eval_interval 3 --max_iters 6");
  return changed(std::move(arguments), more);
}

nlohmann::json json_file(const std::string& path) {
  return nlohmann::json::parse(file_contents(path));
}

std::string adapter_of(const std::string& run) {
  return file_contents(run + "/latest/adapter_model.safetensors");
}

Arguments with_lora(const Arguments& more = {}) { return changed(words("--lora_rank 2"), more); }

TEST_CASE("a run with lora_rank trains an adapter that other commands open", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string run = folder.at("run");
  const std::string log = log_of(tuning(start, conversations(folder), run, with_lora()));
  check_parts(log, {"20 conversations, 20 answers; ", "batching padded"});
  CHECK(fs::exists(run + "/best/adapter_config.json"));
  CHECK_FALSE(fs::exists(run + "/best/model.safetensors"));
  CHECK(contains(output_of(words("generate", run, "--prompt say --max_new_tokens 2")), "say"));
  const std::string whole = folder.at("whole");
  log_of({"export", run, "--to", "hf", "--out", whole});
  const auto before = load_weights(start);
  const auto after = load_weights(whole);
  const Tensor old_rows = before->weight(Part::token_embedding);
  const Tensor rows = after->weight(Part::token_embedding);
  CHECK(same_bits(slice(old_rows, 0, 0, 257), slice(rows, 0, 0, 257)));
  CHECK_FALSE(same_bits(before->weight(Part::mlp_out, 1), after->weight(Part::mlp_out, 1)));
}

TEST_CASE("an adapter learns the tokens that the chat template added", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string run = folder.at("run");
  const std::string data = conversations(folder);
  CHECK(contains(log_of(tuning(start, data, run, with_lora({"--learning_rate", "0.03"}))),
                 "trains the rows of tokens that the model has not learned: "
                 "<|im_start|>, <|im_end|>"));
  const auto config = json_file(run + "/latest/adapter_config.json");
  CHECK(config["trainable_token_indices"] == nlohmann::json({{"embed_tokens", {257, 258}}}));
  const std::string name =
      "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta";
  const auto header = read_safetensors_header(run + "/latest/adapter_model.safetensors");
  CHECK(header.at(name).shape == Shape({2, 16}));
  log_of(
      tuning(start, data, folder.at("half"),
             with_lora({"--learning_rate", "0.03", "--max_iters", "3", "--lr_decay_iters", "6"})));
  log_of({"train", "--resume", folder.at("half"), "--max_iters", "6"});
  CHECK(json_file(folder.at("half/latest/adapter_config.json"))["trainable_token_indices"] ==
        config["trainable_token_indices"]);
  // The distance of logits is that of the rows: new tokens have others than the base model's.
  const auto trained = load_weights(run);
  const auto base = load_weights(start);
  CHECK_FALSE(same_bits(slice(trained->head_weight(), 0, 257, 259),
                        slice(base->head_weight(), 0, 257, 259)));
}

TEST_CASE("new tokens under a tied head with a bias stay frozen, as PEFT trains no rows of it",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder, "start", 16, true);
  CHECK(contains(log_of(tuning(start, conversations(folder), folder.at("run"), with_lora())),
                 "rows of the tokens <|im_start|>, <|im_end|> stay frozen"));
  const auto config = json_file(folder.at("run/latest/adapter_config.json"));
  CHECK(config["trainable_token_indices"].is_null());
  log_of({"generate", folder.at("run"), "--prompt", "say", "--max_new_tokens", "1"});
}

TEST_CASE("a run that freezes tokens which the model has not learned says so", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  CHECK(contains(log_of(tuning(start, data, folder.at("run"), {"--train", "attn"})),
                 "has not learned the tokens <|im_start|>, <|im_end|>, and their rows "
                 "are frozen; add wte to the parts"));
  const std::string log = log_of(tuning(start, data, folder.at("other"), {"--train", "attn, wte"}));
  CHECK_FALSE(contains(log, "has not learned"));
}

TEST_CASE("the memory of a run is planned for the lengths of its data", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);  // shorter than 64 tokens
  int runs = 0;
  const auto memory_of = [&](const std::string& block) {
    const std::string run = folder.at("run" + std::to_string(++runs));
    const std::string log =
        log_of(tuning(start, data, run, {"--block_size", block, "--max_iters", "0"}));
    const std::size_t begin = log.find("activations ");
    REQUIRE(begin != log.npos);
    return log.substr(begin, log.find(',', begin) - begin);
  };
  CHECK(memory_of("128") == memory_of("64"));
}

TEST_CASE("an adapter is trained further as an adapter", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  log_of(tuning(start, data, folder.at("run"),
                with_lora({"--lora_alpha", "6", "--lora_targets", "q,down"})));
  log_of(tuning(folder.at("run"), data, folder.at("more"),
                with_lora({"--max_iters", "1", "--learning_rate", "0"})));
  CHECK(adapter_of(folder.at("more")) ==  // at a rate of 0
        file_contents(folder.at("run/best/adapter_model.safetensors")));
  CHECK(json_file(folder.at("more/latest/adapter_config.json"))["lora_alpha"] == 6);
  const auto refused = [&](const Arguments& more) {
    return refusal(tuning(folder.at("run"), data, folder.at("no"), more));
  };
  check_parts(refused({"--lora_rank", "3"}),
              {"lora_rank: expected 2, as in the adapter that the run continues"});
  check_parts(refused(with_lora({"--lora_alpha", "8"})), {"lora_alpha: expected"});
}

TEST_CASE("an adapter of a run keeps to the weights that it was trained on", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = conversations(folder);
  const std::string base = folder.at("base");
  const std::string run = folder.at("run");
  log_of(tuning(chat_model(folder), data, base, {"--keep_checkpoints", "9"}));
  log_of(tuning(base, data, run, with_lora()));
  const std::string eval_loss = output_of({"eval", run, "--data", folder.write("t.txt", "say 7")});
  SECTION("also after the base run goes on") {
    log_of({"train", "--resume", base, "--max_iters", "9"});
    CHECK(output_of({"eval", run, "--data", folder.at("t.txt")}) == eval_loss);
    log_of({"train", "--resume", run, "--max_iters", "7"});
  }
  SECTION("a moved base is given by one option") {
    fs::rename(base, folder.at("moved"));
    check_refused({"eval", run, "--data", folder.at("t.txt")}, {"--base", "which is not here"});
    CHECK(output_of({"eval", run, "--base", folder.at("moved"), "--data", folder.at("t.txt")}) ==
          eval_loss);
    check_refused({"train", "--resume", run, "--max_iters", "7"}, {"which is not here", "base"});
    log_of({"train", "--resume", run, "--max_iters", "7", "--init_from", folder.at("moved")});
    log_of({"train", "--resume", run, "--max_iters", "8", "--base", folder.at("moved")});
    log_of(tuning(run, data, folder.at("more"), with_lora({"--base", folder.at("moved")})));
  }
  SECTION("another base is refused") {
    check_refused({"eval", run, "--base", folder.at("start"), "--data", folder.at("t.txt")},
                  {"has other weights than when the adapter was trained"});
  }
}

TEST_CASE("heads are tracked on conversations, which have tokens that are context", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(tuning(chat_model(folder), conversations(folder), run, with_lora({"--track_heads", "3"})));
  CHECK(json_lines(run + "/heads.jsonl").size() == 3);  // steps 0, 3 and 6
}

TEST_CASE("a resumed run with an adapter has the same bits", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const std::string format = GENERATE("float32", "int8");
  const Arguments six =
      with_lora({"--lora_dropout", "0.1", "--lr_decay_iters", "6", "--warmup_iters", "1",
                 "--base_weights", format, "--track_heads", "3"});
  log_of(tuning(start, data, folder.at("once"), six));
  log_of(changed(tuning(start, data, folder.at("halves"), six), {"--max_iters", "3"}));
  log_of({"train", "--resume", folder.at("halves"), "--max_iters", "6"});
  CHECK(adapter_of(folder.at("halves")) == adapter_of(folder.at("once")));
}

TEST_CASE("only the named parts are trained", "[cli]") {
  const TemporaryFolder folder;
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

TEST_CASE("the first conversation is shown as training reads it", "[cli]") {
  const TemporaryFolder folder;
  const std::string data =
      folder.write("chat.jsonl", R"({"messages": [{"role": "user", "content": "<|im_end|>"},)"
                                 R"( {"role": "assistant", "content": "b"}]})"
                                 "\n");
  const std::string start = chat_model(folder);
  const auto ends = [&](const Arguments& more) {
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
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  const std::string log = log_of(words("train --init_from", start, "--data", data, "--out_dir",
                                       folder.at("run"), "--batch_size 4 --epochs 2"));
  CHECK(contains(log, "epochs 2: 10 steps"));  // 18 conversations for training
  CHECK(contains(log_of(tuning(start, data, folder.at("worse"),
                               {"--learning_rate", "0", "--patience", "2", "--max_iters", "30"})),
                 "stopping: no better validation loss in 2 evaluations (patience)"));
}

TEST_CASE("settings of fine-tuning that contradict others are refused", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string data = conversations(folder);
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--lora_targets q", "lora_targets: needs lora_rank"},
           {"--lora_rank 2 --lora_targets q,x", "lora_targets"},
           {"--lora_rank 2 --train wte", "train: expected parts"},
           {"--base_weights int8", "base_weights: needs lora_rank"},
           {"--lora_rank 2 --base_weights int4", "base_weights"},
           {"--base_weights stored", "base_weights: needs lora_rank"},
           {"--lora_rank 2 --base_weights stored",
            "base_weights: stored needs the blocks of a GGUF file"},
           {"--lora_rank 2 --optimizer muon", "optimizer: muon"},
           {"--train layer.7", "train: expected parts of the model"},
           {"--batching packed", "contains conversations, which packed would cut"},
           {"--epochs 2", "give one of the two"}}) {
    INFO(options);
    check_parts(refusal(tuning(start, data, folder.at("run"), split_words(options))), {message});
    CHECK_FALSE(fs::exists(folder.at("run")));
  }
}

TEST_CASE("eval has the loss of the answers that train --eval_only gives", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = chat_model(folder);
  const std::string chat = conversations(folder);
  const std::string texts = folder.write("texts.json",
                                         "{\"prompt\": \"1+1=\", \"completion\": \"2\"}\n"
                                         "{\"prompt\": \"2+2=\", \"completion\": \"4\"}\n");
  for (const std::string& data : {chat, texts}) {
    const nlohmann::json trained = report_of(
        tuning(start, data, folder.at("none"), {"--validation_data", data, "--eval_only", "true"}));
    const nlohmann::json found = report_of({"eval", start, "--data", data});
    CHECK(found["loss"] == Approx(trained["validation_loss"]).epsilon(1e-6));
  }
  CHECK(report_of({"eval", start, "--data", texts})["tokens"] == 4);  // two digits, two end tokens
  CHECK(report_of({"eval", start, "--data", texts, "--learn", "all"})["tokens"] == 12);
  CHECK(contains(
      refusal(words("eval", start, "--data", folder.write("a.txt", "text"), "--learn all")),
      "--learn: the data has no conversations"));
}
