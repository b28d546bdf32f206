#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/transformed.h"
#include "course/report/prose.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight::cli::lab {

// Returns the text NAME.md in a language.
Prose prose(std::string_view name, Language language);

// Steps of the shortest training behind a claim, and the number from which it has a verdict.
struct TrainingLength {
  Index steps = 0;
  Index needed = 0;
};

// Results of an experiment: text in display order, SVG figures, arrays, all numbers as JSON.
// Placeholders show the measurements in values() and the values that a call passes.
class Report {
 public:
  // `language`: of text and figures. `json_language`: of the claims in json().
  Report(std::string_view experiment, Language language, Language json_language)
      : language_(language),
        json_language_(json_language),
        prose_(prose(experiment, language)),
        json_prose_(prose(experiment, json_language)) {}

  Language language() const { return language_; }

  // Adds a section of the text.
  void section(std::string_view name, const Json& shown = Json::object());
  // Returns an entry of the text.
  std::string entry(std::string_view section, std::string_view name,
                    const Json& shown = Json::object()) const;
  // Adds an SVG figure for --out.
  void figure(const std::string& file, std::string svg) { figures_[file] = std::move(svg); }
  // Adds an .npz file for --out.
  void arrays(const std::string& file, NamedTensors tensors) { arrays_[file] = std::move(tensors); }
  // Adds a statement and whether this run confirms it. Section `words`, or `id` if it is empty,
  // holds its text, "yes" or "no".
  void claim(std::string_view id, bool holds, const Json& shown = Json::object(),
             std::string_view words = "") {
    claim(id, TrainingLength(), holds, shown, words);
  }
  // A claim about trained models. If they had too few steps, the claim has no verdict: `holds` is
  // null in json(), and the text names the entry "topic".
  void claim(std::string_view id, const TrainingLength& training, bool holds,
             const Json& shown = Json::object(), std::string_view words = "");

  // All measurements, under names that the experiment chooses.
  Json& values() { return values_; }

  // Text for a terminal of 80 columns.
  std::string text() const;
  // {"values": ..., "claims": [{"id", "holds", "text"}]}; holds is null without a verdict.
  Json json() const { return {{"values", values_}, {"claims", claims_}}; }
  const std::map<std::string, std::string>& figures() const { return figures_; }
  const std::map<std::string, NamedTensors>& arrays() const { return arrays_; }

 private:
  // The measurements and the values of a call, which come first.
  Json with_values(const Json& shown) const;

  Language language_;
  Language json_language_;
  Prose prose_;
  Prose json_prose_;
  std::string body_;
  std::string findings_;  // the claims in language_
  Json claims_ = Json::array();
  std::map<std::string, std::string> figures_;
  std::map<std::string, NamedTensors> arrays_;
  Json values_ = Json::object();
};

}  // namespace headlight::cli::lab
