#include "text/merge_learner.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {

// The largest comes first: the most frequent pair; of equals the one with the smaller left id, then
// with the smaller right id.
bool MergeLearner::Candidate::operator<(const Candidate& other) const {
  if (count != other.count) {
    return count < other.count;
  }
  if (pair != other.pair) {
    return pair.left != other.pair.left ? pair.left > other.pair.left
                                        : pair.right > other.pair.right;
  }
  return words > other.words;
}

MergeLearner::MergeLearner(CountedWords words, BpeVocabulary& vocabulary)
    : words_(std::move(words)), vocabulary_(vocabulary) {
  require(words_.counts.size() <= UINT32_MAX,
          "[MergeLearner] too many different words: ", words_.counts.size());
  for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
    if (!vocabulary_.tokens[id].empty()) {  // not a special token
      ids_.emplace(vocabulary_.tokens[id], static_cast<std::int32_t>(id));
    }
  }
  count_pairs();
}

void MergeLearner::count_pairs() {
  for (std::size_t word = 0; word < words_.counts.size(); ++word) {
    const std::int32_t* tokens = words_.tokens.data() + words_.begins[word];
    for (std::size_t i = 1; i < words_.lengths[word]; ++i) {
      count_pair({tokens[i - 1], tokens[i]}, words_.counts[word], word);
    }
  }
  queue_fresh_pairs();
}

void MergeLearner::count_pair(MergePair pair, Index change, std::size_t word) {
  PairRecord& record = pairs_.at(pair);
  record.count += change;
  if (change < 0) {
    return;
  }
  if (record.fresh < 0) {
    record.fresh = new_list();
    fresh_.push_back(pair);
  }
  auto& list = lists_[static_cast<std::size_t>(record.fresh)];
  if (list.empty() || list.back() != word) {
    list.push_back(static_cast<std::uint32_t>(word));
  }
}

std::int32_t MergeLearner::new_list() {
  if (free_lists_.empty()) {
    lists_.emplace_back();
    return static_cast<std::int32_t>(lists_.size() - 1);
  }
  const std::int32_t list = free_lists_.back();
  free_lists_.pop_back();
  return list;
}

void MergeLearner::queue_fresh_pairs() {
  for (const MergePair pair : fresh_) {
    PairRecord& record = pairs_.at(pair);
    const std::int32_t list = std::exchange(record.fresh, -1);
    if (record.count > 0) {
      queue_.push({record.count, pair, list});
    } else {
      lists_[static_cast<std::size_t>(list)].clear();
      free_lists_.push_back(list);
    }
  }
  fresh_.clear();
}

void MergeLearner::learn(Index vocab_size, Index min_frequency) {
  while (static_cast<Index>(vocabulary_.tokens.size()) < vocab_size && !queue_.empty()) {
    Candidate top = queue_.top();
    queue_.pop();
    const Index count = pairs_.at(top.pair).count;
    if (top.count != count) {
      top.count = count;
      queue_.push(top);
      continue;
    }
    if (count < std::max<Index>(1, min_frequency)) {
      break;
    }
    merge(top);
  }
  drop_repeated_merges();
}

void MergeLearner::merge(const Candidate& candidate) {
  const std::int32_t merged = token_of(candidate.pair);
  vocabulary_.merges.push_back({candidate.pair.left, candidate.pair.right});
  // Out of lists_, which grows while pairs are counted.
  auto& place = lists_[static_cast<std::size_t>(candidate.words)];
  const std::vector<std::uint32_t> words = std::exchange(place, {});
  free_lists_.push_back(candidate.words);
  for (const std::uint32_t word : words) {
    merge_in_word(word, candidate.pair, merged);
  }
  queue_fresh_pairs();
}

void MergeLearner::merge_in_word(std::size_t word, MergePair pair, std::int32_t merged) {
  std::int32_t* tokens = words_.tokens.data() + words_.begins[word];
  const std::size_t length = words_.lengths[word];
  const Index count = words_.counts[word];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (tokens[i] != pair.left || i + 1 == length || tokens[i + 1] != pair.right) {
      tokens[kept++] = tokens[i];
      continue;
    }
    if (kept > 0) {
      count_pair({tokens[kept - 1], pair.left}, -count, word);
      count_pair({tokens[kept - 1], merged}, count, word);
    }
    ++i;
    if (i + 1 < length) {
      count_pair({pair.right, tokens[i + 1]}, -count, word);
      count_pair({merged, tokens[i + 1]}, count, word);
    }
    tokens[kept++] = merged;
  }
  words_.lengths[word] = kept;
}

std::int32_t MergeLearner::token_of(MergePair pair) {
  auto& tokens = vocabulary_.tokens;
  std::string bytes =
      tokens[static_cast<std::size_t>(pair.left)] + tokens[static_cast<std::size_t>(pair.right)];
  const auto [entry, is_new] = ids_.emplace(bytes, static_cast<std::int32_t>(tokens.size()));
  if (is_new) {
    tokens.push_back(std::move(bytes));
  }
  return entry->second;
}

void MergeLearner::drop_repeated_merges() {
  PairTable seen;
  auto& merges = vocabulary_.merges;
  const auto first_kept =
      std::remove_if(merges.rbegin(), merges.rend(), [&](const BpeMerge& merge) {
        return ++seen.at({merge.left, merge.right}).count > 1;
      });
  merges.erase(merges.begin(), first_kept.base());
}

}  // namespace headlight
