#include "support/programs/commands.h"
#include "support/test.h"

namespace headlight::test {
namespace {

bool is_option(const std::string& argument) { return argument.starts_with("--"); }

std::vector<std::string> messages_of_refused(const Arguments& arguments) {
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  const std::vector<std::string> messages = result.messages();
  REQUIRE(!messages.empty());
  CHECK(messages.back().rfind("error: ", 0) == 0);
  return messages;
}

}  // namespace

Arguments split_words(const std::string& text) {
  Arguments words;
  bool inside = false;
  bool quoted = false;
  for (const char c : text) {
    const bool is_blank = c == ' ' && !quoted;
    if (!is_blank && !inside) {
      words.emplace_back();
    }
    inside = !is_blank;
    if (c == '\'') {
      quoted = !quoted;
    } else if (!is_blank) {
      words.back() += c;
    }
  }
  return words;
}

Arguments changed(Arguments arguments, const Arguments& more) {
  for (const std::string& option : more) {
    if (is_option(option)) {
      const auto found = std::find(arguments.begin(), arguments.end(), option);
      const auto behind = found == arguments.end() ? found : found + 1;
      arguments.erase(found, std::find_if(behind, arguments.end(), is_option));
    }
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string output_of(const Arguments& arguments) {
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  return result.out;
}

std::string log_of(const Arguments& arguments) {
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return result.err;
}

nlohmann::json report_of(Arguments arguments) {
  arguments.push_back("--json");
  return nlohmann::json::parse(output_of(arguments));
}

void check_json(const nlohmann::json& actual, const std::string& expected) {
  const nlohmann::json wanted = nlohmann::json::parse(expected);
  for (const auto& [path, value] : wanted.items()) {
    INFO(path);
    const bool is_size = path.ends_with('#');
    const nlohmann::json::json_pointer place("/" +
                                             (is_size ? path.substr(0, path.size() - 1) : path));
    const nlohmann::json found = actual.contains(place) ? actual.at(place) : nlohmann::json();
    CHECK((is_size ? nlohmann::json(found.size()) : found) == value);
  }
}

std::string refusal(const Arguments& arguments) { return messages_of_refused(arguments).back(); }

void check_refused(const Arguments& arguments, const std::vector<std::string>& parts) {
  const std::vector<std::string> messages = messages_of_refused(arguments);
  CHECK(messages.size() == 1);
  CHECK(mentions(messages.back(), parts));
}

}  // namespace headlight::test
