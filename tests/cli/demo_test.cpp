#include "base/strings/base64.h"
#include "support/models/story_facts.h"
#include "support/test.h"

// docs/demo.html and the class's hour about it (docs/class.md): what they say must be true of the
// page's own model. tests/web/demo.sh opens the page in a browser.
const std::string kDocs = HEADLIGHT_SOURCE_DIR "/docs/";

// Returns the text of a page's element, which begins after `opening`.
std::string element_of(const std::string& html, const std::string& opening) {
  const std::size_t begin = html.find(opening);
  REQUIRE(begin != std::string::npos);
  const std::size_t after = begin + opening.size();
  return html.substr(after, html.find('<', after) - after);
}

// The page's model as a file, and its stories.
struct Demo {
  Demo() {
    const std::string html = file_contents(kDocs + "demo.html");
    write_file(model, bytes_of_base64(element_of(html, "class=\"page-model\">")).value());
    const json settings = json::parse(element_of(html, "id=\"page-settings\">"));
    for (const json& story : settings.at("stories")) {
      for (const json& step : story.at("steps")) {
        steps[story.at("language")].push_back(
            {.title = step.at("title"), .address = step.at("address"), .text = step.at("text")});
      }
    }
  }

  TemporaryFolder folder;
  std::string model = folder.at("demo.gguf");
  std::map<std::string, std::vector<serve::StoryStep>> steps = {};  // by language
};

// Returns the parts of docs/class.md or its translation, one for each of the six steps.
std::vector<std::string> class_parts(const std::string& page) {
  const std::string text = file_contents(kDocs + page);
  static const std::regex kHeading("\n## \\d\\. ");
  std::vector<std::string> parts;
  for (std::sregex_iterator heading(text.begin(), text.end(), kHeading), end; heading != end;) {
    const auto begin = static_cast<std::size_t>(heading->position());
    ++heading;
    parts.push_back(
        text.substr(begin, heading == end ? std::string::npos
                                          : static_cast<std::size_t>(heading->position()) - begin));
  }
  return parts;
}

// Returns a part without addresses, commands and code.
std::string prose_of(const std::string& part) {
  return std::regex_replace(part, std::regex("`[^`]*`"), "");
}

// Returns the numbers of the story's steps that a part opens: "`?step=3`".
std::vector<std::size_t> steps_of(const std::string& part) {
  static const std::regex kStep(R"(`\?step=(\d+)`)");
  return mapped<std::size_t>(matches_of(part, kStep),
                             [](const std::string& number) { return std::stoul(number); });
}

// Checks a table: "| `text` | word | probability | probability without HEAD |". The word of the
// last row is new to the model.
std::size_t check_sentences(const Demo& demo, const std::string& part) {
  static const std::regex kRow(R"(\n\| `([^`]+)` \| (\S+) \| ([01]\.\d\d) \| ([01]\.\d\d) \|)");
  static const std::regex kHead(R"(\n\| [^\n]*(\d\.\d)[^\n]* \|\n\| ---)");
  std::smatch head;
  REQUIRE(std::regex_search(part, head, kHead));
  std::size_t rows = 0;
  std::string word;
  for (std::sregex_iterator row(part.begin(), part.end(), kRow), end; row != end; ++row, ++rows) {
    INFO((*row)[0]);
    word = (*row)[2];
    const auto probability = [&](const std::string& changes) {
      return probability_of(demo.model, (*row)[1], word, changes);
    };
    // CPUs round the integers of the weights' products differently.
    CHECK(std::abs(probability("") - std::stod((*row)[3])) < 0.03);
    CHECK(std::abs(probability("off " + head[1].str()) - std::stod((*row)[4])) < 0.03);
  }
  CHECK_FALSE(contains(file_contents(kDocs + "../data/toy.txt"), word));
  return rows;
}

TEST_CASE("the stories of docs/demo.html are true of its model") {
  const Demo demo;
  CHECK(demo.steps.size() == 2);
  for (const auto& [language, steps] : demo.steps) {
    INFO(language);
    CHECK(steps.size() >= 8);
    check_story_facts(demo.model, steps);
  }
}

TEST_CASE("the class's hour says what the steps of the demo page say") {
  const Demo demo;
  for (const auto& [page, language] :
       {std::pair("class.md", "en"), std::pair("class.ko.md", "ko")}) {
    const std::vector<std::string> parts = class_parts(page);
    REQUIRE(parts.size() == 6);
    std::size_t claims = 0;
    for (std::size_t i = 1; i < 5; ++i) {
      std::string story;
      for (const std::size_t step : steps_of(parts[i])) {
        story += demo.steps.at(language).at(step - 1).text + "\n";
      }
      REQUIRE(!story.empty());
      const std::string prose = prose_of(parts[i]);
      for (const auto& claimed : {shares_in(prose), quotes_in(prose)}) {
        for (const std::string& claim : claimed) {
          INFO(page << ", part " << i + 1 << ": " << claim);
          CHECK(contains(story, claim));
          ++claims;
        }
      }
    }
    CHECK(claims >= 10);
  }
}

TEST_CASE("the class's hour begins with the numbers of the worked example") {
  const json weights =
      report_of({"lab", "worked-example"})["values"]["single_head"]["attn_scores_softmax"];
  for (const char* page : {"class.md", "class.ko.md"}) {
    const std::string prose = prose_of(class_parts(page).at(0));
    const std::vector<std::string> shares = shares_in(prose);
    REQUIRE(shares.size() == 3);
    for (std::size_t key = 0; key < 3; ++key) {
      CHECK(std::abs(weights.at(key).get<double>() - std::stod(shares[key])) < 5e-4);
    }
  }
}

TEST_CASE("the sentences of the class's hour have their probabilities") {
  const Demo demo;
  for (const char* page : {"class.md", "class.ko.md"}) {
    INFO(page);
    CHECK(check_sentences(demo, class_parts(page).at(5)) >= 4);
  }
}
