#include "support/commands.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "support/catch.h"
#include "support/errors.h"
#include "support/program.h"

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
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
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

std::string refusal(const Arguments& arguments) { return messages_of_refused(arguments).back(); }

void check_refused(const Arguments& arguments, const std::vector<std::string>& parts) {
  const std::vector<std::string> messages = messages_of_refused(arguments);
  CHECK(messages.size() == 1);
  CHECK(mentions(messages.back(), parts));
}

}  // namespace headlight::test
