#include "interpret/scores/head_tracker.h"

#include <algorithm>

#include "base/json.h"
#include "headlight/datasets/learned_tokens.h"
#include "headlight/formats/run_layout.h"
#include "headlight/interpret/scores/repeat_loss.h"
#include "interpret/head_json.h"

namespace headlight {
namespace {

// Small enough to take far less time than 100 steps, large enough for 2 digits of a score.
constexpr Index kTextSequences = 6;
constexpr Index kTextTokens = 128;  // tokens of a sequence at most
constexpr Index kRepeatSequences = 6;
constexpr Index kRepeatLength = 32;

// Sequences spread over the whole dataset; the same ones every time.
std::vector<std::vector<std::int32_t>> sample_of(const TokenDataset& data, Index block_size) {
  const Index longest = std::min(kTextTokens, block_size);
  std::vector<std::vector<std::int32_t>> sample;
  for (Index i = 0; i < kTextSequences; ++i) {
    if (data.documents) {
      const auto number = static_cast<std::size_t>(i * std::ssize(data.sequences) / kTextSequences);
      const TokenSequence& document = data.sequences[number];
      // The last token of a document is a target only, never an input.
      sample.push_back(document.tokens(0, std::min(longest, document.size() - 1)));
    } else {
      const TokenSequence& stream = data.sequences.front();
      const Index length = std::min(longest, stream.size() - 1);
      const Index begin = i * (stream.size() - length) / kTextSequences;
      sample.push_back(stream.tokens(begin, std::min(longest, stream.size() - begin)));
    }
  }
  for (std::vector<std::int32_t>& tokens : sample) {
    tokens.erase(std::find(tokens.begin(), tokens.end(), kPairBreak), tokens.end());
    std::transform(tokens.begin(), tokens.end(), tokens.begin(), id_of);
  }
  return sample;
}

Json json_of(const ScoredHead& head) {
  Json json = head_json(head.head);
  json["verdict"] = head.verdict.name;
  for (std::size_t index = 0; index < score_list().size(); ++index) {
    const ScoreInfo& info = score_list()[index];
    if (info.group != "structure") {  // needs annotations
      const ScoreValue& score = head.scores[index];
      json[std::string(info.name)] = score.measured() ? Json(score.value.mean) : Json(nullptr);
    }
  }
  return json;
}

}  // namespace

void HeadTracker::on_start(const RunPlan& plan) {
  if (interval_ == 0) {
    RunLines::forget_killed_run(plan, kRunHeads);
    return;
  }
  model_ = &plan.model;
  const TokenDataset& data = plan.validation.sequences.empty() ? plan.train : plan.validation;
  text_ = sample_of(data, plan.model.config().block_size);
  options_.repeats = repeats_of_text(plan.tokenizer, plan.model.config().vocab_size);
  options_.repeats.sequences = kRepeatSequences;
  options_.repeats.length = kRepeatLength;
  options_.bootstrap.resamples = 0;
  options_.tokenizer = &plan.tokenizer;
  lines_.emplace(plan, kRunHeads, warn_);
  if (plan.first_iteration == 0) {
    lines_->append(measure(0, nullptr));
  }
}

void HeadTracker::on_step(const StepMetrics& metrics) {
  const Index updates = metrics.iteration + 1;
  if (interval_ > 0 && updates % interval_ == 0) {
    lines_->append(measure(updates, &metrics.loss));
  }
}

void HeadTracker::on_rollback(const RollbackMetrics& metrics) {
  if (lines_) {
    lines_->roll_back(metrics.iteration);
  }
}

void HeadTracker::before_checkpoint() {
  if (lines_) {
    lines_->flush();
  }
}

std::string HeadTracker::measure(Index iteration, const double* loss) const {
  const HeadScores scores = score_heads(*model_, text_, options_);
  Json line{{"iteration", iteration},     {"loss", loss == nullptr ? Json(nullptr) : Json(*loss)},
            {"first_copy_loss", nullptr}, {"second_copy_loss", nullptr},
            {"in_context", nullptr},      {"text_places", scores.tokens - scores.sequences},
            {"repeat_places", 0},         {"heads", Json::array()}};
  if (model_->config().block_size >= 5) {
    const RepeatLoss repeats = repeat_loss(*model_, options_.repeats);
    line["first_copy_loss"] = repeats.first;
    line["second_copy_loss"] = repeats.second;
    line["in_context"] = repeats.in_context();
  }
  line["repeat_places"] = scores.heads.front().score("induction").count;
  for (const ScoredHead& head : scores.heads) {
    line["heads"].push_back(json_of(head));
  }
  return line.dump();
}

}  // namespace headlight
