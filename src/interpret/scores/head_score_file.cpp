#include "headlight/interpret/scores/head_score_file.h"

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "datasets/fingerprint.h"
#include "headlight/datasets/text_source.h"
#include "headlight/interpret/head_set.h"
#include "nn/packed/packed_weight.h"

namespace headlight {
namespace {

HeadId head_of(const Json& entry) {
  const HeadSet heads = HeadSet::parse(entry["head"].text());
  require(heads.size() == 1, "one head in each entry");
  return heads[0];
}

std::map<HeadId, HeadScore> scores_in(const Json& file) {
  std::map<HeadId, HeadScore> scores;
  for (const Json& entry : file["heads"]) {
    const Json verdict = entry.value("verdict", Json());
    const Json score = entry.value("verdict_score", entry.value("score", Json()));
    if (verdict.is_string() && score.is_number()) {
      std::string name = verdict.text();
      std::replace(name.begin(), name.end(), '_', ' ');
      scores[head_of(entry)] = {name, score.number(), entry.value("settled", true).boolean()};
    }
  }
  return scores;
}

// Reads the file, calls `use`, and returns the fingerprint in the file, "" without one.
std::string read_entries(const std::filesystem::path& path,
                         const std::function<void(const Json& file)>& use) {
  const std::string text = read_text_file(path);
  try {
    const Json file = parse_json(text, "the file");
    use(file);
    return file.value("model_fingerprint", "").text();
  } catch (const std::exception& error) {
    fail(path.string(),
         ": expected {\"heads\": [{\"head\": \"0.1\", \"verdict\": ..., \"verdict_score\": ...}]} "
         "as headlight heads writes it: ",
         error.what());
  }
}

bool is_rounded(const Module& model) {
  const NamedTensors parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [&](const auto& item) {
    const StoredWeight* stored = stored_form(model, item.first);
    return stored != nullptr && stored->is_rounded();
  });
}

// Compares the fingerprint of a file, `own`, with the model's. Returns HeadScoreFile::doubt.
std::string doubt_about(const std::filesystem::path& path, const std::string& own,
                        const LanguageModel& model) {
  if (own.empty()) {
    return escaped(path.string()) +
           ": contains no model_fingerprint, so its scores may come from another model";
  }
  const std::string expected = fingerprint(model);
  if (own != expected && is_rounded(model)) {
    return escaped(path.string()) +
           ": its scores may come from another model: the fingerprint is that of exact weights, "
           "and "
           "the weights of this model are rounded";
  }
  require(own == expected, path.string(),
          ": expected the scores of this model, with the fingerprint ", expected,
          ", got those of another one, ", own, "; run headlight heads again");
  return "";
}

}  // namespace

HeadScoreFile read_head_scores(const std::filesystem::path& path, const LanguageModel& model) {
  HeadScoreFile result;
  const std::string own =
      read_entries(path, [&](const Json& file) { result.scores = scores_in(file); });
  result.doubt = doubt_about(path, own, model);
  for (const auto& [id, score] : result.scores) {
    require(model.heads().index(id.layer, id.head).has_value(), path.string(), ": contains head ",
            head_name(id), ", which the model does not have; expected the scores of this model");
  }
  return result;
}

HeadScoreColumn read_head_score(const std::filesystem::path& path, const LanguageModel& model,
                                const std::string& score) {
  HeadScoreColumn column{.scores = {}, .doubt = read_head_scores(path, model).doubt};
  read_entries(path, [&](const Json& file) {
    for (const Json& entry : file["heads"]) {
      if (const Json value = entry.value(score, Json()); value.is_number()) {
        column.scores[head_of(entry)] = value.number();
      }
    }
  });
  require_value(!column.scores.empty(), "score", "expected a score of ", path.string(),
                ", such as induction, got '", score, "'");
  return column;
}

}  // namespace headlight
