#include <algorithm>
#include <cmath>
#include <set>

#include "cli/lab/induction/findings.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/heads/effects/lens.h"
#include "headlight/heads/effects/patch_grid.h"
#include "headlight/heads/interventions/interventions.h"
#include "headlight/heads/scores/repeat_loss.h"
#include "headlight/tensor/random.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kPairLength = 12;        // tokens of a pair, all different
constexpr std::size_t kMostSenders = 8;  // limit of followed paths in large models

constexpr std::array kInto{Point::q, Point::k, Point::v};

// Mean over pairs or sequences, with its interval.
Interval mean_of(const std::vector<double>& values) {
  std::vector<DocumentSum> sums;
  for (const double value : values) {
    sums.push_back({.sum = value, .weight = 1});
  }
  return bootstrap_mean(sums);
}

RepeatOptions repeats_for(const Subject& subject, Index sequences, std::uint64_t seed) {
  RepeatOptions repeats = repeats_of_text(*subject.tokenizer, subject.model->vocab_size());
  repeats.sequences = sequences;
  repeats.seed = seed;
  return repeats;
}

std::vector<PatchingTask> tasks_of(const std::vector<InductionPair>& pairs) {
  std::vector<PatchingTask> tasks;
  for (const InductionPair& pair : pairs) {
    tasks.push_back(pair.task);
  }
  return tasks;
}

void score(const Subject& subject, const MeasureOptions& options, Findings& findings) {
  const RepeatOptions repeats = repeats_for(subject, options.sequences, options.seed);
  const HeadScores scores =
      score_heads(*subject.model, repeated_sequences(repeats, subject.model->config()),
                  {.repeats = repeats, .weight_scores = false});
  std::vector<HeadId> named;
  const HeadFinding* nearest = nullptr;
  for (const ScoredHead& head : scores.heads) {
    findings.heads.push_back({.scored = head, .suffices = {}, .needed = {}});
  }
  for (const HeadFinding& head : findings.heads) {
    if (head.is("induction")) {
      named.push_back(head.scored.head);
    }
    const auto induction = [](const HeadFinding& of) {
      return of.scored.score("induction").value.mean;
    };
    nearest = nearest == nullptr || induction(head) > induction(*nearest) ? &head : nearest;
  }
  findings.has_induction = !named.empty();
  findings.induction_heads = named.empty() ? HeadSet{nearest->scored.head} : HeadSet(named);
  findings.receiver = findings.induction_heads[0];
}

// Patches every whole head into the corrupt and into the clean texts. Counts the pairs that the
// model solves.
void patch_wholes(const Gpt& model, Findings& findings) {
  const std::vector<PatchingTask> tasks = tasks_of(findings.pairs);
  const PatchStudy suffices = patch_pairs(model, tasks, {});
  const PatchStudy needed = patch_pairs(model, tasks, {.noising = true});
  for (const PatchGrid& pair : suffices.pairs) {
    const PatchingResult done{.clean_difference = pair.clean_difference,
                              .corrupt_difference = pair.corrupt_difference,
                              .heads = {}};
    findings.pairs_done += done.strength() == TaskStrength::clear ? 1 : 0;
    findings.clean_difference += pair.clean_difference / static_cast<double>(tasks.size());
    findings.corrupt_difference += pair.corrupt_difference / static_cast<double>(tasks.size());
  }
  for (std::size_t i = 0; i < findings.heads.size(); ++i) {
    findings.heads[i].suffices = suffices.cells[i].recovered;
    findings.heads[i].needed = needed.cells[i].recovered;
  }
  for (const HeadId& id : findings.induction_heads) {
    if (findings.head(id).suffices.mean > findings.head(findings.receiver).suffices.mean) {
      findings.receiver = id;
    }
  }
}

std::array<Index, kPairPlaces.size()> places_of(const InductionPair& pair) {
  return {pair.answer_place - 1, pair.answer_place, pair.wrong_place - 1, pair.wrong_place,
          std::ssize(pair.task.clean) - 1};
}

// Patches every head at one place at a time.
void patch_places(const Gpt& model, Findings& findings) {
  const auto share = 1 / static_cast<double>(findings.pairs.size());
  for (const InductionPair& pair : findings.pairs) {
    const auto places = places_of(pair);
    for (std::size_t place = 0; place < places.size(); ++place) {
      const PatchGrid grid = patch_grid(
          model, pair.task, {.by_position = true, .positions = {places[place], places[place]}});
      for (std::size_t i = 0; i < findings.heads.size(); ++i) {
        findings.heads[i].by_place[place] += share * grid.cells[i].recovered;
      }
    }
  }
}

void read_layers(const Gpt& model, Findings& findings) {
  std::vector<std::vector<double>> ranks;
  for (const InductionPair& pair : findings.pairs) {
    const Index last = std::ssize(pair.task.clean) - 1;
    const LensResult lens = logit_lens(model, {.text = pair.task.clean,
                                               .positions = {last, last},
                                               .target = pair.task.answer.front(),
                                               .top_k = 1});
    findings.lens.resize(lens.rows.size());
    ranks.resize(lens.rows.size());
    for (std::size_t row = 0; row < lens.rows.size(); ++row) {
      const LensReading& reading = lens.rows[row].readings.front();
      findings.lens[row].place = lens.rows[row].place.name;
      findings.lens[row].probability +=
          std::exp(reading.log_probability) / static_cast<double>(findings.pairs.size());
      ranks[row].push_back(static_cast<double>(reading.rank));
    }
  }
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    std::sort(ranks[row].begin(), ranks[row].end());
    const std::size_t middle = ranks[row].size() / 2;
    findings.lens[row].rank = (ranks[row][middle] + ranks[row][(ranks[row].size() - 1) / 2]) / 2;
  }
}

// Heads below the receiver, at most kMostSenders with the largest recovered shares.
std::vector<HeadId> senders_of(const Findings& findings) {
  std::vector<const HeadFinding*> earlier;
  for (const HeadFinding& head : findings.heads) {
    if (head.scored.head.layer < findings.receiver.layer) {
      earlier.push_back(&head);
    }
  }
  std::stable_sort(earlier.begin(), earlier.end(), [](const HeadFinding* a, const HeadFinding* b) {
    return std::abs(a->suffices.mean) > std::abs(b->suffices.mean);
  });
  earlier.resize(std::min(earlier.size(), kMostSenders));
  std::vector<HeadId> senders;
  for (const HeadFinding* head : earlier) {
    senders.push_back(head->scored.head);
  }
  return senders;
}

void follow_paths(const Gpt& model, Findings& findings) {
  for (const HeadId& sender : senders_of(findings)) {
    PathFinding path{.from = sender, .into = {}};
    for (std::size_t into = 0; into < kInto.size(); ++into) {
      std::vector<double> shares;
      for (const InductionPair& pair : findings.pairs) {
        shares.push_back(
            patch_path(model, pair.task, {sender, findings.receiver, kInto[into]}).recovered);
      }
      path.into[into] = mean_of(shares);
    }
    findings.paths.push_back(path);
  }
  std::stable_sort(
      findings.paths.begin(), findings.paths.end(),
      [](const PathFinding& a, const PathFinding& b) { return a.into[1].mean > b.into[1].mean; });
  if (!findings.paths.empty()) {
    findings.source = findings.paths.front().from;
  }
}

// Losses on both copies of repeated tokens, with all heads or with some switched off.
class RepeatedText {
 public:
  RepeatedText(Gpt& model, const RepeatOptions& repeats)
      : model_(model), repeats_(repeats), whole_(repeat_losses(model, repeats)) {}

  Interval first() const { return mean(whole_, &RepeatLoss::first); }
  Interval second() const { return mean(whole_, &RepeatLoss::second); }

  LossWithout without(const HeadSet& heads) {
    std::vector<PointRange> targets;
    for (const HeadId& id : heads) {
      targets.push_back({.point = Point::z,
                         .layers = {id.layer, id.layer},
                         .items = NumberRange{id.head, id.head}});
    }
    const Change off{.kind = ChangeKind::off, .targets = targets};
    model_.attach(
        std::make_shared<Interventions>(model_, std::vector{off}, Interventions::Options{}));
    const std::vector<RepeatLoss> losses = repeat_losses(model_, repeats_);
    model_.attach(nullptr);
    std::vector<double> rises;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      rises.push_back(losses[i].second - whole_[i].second);
    }
    return {heads, mean(losses, &RepeatLoss::second), mean_of(rises)};
  }

 private:
  static Interval mean(const std::vector<RepeatLoss>& losses, double RepeatLoss::*copy) {
    std::vector<double> values;
    for (const RepeatLoss& loss : losses) {
      values.push_back(loss.*copy);
    }
    return mean_of(values);
  }

  Gpt& model_;
  RepeatOptions repeats_;
  std::vector<RepeatLoss> whole_;
};

// Draws different sets of unnamed heads, each as large as the set of induction heads.
std::vector<HeadSet> other_sets(const Findings& findings, const MeasureOptions& options) {
  std::vector<HeadId> others;
  for (const HeadFinding& head : findings.heads) {
    const HeadId& id = head.scored.head;
    if (!findings.induction_heads.contains(id) && !head.is("previous_token") &&
        findings.source != id) {
      others.push_back(id);
    }
  }
  const std::size_t size = std::min(findings.induction_heads.size(), others.size());
  std::set<std::vector<HeadId>> seen;
  std::vector<HeadSet> sets;
  for (Index draw = 0; size > 0 && draw < options.draws; ++draw) {
    const RandomStream random =
        RandomStream{options.seed, 2}.fork(static_cast<std::uint64_t>(draw));
    for (std::size_t i = 0; i < size; ++i) {
      std::swap(others[i], others[i + random.below(i, others.size() - i)]);
    }
    const auto end = others.begin() + static_cast<Index>(size);
    const HeadSet heads(std::vector<HeadId>(others.begin(), end));
    if (seen.insert({heads.begin(), heads.end()}).second) {
      sets.push_back(heads);
    }
  }
  return sets;
}

void switch_off(const Subject& subject, const MeasureOptions& options, Findings& findings) {
  RepeatedText text(*subject.model, repeats_for(subject, options.sequences, options.seed + 1));
  Repetition& repetition = findings.repetition;
  repetition.first = text.first();
  repetition.second = text.second();
  if (!findings.does_task()) {
    return;
  }
  repetition.without_induction = text.without(findings.induction_heads);
  if (findings.source) {
    repetition.without_source = text.without({*findings.source});
  }
  for (const HeadSet& heads : other_sets(findings, options)) {
    repetition.without_others.push_back(text.without(heads));
  }
}

}  // namespace

double Repetition::largest_other_rise() const {
  const auto largest = std::max_element(
      without_others.begin(), without_others.end(),
      [](const LossWithout& a, const LossWithout& b) { return a.rise.mean < b.rise.mean; });
  return largest == without_others.end() ? 0 : largest->rise.mean;
}

const HeadFinding& Findings::head(const HeadId& id) const {
  return *std::find_if(heads.begin(), heads.end(),
                       [&](const HeadFinding& head) { return head.scored.head == id; });
}

Findings measure(const Subject& subject, const MeasureOptions& options) {
  const Gpt& model = *subject.model;
  RepeatOptions pairs = repeats_for(subject, options.pairs, options.seed);
  pairs.length = kPairLength;
  Findings findings;
  findings.sequences = options.sequences;
  findings.pairs = induction_pairs(pairs, model.config());
  score(subject, options, findings);
  patch_wholes(model, findings);
  if (findings.does_task()) {
    read_layers(model, findings);
    patch_places(model, findings);
    follow_paths(model, findings);
    findings.circuit = find_circuit(model, tasks_of(findings.pairs));
    findings.kept_share = static_cast<double>(findings.circuit.kept) /
                          static_cast<double>(findings.circuit.edges.size());
  }
  switch_off(subject, options, findings);
  return findings;
}

}  // namespace headlight::cli::lab
