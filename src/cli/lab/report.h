#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/lab/lab.h"
#include "views/report/table.h"

namespace headlight::cli::lab {

// A statement and whether the numbers of this run bear it out.
struct Claim {
  const char* id;  // its name in JSON
  bool holds = false;
  Text if_so;   // what the numbers show when it holds
  Text if_not;  // and when it does not
};

// What an experiment found, in the order in which it is shown: text, tables and pictures of block
// characters for the terminal, figures for files, and all numbers for programs.
class Report {
 public:
  explicit Report(Language language) : language_(language) {}

  Language language() const { return language_; }

  // The words in the report's language with the values filled in.
  std::string words(const Text& text, const std::vector<std::string>& values = {}) const;

  void heading(const Text& text, const std::vector<std::string>& values = {});
  void paragraph(const Text& text, const std::vector<std::string>& values = {});
  void table(const Table& table);
  // Lines as they are: a tensor, a chart.
  void block(const std::string& lines);
  // An SVG figure for --out.
  void figure(const std::string& file, std::string svg);
  void claim(const Claim& claim, const std::vector<std::string>& values = {});

  // Everything that was measured, under names of the experiment's choice.
  Json& values() { return values_; }

  // For the terminal, 80 columns wide.
  std::string text() const;
  // {"values": ..., "claims": [{"id", "holds", "text"}]}
  Json json() const;
  const std::map<std::string, std::string>& figures() const { return figures_; }

 private:
  struct Finding {
    std::string id;
    bool holds;
    std::string text;
  };

  Language language_;
  std::string body_;
  std::vector<Finding> findings_;
  std::map<std::string, std::string> figures_;
  Json values_ = Json::object();
};

}  // namespace headlight::cli::lab
