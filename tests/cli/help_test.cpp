#include "support/test.h"

// Names in the lists of commands of a help text.
std::vector<std::string> listed_commands(const std::string& help) {
  const std::regex entry("  ([a-z]+) +[A-Z].*");
  std::vector<std::string> names;
  for (const std::string& line : lines_of(help)) {
    if (std::smatch match; std::regex_match(line, match, entry)) {
      names.push_back(match[1]);
    }
  }
  return names;
}

// Arguments that call each command, with each subcommand of tokenizer and each experiment of lab.
std::vector<Arguments> all_commands() {
  std::vector<Arguments> commands;
  for (const std::string& name : listed_commands(run_headlight({"--help"}).out)) {
    if (name != "tokenizer") {
      commands.push_back({name});
    }
  }
  for (const std::string& name : listed_commands(run_headlight({"tokenizer", "--help"}).out)) {
    commands.push_back({"tokenizer", name});
  }
  for (const std::string& line : lines_of(run_headlight({"lab"}).out)) {
    commands.push_back({"lab", line.substr(0, line.find(' '))});
  }
  return commands;
}

std::ptrdiff_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

std::ptrdiff_t options_in(const std::string& help) {
  return std::ssize(matches_of(help, std::regex("\n +--[a-z]"), 0));
}

TEST_CASE("The full help of every command has JSON keys and exit codes and an example") {
  const std::vector<Arguments> commands = all_commands();
  REQUIRE(commands.size() == 41);
  for (const std::vector<std::string>& command : commands) {
    const ProgramResult result = run_headlight(changed(command, {"--help", "all"}));
    INFO("headlight " << command[0]);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    check_parts(result.out, {"JSON keys", "Exit codes: 0 success, 1 failure, 2 bad input",
                             "Examples:\n  headlight " + command[0], "Common options:"});
  }
}

TEST_CASE("The usual help of a command is short and names the option for the full help") {
  for (const std::vector<std::string>& command : all_commands()) {
    const std::string help = run_headlight(changed(command, {"--help"})).out;
    INFO("headlight " << command[0]);
    CHECK(lines_in(help) <= 80);
    CHECK(options_in(help) >= 3);
    const std::string all = run_headlight(changed(command, {"--help", "all"})).out;
    CHECK((help == all || contains(help, "--help all shows all")));
  }
  const std::string help = run_headlight({"train", "--help"}).out;
  CHECK(options_in(help) == 12);
  for (const char* name : {"data", "out_dir", "resume", "init_from", "n_layer", "n_head", "n_embd",
                           "block_size", "batch_size", "learning_rate", "max_iters"}) {
    CHECK(contains(help, "--" + std::string(name) + " "));
  }
}

// Options that say what their command does with them: each command has words of its own.
const std::set<std::string> kOwnWords{
    "chat_template", "data",           "file",       "heads",   "html",      "ids",
    "lang",          "layers",         "learn",      "limit",   "prompt",    "out",
    "scatter",       "max_new_tokens", "positions",  "seed",    "text",      "scores",
    "top_k",         "units",          "vocab_size", "weights", "resamples", "token_dtype"};

TEST_CASE("an option takes the same and means the same in all commands") {
  // For each option its kinds of values and its meanings, as shells offer them, with a command.
  std::map<std::string, std::map<std::string, std::string>> takes;
  std::map<std::string, std::map<std::string, std::string>> meanings;
  const std::regex option(R"(at '(.*) \*'" -l (\S+)( -x| -r -F)?( -a '[^']*')? -d '(.*)')");
  std::istringstream lines(run_headlight({"--help", "fish"}).out);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    const bool is_option = std::regex_search(line, found, option);
    if (!is_option || found[1] == "train" || found[1] == "bench") {
      continue;  // keys of trainings, also nanoGPT's
    }
    const std::string meaning = found[5];
    takes[found[2]].emplace(found[3], found[1]);
    meanings[found[2]].emplace(found[4].matched ? meaning.substr(0, meaning.find(": ")) : meaning,
                               found[1]);
  }
  CHECK(takes.size() > 150);
  for (const auto& [name, calls] : takes) {
    INFO("--" << name << " of " << calls.begin()->second << " and " << calls.rbegin()->second);
    CHECK(calls.size() == 1);
    CHECK((meanings[name].size() == 1 || kOwnWords.contains(name)));
  }
}

TEST_CASE("help COMMAND prints what COMMAND --help prints") {
  for (const std::vector<std::string>& command : all_commands()) {
    INFO("headlight " << command[0]);
    CHECK(run_headlight(changed({"help"}, command)).out ==
          run_headlight(changed(command, {"--help"})).out);
  }
  CHECK(run_headlight(words("help train all")).out ==
        run_headlight({"train", "--help", "all"}).out);
  CHECK(run_headlight({"help"}).out == run_headlight({"--help"}).out);
}

TEST_CASE("the option --help in any place of a command line prints the help") {
  const std::string help = run_headlight({"train", "--help"}).out;
  CHECK(run_headlight({"train", "x.toml", "--n_layer", "2", "-h"}).out == help);
  CHECK(run_headlight({"train", "--help", "--help"}).out == help);
  CHECK(contains(run_headlight({"train", "--help=all"}).err, "--help: takes no value"));
}
