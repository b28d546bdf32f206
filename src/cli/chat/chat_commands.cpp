#include "cli/chat/chat_commands.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/option_groups/sampling_options.h"
#include "cli/terminal/options.h"
#include "generate/sampling_parameters.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"
#include "headlight/storage/file_writer.h"
#include "storage/input_file.h"

namespace headlight::cli {
namespace {

constexpr Index kLargestFile = Index{1} << 26;  // bytes of a saved conversation

void require_argument(const std::string& argument, std::string_view command,
                      std::string_view expected) {
  require(!argument.empty(), command, ": expected ", expected, ", got nothing");
}

Json json_of(const std::vector<ChatMessage>& messages) {
  return Json{{"messages", json_list(messages, [](const ChatMessage& message) {
                 return Json{{"role", message.role}, {"content", message.content}};
               })}};
}

std::vector<ChatMessage> read_messages(const std::string& file) {
  const Json root = parse_json(read_whole_file(file, kLargestFile), shown(file));
  const std::string where = concat_text(shown(file), ": messages");
  const Json& list = json_member(root, "messages", shown(file));
  require(list.is_array(), where, ": expected an array, got ", list.type_name());
  std::vector<ChatMessage> messages;
  for (const Json& entry : list) {
    messages.push_back({json_string(entry, "role", where), json_string(entry, "content", where)});
  }
  return messages;
}

bool is_from(const std::vector<ChatMessage>& messages, std::string_view role) {
  return !messages.empty() && messages.back().role == role;
}

}  // namespace

struct TerminalChat::Command {
  std::string_view name;
  std::string_view argument;
  std::string_view help;
  std::string (*run)(TerminalChat& chat, const std::string& argument);
};

const std::vector<TerminalChat::Command>& TerminalChat::commands() {
  using Chat = TerminalChat;
  using Text = const std::string;
  static const std::vector<Command> all{
      {"/help", "", "list the commands", [](Chat& chat, Text&) { return chat.help(); }},
      {"/system", "TEXT", "set the system message; without TEXT: remove it",
       [](Chat& chat, Text& text) { return chat.system(text); }},
      {"/retry", "", "answer the last question again, with other random choices",
       [](Chat& chat, Text&) { return chat.retry(); }},
      {"/undo", "", "remove the last question and its answer",
       [](Chat& chat, Text&) { return chat.undo(); }},
      {"/clear", "", "begin a new conversation with the same system message",
       [](Chat& chat, Text&) { return chat.clear(); }},
      {"/save", "FILE", "write the conversation as JSON",
       [](Chat& chat, Text& file) { return chat.save(file); }},
      {"/load", "FILE", "continue a saved conversation",
       [](Chat& chat, Text& file) { return chat.load(file); }},
      {"/set", "NAME VALUE", "set temperature, top_k, ...; alone: show all",
       [](Chat& chat, Text& setting) { return chat.set(setting); }},
      {"/off", "1.1, mlp.3", "switch off heads, MLPs or layers in the following answers",
       [](Chat& chat, Text& targets) { return chat.switch_off(targets); }},
      {"/intervene", "CHANGE", "any change of headlight generate --intervene; alone: show all",
       [](Chat& chat, Text& changes) { return chat.intervene(changes); }},
      {"/on", "", "undo all changes of /off and /intervene",
       [](Chat& chat, Text&) { return chat.switch_on(); }},
      {"/exit", "", "end the chat, as Ctrl-D does", [](Chat& chat, Text&) { return chat.exit(); }}};
  return all;
}

TerminalChat::TerminalChat(const LoadedModel& loaded, ChatSession& session, Settings settings)
    : loaded_(loaded), session_(session), settings_(std::move(settings)) {}

std::string TerminalChat::obey(std::string_view line) {
  const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
  const std::string name(line.substr(0, space));
  const auto& all = commands();
  const auto found = std::ranges::find(all, name == "/quit" ? "/exit" : name, &Command::name);
  if (found == all.end()) {
    const auto names =
        transformed(all, [](const Command& command) { return std::string(command.name); });
    fail("unknown command ", in_quotes(name), did_you_mean(name, names),
         " (/help lists all; a message that begins with / needs a blank before it)");
  }
  const std::string argument(trimmed(line.substr(space)));
  require(argument.empty() || !found->argument.empty(), name, ": expected no text after it, got ",
          in_quotes(argument));
  return found->run(*this, argument);
}

bool TerminalChat::waits_for_answer() const { return is_from(session_.messages(), "user"); }

std::string TerminalChat::help() {
  std::string text;
  for (const Command& command : commands()) {
    text += fmt::format("  {:<22}{}\n", fmt::format("{} {}", command.name, command.argument),
                        command.help);
  }
  return text +
         "  Ctrl-C stops an answer. A line that ends with \\ continues in the next line;\n"
         "  lines between \"\"\" are one message.\n";
}

void TerminalChat::set_system(const std::string& text) {
  std::vector<ChatMessage>& messages = session_.messages();
  if (!messages.empty() && messages.front().role == "system") {
    messages.erase(messages.begin());
  }
  if (!text.empty()) {
    messages.insert(messages.begin(), {"system", text});
  }
}

std::string TerminalChat::system(const std::string& text) {
  set_system(text);
  return text.empty() ? "no system message\n" : "";
}

std::string TerminalChat::retry() {
  std::vector<ChatMessage>& messages = session_.messages();
  if (is_from(messages, "assistant")) {
    messages.pop_back();
  }
  require(is_from(messages, "user"), "/retry: there is no question yet");
  ++settings_.generation.sample;
  return "";
}

std::string TerminalChat::undo() {
  std::vector<ChatMessage>& messages = session_.messages();
  const auto question =
      std::find_if(messages.rbegin(), messages.rend(),
                   [](const ChatMessage& message) { return message.role == "user"; });
  require(question != messages.rend(), "/undo: there is no question yet");
  messages.erase(question.base() - 1, messages.end());
  return messages.empty() || messages.back().role == "system"
             ? "the conversation is empty\n"
             : concat_text("back after: ", in_quotes(messages.back().content), "\n");
}

std::string TerminalChat::clear() {
  std::vector<ChatMessage>& messages = session_.messages();
  const bool has_system = !messages.empty() && messages.front().role == "system";
  messages.resize(has_system ? 1 : 0);
  return "";
}

std::string TerminalChat::save(const std::string& file) {
  require_argument(file, "/save", "a file");
  const bool exists = std::filesystem::exists(file);
  if (exists && confirm_ && !confirm_(concat_text(shown(file), " exists: write over it?"))) {
    return "not saved\n";
  }
  require(!exists || confirm_ || file == saved_, "/save: ", shown(file),
          " exists; choose another name");
  write_file(file, json_of(session_.messages()).dump() + "\n");
  saved_ = file;
  return concat_text("wrote ", shown(file), "\n");
}

std::string TerminalChat::load(const std::string& file) {
  require_argument(file, "/load", "a file");
  session_.messages() = read_messages(file);
  saved_ = file;
  return concat_text("read ", session_.messages().size(), " messages\n");
}

// The options of the command line, with the present values as defaults, check and set a value.
std::string TerminalChat::set(const std::string& setting) {
  CommandInfo info;
  info.name = "chat";
  Options options(info);
  add_sampling_options(options, settings_.generation);
  if (!setting.empty()) {
    const std::size_t end = std::min(setting.find_first_of(" =\t"), setting.size());
    const std::string value(
        trimmed(std::string_view(setting).substr(std::min(end + 1, setting.size()))));
    options.parse({"--" + setting.substr(0, end), value});
    GenerateOptions wanted = sampling_options(options, settings_.generation);
    wanted.validate();
    settings_.generation = std::move(wanted);
    return "";
  }
  std::string text;
  const auto add = [&](const std::string& name) {
    text += concat_text("  ", name, " ", options.text(name), "\n");
  };
  add("max_new_tokens");
  for (const SamplingParameter& parameter : sampling_parameters()) {
    add(std::string(parameter.name));
  }
  add("seed");
  return text;
}

void TerminalChat::apply(std::vector<std::string> changes) {
  std::vector<Change> all;
  for (const std::string& text : changes) {
    const std::vector<Change> more = read_changes(text);
    all.insert(all.end(), more.begin(), more.end());
  }
  hook_ = all.empty() ? nullptr
                      : std::make_unique<Interventions>(
                            *loaded_.model, all,
                            Interventions::Options{.tokenizer = loaded_.tokenizer.get(),
                                                   .scores = settings_.scores});
  changes_ = std::move(changes);
}

void TerminalChat::change(const std::string& change) {
  std::vector<std::string> changes = changes_;
  changes.push_back(change);
  apply(std::move(changes));
}

std::string TerminalChat::switch_off(const std::string& targets) {
  require_argument(targets, "/off", "heads such as 1.1, or mlp.3 or layer.2");
  change("off " + targets);
  return "";
}

std::string TerminalChat::intervene(const std::string& changes) {
  if (!changes.empty()) {
    change(changes);
    return "";
  }
  std::string text;
  for (const std::string& change : changes_) {
    text += "  " + escaped(change) + "\n";
  }
  return text.empty() ? "no changes\n" : text;
}

std::string TerminalChat::switch_on() {
  apply({});
  return "";
}

std::string TerminalChat::exit() {
  is_over_ = true;
  return "";
}

}  // namespace headlight::cli
