#include "headlight/interpret/prune.h"
#include "show/attention_samples.h"
#include "support/saved_model.h"
#include "support/test.h"

namespace pruned_heads_test {
// Head numbers of a pruned model in all commands that report heads, with the real program and a
// model made in memory.

using Json = nlohmann::json;
using Names = std::set<std::string>;

const Names kLeft{"0.1", "0.2", "1.1", "1.2"};

// Model of two layers that lost head 0 of three heads in each, and a text.
struct Material {
  Material() {
    GptConfig config{.vocab_size = 257, .block_size = 32, .n_layer = 2, .n_head = 3, .n_embd = 12};
    config.tie_weights = false;
    const Gpt whole(config);
    std::uint64_t stream = 0;
    for (auto& [name, parameter] : whole.parameters()) {
      if (parameter.rank() >= 2) {
        parameter.copy_from(random_normal(parameter.shape(), {5, stream++}, 0, 0.5));
      }
    }
    save_model(folder, "model", *prune_heads(whole, {{0, 0}, {1, 0}}));
  }

  std::string file(const std::string& name) const { return file_contents(folder.at(name)); }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "one line\nanother\nend\n");
};

void add_names(const Json& report, Names& names) {
  static const std::regex kName("[0-9]+\\.[0-9]+");
  for (const auto& [key, value] : report.items()) {
    for (const std::string& text : {key, value.is_string() ? value.get<std::string>() : ""}) {
      if (std::regex_match(text, kName)) {
        names.insert(text);
      }
    }
    if (value.is_structured()) {
      add_names(value, names);
    }
  }
  if (report.is_object() && report.contains("index")) {
    CHECK(report["head"] ==
          concat_text(report["layer"].get<Index>(), ".", report["index"].get<Index>()));
  }
}

// Names of heads anywhere in JSON, as keys or as texts.
Names named_in(const Json& report) {
  Names names;
  add_names(report, names);
  return names;
}

// Names of heads at the start of the rows of a table or of CSV.
Names rows_of(const std::string& table) {
  static const std::regex kRow("\n(?:head )?([0-9]+\\.[0-9]+)[ ,]");
  Names names;
  for (std::sregex_iterator row(table.begin(), table.end(), kRow), end; row != end; ++row) {
    names.insert((*row)[1]);
  }
  return names;
}

TEST_CASE("scores of heads of a pruned model keep the heads' original numbers also over time") {
  const Material given;
  const Arguments arguments = words("heads", given.model, "--data", given.text, "--out",
                                    given.folder.at("out"), "--documents line --cluster_below 1");
  const Json report = report_of(arguments);
  CHECK(named_in(report) == kLeft);
  CHECK(named_in(report["clusters"]) == kLeft);
  CHECK(named_in(Json::parse(given.file("out/heads.json"))) == kLeft);
  CHECK(rows_of(given.file("out/heads.csv")) == kLeft);
  CHECK(rows_of(output_of(arguments)) == kLeft);
  const auto arrays = npz_arrays(given.folder.at("out/heads.npz"));
  for (const char* name : {"heads", "all_heads"}) {
    CHECK(arrays.at(name).to_vector() == std::vector<double>{0, 1, 0, 2, 1, 1, 1, 2});
  }
  for (const char* figure : {"out/redundancy.svg", "out/k_composition.svg"}) {
    CHECK(contains(given.file(figure), ">1.2</text>"));
  }
  output_of(words("attention", given.model, "--text abca --out", given.folder.at("maps"),
                  "--scores", given.folder.at("out/heads.json"), "--format html"));
  CHECK(named_in(embedded_data(given.file("maps/attention.html"))["scores"]) == kLeft);

  const std::string run = given.folder.at("run");
  output_of(words("train --init_from", given.model, "--data", given.text, "--out_dir", run,
                  "--block_size 8 --batch_size 2 --max_iters 2 --track_heads 1"));
  const Json times = report_of({"heads", run, "--over_time"});
  CHECK(named_in(times["scores"]) == kLeft);
  CHECK(contains(given.file("run/heads_over_time.svg"), "1.2"));
}
}  // namespace pruned_heads_test
