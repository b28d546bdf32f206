#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/distributed/processes.h"
#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/nn/gpt.h"
#include "headlight/tokenizers/tokenizer.h"
#include "questions/arguments.h"
#include "questions/question_result.h"
#include "questions/urgency.h"

// Questions about a model. Each is described once, in a file of its own: the command, the HTTP path
// and the Python method with its name follow from the description.
namespace headlight {

// Who asks, and of which model.
struct Asker {
  const Gpt& model;
  const Tokenizer& tokenizer;
  // Return the ids of a text, with the tokens that begin a prompt or alone. `about` names the
  // parameter for warnings and errors.
  using Encode =
      std::function<std::vector<std::int32_t>(const std::string& text, const std::string& about)>;
  Encode encode_prompt;
  Encode encode;
  std::function<void(const std::string& line)> warn = [](const std::string&) {};
  std::function<void(const std::string& line)> inform = [](const std::string&) {};
  // Called once, before any computation, with its cost in tokens times passes. May throw.
  std::function<void(Index tokens)> begin = [](Index) {};
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
  Index limit = 0;  // of the ranked rows that a figure shows; 0: all
  // Places of the records of a parameter of kind `records`, such as "pairs.jsonl: line 3"; empty:
  // they have none.
  std::vector<std::string> places = {};
  LogitMetric metric = {};  // of a front end that takes functions; replaces "metric"
  std::map<std::string_view, TokenDataset> data = {};  // of the given parameters of kind `data`
  bool shows = true;                                   // false: only facts and rows are read
  Index columns = 100;                                 // width of the text
  Index most_values = 0;                               // of an answer; 0: any number
  RecordedPasses* kept = nullptr;                      // passes that questions share
  Processes* processes = nullptr;     // that share the work, and all get the whole answer
  std::filesystem::path source = {};  // of the model, as the user named it; empty: none

  // Returns how many tokens of a text are read for its values up to a position. A server changes
  // the model only in begin(), and then keeps no passes.
  Index tokens_read(const std::vector<std::int32_t>& text, Index position) const {
    return kept == nullptr ? std::ssize(text) : std::ssize(deciding_tokens(model, text, position));
  }
  // Returns the progress of a part of the work, from `first` to `last`.
  std::function<void(double share)> part(double first, double last) const;
  // Throws Error about "top_k" for more tokens than the model has, and if an answer of `lists` of
  // so many is too long.
  void require_room(Index lists, Index top_k) const;
  // Returns whether this process writes files.
  bool leads() const { return processes == nullptr || processes->leads(); }
};

// Heading of the command in the list of commands.
enum class QuestionGroup { look, change };

// A key of the result, for help and documentation.
struct ResultKey {
  std::string_view name;
  std::string_view meaning;
};

struct Question {
  std::string_view name;  // "patch"
  QuestionGroup group = QuestionGroup::change;
  std::string_view summary;           // one line
  std::string details;                // paragraphs of the help
  std::vector<std::string> examples;  // command lines
  std::vector<Parameter> parameters;
  std::vector<ResultKey> facts;    // keys of QuestionResult::facts
  std::string_view rows;           // key of QuestionResult::rows: "cells"
  std::vector<ResultKey> columns;  // keys of a row
  // A chart besides the figure: the name of the command's option, and its help; "": none.
  std::string_view chart = {};
  std::string_view chart_help = {};
  std::string_view chart_needs = {};
  // Former options of the command, and the present ones.
  std::vector<std::pair<std::string_view, std::string_view>> former = {};
  bool reads_masked_models = false;  // bidirectional models
  bool has_ranked_rows = true;       // in some answers: the command has --limit
  // The answer is a model: it is read as it is stored, and Python's method returns the new one.
  bool makes_model = false;
  Urgency urgency = Urgency::background;  // of a request to a server
  // Arguments of the Python method that need no name.
  std::vector<std::string_view> positional = {};
  // Throws Error for arguments that have no answer. Called before the model is read.
  void (*check)(const Arguments& arguments) = [](const Arguments&) {};
  QuestionResult (*answer)(const Asker& asker, const Arguments& arguments);
};

// Returns whether the answer is in files, of a parameter of kind `output` that is required: then
// requests do not have the question, and the command has no options for other files.
bool always_writes(const Question& question);

// Returns whether the model reads anything; else only its weights answer.
bool runs_texts(const Question& question);

// All questions, in the order of the help.
const std::vector<const Question*>& questions();

}  // namespace headlight
