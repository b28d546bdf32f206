#include "headlight/runs/config_source.h"
#include "support/rows.h"
#include "support/test.h"

TrainConfig read_back(const std::string& toml) {
  const TemporaryFolder folder;
  TrainConfig config;
  const std::vector<ConfigEntry> entries = read_config_file(folder.write("config.toml", toml));
  in_place("config.toml: ", [&] {
    for (const ConfigEntry& entry : entries) {
      set_config_entry(config, entry);
    }
  });
  return config;
}

TEST_CASE("every key has a name of its own and a meaning") {
  std::set<std::string_view> keys;
  for (const ConfigField& field : config_fields()) {
    keys.insert(field.key);
    CHECK(!field.help.empty());
  }
  CHECK(keys.size() == config_fields().size());
  for (const ConfigAlias& alias : config_aliases()) {
    INFO(alias.other);
    CHECK(keys.count(alias.key) == 1);
    CHECK(keys.count(alias.other) == 0);
  }
}

TEST_CASE("a configuration written as TOML reads back the same") {
  TrainConfig config{.out_dir = "a \"quoted\" \\ path\twith\nall of it \x01",
                     .documents = "line",
                     .gpt = {.n_layer = 3},
                     .learning_rate = 0.1 + 0.2,
                     .min_lr = 1e-300};
  CHECK(to_toml(read_back(to_toml(config))) == to_toml(config));
  CHECK(read_back(to_toml(config)).learning_rate == config.learning_rate);
  CHECK(read_back(to_toml(config)).out_dir == config.out_dir);
}

TEST_CASE("a key with several texts is a list in TOML and a single text is not") {
  TrainConfig config = read_back("data = [\"a.txt\", \"with \\\"quotes\\\".txt\"]\n");
  CHECK(config.data == std::vector<std::string>{"a.txt", "with \"quotes\".txt"});
  CHECK(read_back(to_toml(config)).data == config.data);
  config = read_back("data = \"a.txt\"\nvalidation_data = [\"b.txt\"]\n");
  CHECK(config.data == std::vector<std::string>{"a.txt"});
  CHECK(config.validation_data == std::vector<std::string>{"b.txt"});
  CHECK(contains(to_toml(config), "validation_data = \"b.txt\"\n"));
  CHECK(read_back("data = []\n").data.empty());
  CHECK(read_back("data = \"\"\n").data.empty());
  check_error([&] { read_back("out_dir = [\"a\"]\n"); }, {"toml: out_dir", "got a list"});
  check_error([&] { read_back("data = 3\n"); }, {"config.toml: data", "got 3"});
  CHECK_THROWS_AS(read_back("data = [3]\n"), Error);
  CHECK_THROWS_AS(read_back("data = [[\"a\"]]\n"), Error);
}

TEST_CASE("setting names of other programs and names with - or _ are accepted") {
  TrainConfig config;
  CHECK(set_config_value(config, "lr", "0.25") == ConfigOutcome::set);
  CHECK(config.learning_rate == 0.25);
  CHECK(set_config_value(config, "max-steps", "7") == ConfigOutcome::set);
  CHECK(config.max_iters == 7);
  CHECK(set_config_value(config, "d_model", "48") == ConfigOutcome::set);
  CHECK(config.gpt.n_embd == 48);
  CHECK(set_config_value(config, "bias", "False") == ConfigOutcome::set);
  CHECK(config.gpt.bias == false);
  CHECK(set_config_value(config, "device", "cpu") == ConfigOutcome::ignored);
}

TEST_CASE("the model's dropouts follow the general one unless they are set") {
  TrainConfig config{.dropout = 0.3};
  config.gpt.residual_dropout = 0;
  const GptConfig model = config.model(100);
  CHECK(model.attention_dropout == 0.3);
  CHECK(model.embedding_dropout == 0.3);
  CHECK(model.residual_dropout == 0.0);
  CHECK(model.vocab_size == 100);
}

TEST_CASE("settings that are not given are derived from the given ones") {
  const TrainConfig defaults = TrainConfig{}.resolved();
  CHECK(defaults.min_lr == 6e-5);  // as in nanoGPT
  CHECK(defaults.warmup_iters == 2000);
  CHECK(defaults.lr_decay_iters == 600000);
  TrainConfig config{.learning_rate = 3e-5, .max_iters = 500};
  const LearningRateSchedule schedule = config.schedule();
  CHECK(schedule.warmup_steps == 25);
  CHECK(schedule.decay_steps == 500);
  CHECK(schedule.at(25) == Approx(3e-5));
  CHECK(schedule.at(500) == Approx(3e-6));
  config.min_lr = 0;
  config.warmup_iters = 0;
  config.lr_decay_iters = 100;
  CHECK(config.schedule().min_learning_rate == 0);
  CHECK(config.schedule().warmup_steps == 0);
  CHECK(config.schedule().decay_steps == 100);
  CHECK(contradictions(TrainConfig{}).empty());
}

TEST_CASE("derived values are written as comments and derived again when read back") {
  TrainConfig config{.dropout = 0.1, .max_iters = 400};
  const std::string text = to_toml(config);
  for (const char* line :
       {"\n# min_lr = 6e-05  # not given: learning_rate / 10\n", "\n# lr_decay_iters = 400  # not",
        "\n# warmup_iters = 20  # not", "\n# attention_dropout = 0.1  # not given: dropout\n"}) {
    INFO(line);
    CHECK(contains(text, line));
  }
  TrainConfig read = read_back(text);
  CHECK(to_toml(read) == text);
  read.max_iters = 800;
  CHECK(read.resolved().lr_decay_iters == 800);
  CHECK(read.resolved().warmup_iters == 40);
  read.lr_decay_iters = 500;
  CHECK(to_toml(read_back(to_toml(read))).find("\nlr_decay_iters = 500\n") != std::string::npos);
}

TEST_CASE("contradictory rates and lengths cause one warning each") {
  TrainConfig config{.learning_rate = 3e-5, .min_lr = 6e-5, .warmup_iters = 2000, .max_iters = 200};
  const std::vector<std::string> lines = contradictions(config);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "min_lr 6e-05 is above learning_rate 3e-05: the learning rate rises to min_lr");
  CHECK(lines[1].starts_with("warmup_iters 2000 is not below max_iters 200: "));
  config.decay_lr = false;
  CHECK(contradictions(config).size() == 1);
  config.decay_lr = true;
  config.min_lr = kFollows;
  config.warmup_iters = 50;
  CHECK(contradictions(config).empty());
  config.lr_decay_iters = 40;
  REQUIRE(contradictions(config).size() == 1);
  CHECK(contradictions(config)[0].starts_with("lr_decay_iters 40 is not above warmup_iters"));
}

TEST_CASE("the short list of settings has those that differ from the defaults") {
  CHECK(settings_in_short({}).empty());
  TrainConfig config{.optimizer = "sgd", .max_iters = 400};
  CHECK(settings_in_short(config) ==
        std::vector<std::string>{
            "settings: optimizer = \"sgd\", max_iters = 400",
            "not given: warmup_iters = 20 (max_iters / 20, at most 2000), lr_decay_iters = 400 "
            "(max_iters)"});
}

TEST_CASE("the momentum that is not given is the optimizer's") {
  TrainConfig config;
  CHECK(config.resolved().momentum == 0.9);
  config.optimizer = "muon";
  CHECK(config.resolved().momentum == 0.95);
  config.momentum = 0.5;
  CHECK(config.resolved().momentum == 0.5);
}

TEST_CASE("settings out of range or against each other are refused by name") {
  check_rows("train/config_refusals.txt", [](const Row& row) {
    return error_of([&] {
      TrainConfig config;
      for (const std::string& line : lines_of(row.given)) {
        const std::size_t equals = line.find(" = ");
        set_config_value(config, line.substr(0, equals), line.substr(equals + 3));
      }
      config.validate();
    });
  });
}

TEST_CASE("every numeric setting has a range and others have none") {
  for (const ConfigField& field : config_fields()) {
    INFO(field.key);
    CHECK(range_text(field).empty() == !is_number(field));
    if (field.key == "batch_size") {
      CHECK(range_text(field) == "at least 1");
    } else if (field.key == "dropout") {
      CHECK(range_text(field) == "0 to below 1");
    } else if (field.key == "repeat_share") {
      CHECK(range_text(field) == "0 to 1");
    }
  }
}

TEST_CASE("settings made from a model configuration give the same configuration") {
  const GptConfig model{.vocab_size = 9,
                        .block_size = 7,
                        .n_layer = 3,
                        .n_head = 2,
                        .n_embd = 6,
                        .attention_dropout = 0.25,
                        .bias = false,
                        .tie_weights = false,
                        .norm = NormPosition::post,
                        .activation = Activation::relu,
                        .mlp = false};
  const GptConfig again = train_config_of(model).model(9);
  CHECK(again.block_size == 7);
  CHECK(again.n_layer == 3);
  CHECK(again.n_head == 2);
  CHECK(again.n_embd == 6);
  CHECK(again.attention_dropout == 0.25);
  CHECK(again.residual_dropout == 0);
  CHECK(!again.bias);
  CHECK(!again.tie_weights);
  CHECK(again.norm == NormPosition::post);
  CHECK(again.activation == Activation::relu);
  CHECK(!again.mlp);
}

TEST_CASE("windows of the layers in turn are a setting") {
  const TrainConfig config = read_back("n_layer = 5\nwindows = \"0,256\"\n");
  const std::vector<Index> windows{0, 256, 0, 256, 0};
  CHECK(config.model(9).windows == windows);
  CHECK(train_config_of(config.model(9)).windows == "0,256");
  // What sliding_window and its pattern can say is said by them.
  const TrainConfig usual = read_back("n_layer = 3\nwindows = \"8,0,8\"\n");
  CHECK(train_config_of(usual.model(9)).windows.empty());
  CHECK(train_config_of(usual.model(9)).sliding_window == 8);
  CHECK(train_config_of(usual.model(9)).sliding_window_pattern == 2);
}

TEST_CASE("the bounds of Llama 3's rotary embeddings are settings") {
  const TrainConfig config = read_back(
      "position = \"rope\"\nrope_scaling = \"llama3\"\nrope_factor = 8\nlow_freq_factor = 2\n"
      "high_freq_factor = 5.5\noriginal_max_position_embeddings = 64\n");
  const RopeOptions rope = config.model(9).rope;
  CHECK(rope == RopeOptions{.scaling = RopeScaling::llama3,
                            .factor = 8,
                            .low_freq_factor = 2,
                            .high_freq_factor = 5.5,
                            .original_max_position_embeddings = 64});
  CHECK(train_config_of(config.model(9)).model(9).rope == rope);
  // Without llama3 scaling these values have no effect.
  TrainConfig other = config;
  other.gpt.rope.scaling = RopeScaling::linear;
  CHECK(other.model(9).canonical().rope ==
        RopeOptions{.scaling = RopeScaling::linear, .factor = 8});
}
