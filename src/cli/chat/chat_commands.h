#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/formats/chat_template/chat_session.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/interventions/interventions.h"

namespace headlight::cli {

// A chat in the terminal: the conversation and the settings of the next answers.
class TerminalChat {
 public:
  struct Settings {
    GenerateOptions generation = {};
    std::map<HeadId, HeadScore> scores = {};  // for classes of heads in changes
  };

  // All must outlive the chat.
  TerminalChat(const LoadedModel& loaded, ChatSession& session, Settings settings);

  // Obeys a line that begins with '/'. Returns the text to print. Throws Error for an unknown
  // command or an invalid argument; then nothing changes.
  std::string obey(std::string_view line);
  // Sets the first message of the conversation; an empty text removes it.
  void set_system(const std::string& text);
  // Adds a change of activations in the syntax of parse_changes().
  void change(const std::string& change);

  // Asks this before /save writes over a file. Without it, only the file of the last /save or /load
  // is written over.
  void set_confirm(std::function<bool(const std::string& question)> confirm) {
    confirm_ = std::move(confirm);
  }

  // True if the last message waits for an answer: after a question and after /retry.
  bool waits_for_answer() const;
  bool is_over() const { return is_over_; }
  const GenerateOptions& generation() const { return settings_.generation; }
  ForwardHook* hook() const { return hook_.get(); }

 private:
  struct Command;
  static const std::vector<Command>& commands();

  std::string help();
  std::string system(const std::string& text);
  std::string retry();
  std::string undo();
  std::string clear();
  std::string save(const std::string& file);
  std::string load(const std::string& file);
  std::string set(const std::string& setting);
  std::string switch_off(const std::string& targets);
  std::string intervene(const std::string& changes);
  std::string switch_on();
  std::string exit();
  void apply(std::vector<std::string> changes);

  const LoadedModel& loaded_;
  ChatSession& session_;
  Settings settings_;
  std::vector<std::string> changes_;  // in the order in which they apply
  std::unique_ptr<Interventions> hook_;
  std::filesystem::path saved_;  // file of the last /save or /load
  std::function<bool(const std::string& question)> confirm_;
  bool is_over_ = false;
};

}  // namespace headlight::cli
