#include "support/story_facts.h"
#include "support/test.h"

// Reads the stories of data/stories: the text of a step must be true of the model that
// configs/toy.toml trains.

TEST_CASE("the stories about the toy model are true", "[cli][experiment]") {
  const TemporaryFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  const std::string run = folder.at("run");
  output_of(
      {"train", root + "/configs/toy.toml", "--data", root + "/data/toy.txt", "--out_dir", run});
  std::size_t steps = 0;
  for (const auto& file : fs::directory_iterator(root + "/data/stories")) {
    const serve::Story story = serve::read_story(file.path(), toy_story_scope());
    check_story_facts(run, story.steps);
    steps += story.steps.size();
  }
  CHECK(steps >= 20);  // two languages
}
