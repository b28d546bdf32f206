#include <cctype>

#include "kernels/cpu_variant.h"
#include "support/models/story_facts.h"
#include "support/test.h"

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
std::vector<json> stories(const std::string& run, const std::string& prompt) {
  return report_of(words("generate", run, "--prompt", prompt,
                         "--num_samples 40 --temperature 0.5 --seed 7"))["samples"];
}

// 98 % of the words of made-up stories stand in the corpus.
void check_words(const std::string& run, const std::string& corpus_text) {
  const std::vector<std::string> all = words_of(corpus_text);
  const std::set<std::string> corpus(all.begin(), all.end());
  for (const std::string prompt : {"One day", "어느 날"}) {
    std::vector<std::string> words;
    for (const json& story : stories(run, prompt)) {
      const auto more = words_of(prompt + story["text"].get<std::string>());
      words.insert(words.end(), more.begin(), more.end());
    }
    const auto known = std::count_if(
        words.begin(), words.end(), [&](const std::string& word) { return corpus.contains(word); });
    INFO(prompt << ": " << known << " of " << words.size() << " words");
    CHECK(words.size() > 600);
    CHECK(static_cast<double>(known) >= 0.98 * static_cast<double>(words.size()));
  }
}

TEST_CASE("the toy preset learns its corpus, and the stories about its model are true",
          "[experiment]") {
  const TemporaryFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string corpus = root + "/data/toy.txt";
  const std::string run = folder.at("run");
  // The stories are about the model of docs/demo.html, which the kernels for AVX2 train. Those of
  // other CPUs round in another way and give another model.
  const bool is_of_demo = kernels::supports(kernels::CpuVariant::v3);
  output_of(changed({"train", root + "/configs/toy.toml", "--data", corpus, "--out_dir", run},
                    is_of_demo ? words("--cpu_variant v3 --products own") : Arguments{}));

  double bits_per_byte = 1;
  for (const json& line : json_lines(run + "/metrics.jsonl")) {
    bits_per_byte = line.value("validation_bits_per_byte", bits_per_byte);
  }
  CHECK(bits_per_byte < 0.45);
  check_words(run, file_contents(corpus));

  if (!is_of_demo) {
    return;
  }
  std::size_t steps = 0;
  for (const auto& file : fs::directory_iterator(root + "/data/stories")) {
    const serve::Story story = serve::read_story(file.path(), toy_story_scope());
    check_story_facts(run, story.steps);
    steps += story.steps.size();
  }
  CHECK(steps >= 20);  // two languages
}
