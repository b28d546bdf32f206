#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/lab/lab.h"
#include "views/report/table.h"

namespace headlight::cli::lab {

// Statement, and whether this run confirms it.
struct Claim {
  const char* id;  // its name in JSON
  bool holds = false;
  Text if_so;   // text if it holds
  Text if_not;  // text if it does not
};

// Results of an experiment in display order: text, tables and block pictures for the terminal,
// figures for files, all numbers as JSON.
class Report {
 public:
  explicit Report(Language language) : language_(language) {}

  Language language() const { return language_; }

  // The words in the report's language with the values filled in.
  std::string words(const Text& text, const std::vector<std::string>& values = {}) const;

  void heading(const Text& text, const std::vector<std::string>& values = {});
  void paragraph(const Text& text, const std::vector<std::string>& values = {});
  void table(const Table& table);
  // Adds lines unchanged, for example a tensor or a chart.
  void block(const std::string& lines);
  // Adds an SVG figure for --out.
  void figure(const std::string& file, std::string svg);
  void claim(const Claim& claim, const std::vector<std::string>& values = {});

  // All measurements, under names that the experiment chooses.
  Json& values() { return values_; }

  // Text for a terminal of 80 columns.
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
