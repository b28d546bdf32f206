#include <algorithm>
#include <cmath>
#include <functional>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "course/induction/findings.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/interpret/lens/lens.h"
#include "headlight/interpret/scores/repeat_loss.h"
#include "headlight/tensor/random.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kPairs = 24;
constexpr Index kSequences = 32;         // of repeated random tokens
constexpr std::uint64_t kDraws = 12;     // of sets of other heads
constexpr Index kPairLength = 12;        // tokens of a pair, all different
constexpr std::size_t kMostSenders = 8;  // limit of followed paths in large models

constexpr std::array kInto{Point::q, Point::k, Point::v};

// Mean over pairs or sequences, with its interval.
Interval mean_of(const std::vector<double>& values) {
  return bootstrap_mean(
      transformed(values, [](double value) { return DocumentSum{.sum = value, .weight = 1}; }));
}

void score(const Subject& subject, std::uint64_t seed, Findings& findings) {
  const RepeatOptions repeats = repeats_for(subject, findings.sequences, seed);
  const HeadScores scores =
      score_heads(*subject.model, repeated_sequences(repeats, subject.model->config()),
                  {.repeats = repeats, .weight_scores = false});
  std::vector<HeadId> named;
  for (const ScoredHead& head : scores.heads) {
    findings.heads.push_back({.scored = head, .suffices = {}, .needed = {}});
    if (findings.heads.back().is("induction")) {
      named.push_back(head.head);
    }
  }
  findings.has_induction = !named.empty();
  if (named.empty()) {
    named.push_back(std::ranges::max_element(scores.heads, {}, [](const ScoredHead& head) {
                      return head.score("induction").value.mean;
                    })->head);
  }
  findings.induction_heads = HeadSet(named);
  findings.receiver = findings.induction_heads[0];
}

// Patches every whole head into the corrupt and into the clean texts. Counts the pairs that the
// model solves.
void patch_wholes(const Gpt& model, Findings& findings) {
  const std::vector<PatchingTask> tasks = transformed(findings.pairs, &InductionPair::task);
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

std::array<Index, kPairPositions> positions_of(const InductionPair& pair) {
  return {pair.answer_position - 1, pair.answer_position, pair.wrong_position - 1,
          pair.wrong_position, std::ssize(pair.task.clean) - 1};
}

// Patches every head at one position at a time.
void patch_positions(const Gpt& model, Findings& findings) {
  const auto share = 1 / static_cast<double>(findings.pairs.size());
  for (const InductionPair& pair : findings.pairs) {
    const auto positions = positions_of(pair);
    for (std::size_t index = 0; index < positions.size(); ++index) {
      const PatchGrid grid =
          patch_grid(model, pair.task,
                     {.by_position = true, .positions = {positions[index], positions[index]}});
      for (std::size_t i = 0; i < findings.heads.size(); ++i) {
        findings.heads[i].by_position[index] += share * grid.cells[i].recovered;
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
      findings.lens[row].label = lens.rows[row].label.name;
      findings.lens[row].probability +=
          std::exp(reading.log_probability) / static_cast<double>(findings.pairs.size());
      ranks[row].push_back(static_cast<double>(reading.rank));
    }
  }
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    std::ranges::sort(ranks[row]);
    const std::size_t middle = ranks[row].size() / 2;
    findings.lens[row].rank = (ranks[row][middle] + ranks[row][(ranks[row].size() - 1) / 2]) / 2;
  }
}

// Heads below the receiver, at most kMostSenders with the largest recovered shares.
std::vector<const HeadFinding*> senders_of(const Findings& findings) {
  std::vector<const HeadFinding*> earlier;
  for (const HeadFinding& head : findings.heads) {
    if (head.scored.head.layer < findings.receiver.layer) {
      earlier.push_back(&head);
    }
  }
  std::ranges::stable_sort(earlier, std::ranges::greater(),
                           [](const HeadFinding* head) { return std::abs(head->suffices.mean); });
  earlier.resize(std::min(earlier.size(), kMostSenders));
  return earlier;
}

void follow_paths(const Gpt& model, Findings& findings) {
  for (const HeadFinding* sender : senders_of(findings)) {
    PathFinding path{.from = sender->scored.head, .into = {}};
    for (std::size_t into = 0; into < kInto.size(); ++into) {
      path.into[into] = mean_of(transformed(findings.pairs, [&](const InductionPair& pair) {
        return patch_path(model, pair.task, head_path(path.from, findings.receiver, kInto[into]))
            .recovered;
      }));
    }
    findings.paths.push_back(path);
  }
  std::ranges::stable_sort(findings.paths, std::ranges::greater(),
                           [](const PathFinding& path) { return path.into[1].mean; });
  if (!findings.paths.empty()) {
    findings.source = findings.paths.front().from;
  }
}

// Losses on repeated tokens with some heads switched off. `whole`: losses with all heads.
LossWithout loss_without(const HeadSet& heads, Gpt& model, const RepeatOptions& repeats,
                         const std::vector<RepeatLoss>& whole) {
  model.attach(std::make_shared<Interventions>(model, parse_changes("off " + names_of(heads)),
                                               Interventions::Options{}));
  const std::vector<RepeatLoss> losses = repeat_losses(model, repeats);
  model.attach(nullptr);
  std::vector<double> rises;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    rises.push_back(losses[i].second - whole[i].second);
  }
  return {heads, mean_of(transformed(losses, &RepeatLoss::second)), mean_of(rises)};
}

// Draws different sets of unnamed heads, each as large as the set of induction heads.
std::vector<HeadSet> other_sets(const Findings& findings, std::uint64_t seed) {
  std::vector<HeadId> others;
  for (const HeadFinding& head : findings.heads) {
    if (!findings.has_part(head)) {
      others.push_back(head.scored.head);
    }
  }
  const std::size_t size = std::min(findings.induction_heads.size(), others.size());
  std::vector<HeadSet> sets;
  for (std::uint64_t draw = 0; size > 0 && draw < kDraws; ++draw) {
    const RandomStream random = RandomStream{seed, 2}.fork(draw);
    for (std::size_t i = 0; i < size; ++i) {
      std::swap(others[i], others[i + random.below(i, others.size() - i)]);
    }
    const auto end = others.begin() + static_cast<Index>(size);
    const HeadSet heads(std::vector<HeadId>(others.begin(), end));
    if (std::ranges::find(sets, heads) == sets.end()) {
      sets.push_back(heads);
    }
  }
  return sets;
}

void switch_off(const Subject& subject, std::uint64_t seed, Findings& findings) {
  const RepeatOptions repeats = repeats_for(subject, findings.sequences, seed + 1);
  const std::vector<RepeatLoss> whole = repeat_losses(*subject.model, repeats);
  const auto without = [&](const HeadSet& heads) {
    return loss_without(heads, *subject.model, repeats, whole);
  };
  Repetition& repetition = findings.repetition;
  repetition.first = mean_of(transformed(whole, &RepeatLoss::first));
  repetition.second = mean_of(transformed(whole, &RepeatLoss::second));
  if (!findings.does_task()) {
    return;
  }
  repetition.without_induction = without(findings.induction_heads);
  if (findings.source) {
    repetition.without_source = without({*findings.source});
  }
  for (const HeadSet& heads : other_sets(findings, seed)) {
    repetition.without_others.push_back(without(heads));
  }
}

}  // namespace

double Repetition::largest_other_rise() const {
  const auto rise = [](const LossWithout& without) { return without.rise.mean; };
  const auto largest = std::ranges::max_element(without_others, {}, rise);
  return largest == without_others.end() ? 0 : rise(*largest);
}

const HeadFinding& Findings::head(const HeadId& id) const {
  return *std::ranges::find(heads, id, [](const HeadFinding& head) { return head.scored.head; });
}

bool Findings::has_part(const HeadFinding& head) const {
  return induction_heads.contains(head.scored.head) || source == head.scored.head ||
         head.is("previous_token");
}

std::string names_of(const HeadSet& heads) { return joined(head_names(heads), ", "); }

Findings measure(const Subject& subject, bool full, std::uint64_t seed) {
  const Gpt& model = *subject.model;
  const Index factor = full ? 4 : 1;
  RepeatOptions pairs = repeats_for(subject, factor * kPairs, seed);
  pairs.length = kPairLength;
  Findings findings;
  findings.sequences = factor * kSequences;
  findings.pairs = induction_pairs(pairs, model.config());
  score(subject, seed, findings);
  patch_wholes(model, findings);
  if (findings.does_task()) {
    read_layers(model, findings);
    patch_positions(model, findings);
    follow_paths(model, findings);
    findings.circuit = find_circuit(model, transformed(findings.pairs, &InductionPair::task));
    findings.kept_share = static_cast<double>(findings.circuit.kept) /
                          static_cast<double>(findings.circuit.edges.size());
  }
  switch_off(subject, seed, findings);
  return findings;
}

}  // namespace headlight::cli::lab
