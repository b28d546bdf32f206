#include "support/programs/session.h"
#include "support/test.h"

// Runs every command of messages.txt.

namespace messages_test {
using Names = std::map<std::string, std::string>;

// Returns the words of a command line with the values of the names.
Arguments words_of(const std::string& line, const Names& names) {
  Arguments all = split_words(line);
  for (std::string& word : all) {
    word = unescaped(replaced_all(word, names));
  }
  return all;
}

// Checks the only message of a refused command. A final "..." stands for any text.
void check_message(const Arguments& arguments, const std::string& expected) {
  const ProgramResult result = run_headlight(arguments);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  REQUIRE(result.messages().size() == 1);
  const std::string message = result.messages()[0];
  const bool open_end = expected.ends_with("...");
  CHECK((open_end ? message.substr(0, expected.size() - 3) + "..." : message) == expected);
}

TEST_CASE("every refused command prints its message and writes nothing") {
  const TemporaryFolder folder;
  const Names names{
      {"{dir}", folder.path().string()},
      {"{model}", folder.at("model")},
      {"{text}", folder.write("text.txt", "A text of some words, and of some more words.")},
      {"{long}", std::string(40, 'a')}};
  fs::create_directory(names.at("{model}"));
  write_model_files(names.at("{model}"), *lively_model(257, 32), ByteTokenizer());
  std::ifstream file(HEADLIGHT_SOURCE_DIR "/tests/cli/messages.txt");
  std::set<std::string> given{"model", "text.txt"};
  Arguments base;
  int cases = 0;
  for (std::string line, expected; std::getline(file, line);) {
    INFO(line);
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("= ")) {
      base = words_of(rest, names);
    } else if (line.starts_with("@ ")) {
      const std::string name = rest.substr(0, rest.find(' '));
      folder.write(name, unescaped(rest.substr(std::min(name.size() + 1, rest.size()))));
      given.insert(name);
    } else if (line.starts_with("$ ") || line.starts_with("+ ")) {
      const Arguments more = words_of(rest, names);
      REQUIRE(std::getline(file, expected));
      check_message(line[0] == '+' ? changed(base, more) : more,
                    replaced_all("error: " + expected.substr(2), names));
      ++cases;
    }
  }
  CHECK(cases > 300);
  const std::vector<std::string> left = folder.names();
  CHECK(std::set<std::string>(left.begin(), left.end()) == given);
}
}  // namespace messages_test
