#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "headlight/formats/model_directory.h"
#include "headlight/heads/record_attention.h"
#include "support/catch.h"
#include "support/commands.h"
#include "support/program.h"
#include "support/runs.h"

namespace toy_preset_test {

using namespace headlight;
using namespace headlight::test;
using Json = nlohmann::json;

namespace {

// Words of a text: runs of ASCII letters and of bytes from 0x80 on, which are Korean letters here.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = byte >= 0x80 || std::isalpha(byte) != 0;
    if (letter && !inside) {
      words.emplace_back();
    }
    if (letter) {
      words.back() += c;
    }
    inside = letter;
  }
  return words;
}

// Forty stories with this beginning, so that one bad story does not decide.
std::vector<Json> stories(const std::string& run, const std::string& prompt) {
  return report_of({"generate", run, "--prompt", prompt, "--num_samples", "40", "--temperature",
                    "0.5", "--seed", "7"})["samples"];
}

// Text that the steps of data/stories about "key" read.
const std::string kLost =
    "Last summer, Leo found a round key near the little bridge. He wanted to keep it, but it was "
    "not his. \"Who can have lost this round";

// Attention weight of a head from one token to another. Checks that the tokens have these names.
double weight_of(const AttentionMaps& maps, std::size_t layer, Index head, Index query,
                 const std::string& query_token, Index key, const std::string& key_token) {
  CHECK(maps.tokens.at(static_cast<std::size_t>(query)) == query_token);
  CHECK(maps.tokens.at(static_cast<std::size_t>(key)) == key_token);
  const auto count = static_cast<Index>(maps.tokens.size());
  return maps.layers.at(layer).weights.to_vector().at(
      static_cast<std::size_t>((head * count + query) * count + key));
}

// Probability of " key" after kLost, among the ten most likely tokens.
double key_probability(const std::string& run, const std::string& changes) {
  Arguments arguments = {"generate",         run, "--prompt",   kLost, "--temperature", "0",
                         "--max_new_tokens", "1", "--logprobs", "10"};
  if (!changes.empty()) {
    arguments.insert(arguments.end(), {"--intervene", changes});
  }
  const Json report = report_of(arguments);
  for (const Json& token : report["logprobs"][0]["top_logprobs"]) {
    if (token["token"] == " key") {
      return std::exp(token["logprob"].get<double>());
    }
  }
  return 0;
}

// Checks the steps that show attention.
void check_patterns(const std::string& run) {
  const LoadedModel loaded = load_model(find_model_directory(run));
  const AttentionMaps lost = record_attention(*loaded.model, *loaded.tokenizer, kLost);
  CHECK(weight_of(lost, 0, 3, 40, " round", 12, " key") > 0.6);
  CHECK(lost.layers.size() == 3);
  for (Index head = 0; head < 12; ++head) {
    const double weight =
        weight_of(lost, static_cast<std::size_t>(head / 4), head % 4, 40, " round", 12, " key");
    CHECK((head == 3 || weight < 0.2));
  }
  const AttentionMaps kite = record_attention(
      *loaded.model, *loaded.tokenizer,
      "One day, Nora lost her red kite. She looked in the tall grass, but it was not there.");
  CHECK(weight_of(kite, 1, 0, 22, " not", 11, " looked") > 0.8);
  CHECK(weight_of(kite, 2, 2, 9, ".", 4, " Nora") > 0.9);
}

// Checks the step that patches each head.
void check_patch(const std::string& run) {
  std::string other = kLost;
  other.replace(other.find("key"), 3, "hat");
  const Json report = report_of(
      {"patch", run, "--clean", kLost, "--corrupt", other, "--answer", " key", "--wrong", " hat"});
  for (const Json& head : report["heads"]) {
    INFO(head.dump());
    CHECK((head["recovered"].get<double>() > 0.9) == (head["head"] == "0.3"));
  }
}

// Checks the step that shows the prediction of each layer.
void check_layers(const std::string& run) {
  const Json rows = report_of({"lens", run, "--text", kLost, "--positions", "40"})["rows"];
  const auto best = [&](std::size_t row) { return rows.at(row)["readings"][0]["top"][0]["token"]; };
  CHECK(best(0) == " round");
  CHECK(best(1) == " key");
}

}  // namespace

// On four kinds of CPU and code for products, 0.3 had 0.77 to 0.86 of its weight on " key", the
// other heads at most 0.10, and the probability of " key" was 0.98 to 0.99.
TEST_CASE("the stories about the toy model are true", "[cli][experiment]") {
  const ScratchFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string run = folder.at("run");
  output_of(
      {"train", root + "/configs/toy.toml", "--data", root + "/data/toy.txt", "--out_dir", run});
  check_patterns(run);
  check_layers(run);
  check_patch(run);
  CHECK(key_probability(run, "") > 0.9);
  CHECK(key_probability(run, "off 1.0") > 0.9);
  CHECK(key_probability(run, "off 0.3") < 0.05);
}

TEST_CASE("the toy preset generates stories in words of its corpus in English and Korean",
          "[cli][experiment]") {
  const ScratchFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string run = folder.at("run");
  // Less than half of the preset's steps: enough to see that the model learns.
  output_of({"train", root + "/configs/toy.toml", "--data", root + "/data/toy.txt", "--out_dir",
             run, "--max_iters", "700"});

  double bits_per_byte = 1;
  for (const Json& line : json_lines(run + "/metrics.jsonl")) {
    bits_per_byte = line.value("validation_bits_per_byte", bits_per_byte);
  }
  CHECK(bits_per_byte < 0.25);

  const std::vector<std::string> all = words_of(file_contents(root + "/data/toy.txt"));
  const std::set<std::string> corpus(all.begin(), all.end());
  for (const std::string prompt : {"One day", "어느 날"}) {
    std::vector<std::string> words;
    for (const Json& story : stories(run, prompt)) {
      const auto more = words_of(prompt + story["text"].get<std::string>());
      words.insert(words.end(), more.begin(), more.end());
    }
    const auto known = std::count_if(
        words.begin(), words.end(), [&](const std::string& word) { return corpus.contains(word); });
    INFO(prompt << ": " << known << " of " << words.size() << " words");
    CHECK(words.size() > 1200);
    CHECK(static_cast<double>(known) >= 0.98 * static_cast<double>(words.size()));
  }
}

}  // namespace toy_preset_test
