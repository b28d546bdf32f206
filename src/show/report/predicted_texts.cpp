#include "show/report/predicted_texts.h"

#include <set>
#include <vector>

#include "base/strings/display_text.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/utf8.h"
#include "headlight/interpret/token_cells.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

constexpr std::size_t kMostCompleted = 32;
constexpr int kMostTokens = 3;  // that a character of 4 bytes can lack

// True if the bytes end within a character, and are valid before it.
bool is_cut(std::string_view bytes) {
  const auto whole = static_cast<std::size_t>(complete_utf8_prefix(bytes));
  return whole < bytes.size() && valid_utf8_prefix(bytes) == whole;
}

std::string bytes_of(std::int32_t id, const Tokenizer& tokenizer) {
  return id < tokenizer.vocab_size() ? tokenizer.token_bytes(id) : std::string();
}

// Adds the targets that begin a character of several tokens in the text.
void add_known(const LensResult& result, const std::vector<TokenCell>& cells,
               const Tokenizer& tokenizer, PredictedTexts& texts) {
  for (const TokenCell& cell : cells) {
    const auto first = static_cast<std::size_t>(cell.begin);
    if (first > 0 && cell.end - cell.begin > 1 &&
        result.targets[first - 1] == result.tokens[first]) {
      texts[{first - 1, result.tokens[first]}] = shown_cell(cell, result.tokens, tokenizer);
    }
  }
}

// Returns the likeliest token that continues the character in which the bytes end; the number of
// logits if none does.
std::int32_t next_token(const std::vector<double>& logits, const std::string& bytes,
                        const Tokenizer& tokenizer) {
  std::size_t best = logits.size();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (best == logits.size() || logits[id] > logits[best]) {
      const std::string own = bytes_of(static_cast<std::int32_t>(id), tokenizer);
      const std::string all = bytes + own;
      const bool fits = is_cut(all) || valid_utf8_prefix(all) == all.size();
      best = !own.empty() && fits ? id : best;
    }
  }
  return static_cast<std::int32_t>(best);
}

// Returns a token with the rest of its character, as the model continues; "": without an end.
std::string completed(std::vector<std::int32_t> ids, const Gpt& model, const Tokenizer& tokenizer) {
  std::string bytes = bytes_of(ids.back(), tokenizer);
  for (int i = 0; i < kMostTokens && is_cut(bytes); ++i) {
    if (std::ssize(ids) > model.block_size()) {
      return "";
    }
    const std::vector<double> logits = model.next_logits(make_batch({ids})).to_vector();
    ids.push_back(next_token(logits, bytes, tokenizer));
    if (ids.back() >= tokenizer.vocab_size()) {
      return "";
    }
    bytes += bytes_of(ids.back(), tokenizer);
  }
  return valid_utf8_prefix(bytes) == bytes.size() ? display_label(bytes) : "";
}

// Returns the predictions that the lens shows, the last positions and rows first: all choices at
// the last position, the likeliest one at the others.
std::vector<PredictedTexts::key_type> shown_predictions(const LensResult& result,
                                                        const std::vector<TokenCell>& cells) {
  std::vector<PredictedTexts::key_type> shown;
  for (auto cell = cells.rbegin(); cell != cells.rend(); ++cell) {
    const auto index = static_cast<std::size_t>(cell->end - 1);
    for (auto row = result.rows.rbegin(); row != result.rows.rend(); ++row) {
      const std::vector<TokenLogProbability>& likeliest = row->readings[index].likeliest;
      for (std::size_t i = 0; i < (cell == cells.rbegin() ? likeliest.size() : 1); ++i) {
        shown.emplace_back(index, likeliest[i].token);
      }
    }
  }
  return shown;
}

}  // namespace

PredictedTexts predicted_texts(const LensResult& result, std::span<const std::int32_t> text,
                               const Gpt& model, const Tokenizer& tokenizer) {
  PredictedTexts texts;
  const std::vector<TokenCell> cells = character_cells(result.tokens, tokenizer);
  add_known(result, cells, tokenizer, texts);
  if (!model.config().causal) {
    return texts;
  }
  const NoGrad no_grad;
  std::set<PredictedTexts::key_type> tried;
  for (const PredictedTexts::key_type& one : shown_predictions(result, cells)) {
    const auto [index, id] = one;
    if (tried.size() == kMostCompleted || texts.contains(one) || !is_cut(bytes_of(id, tokenizer)) ||
        !tried.insert(one).second) {
      continue;
    }
    std::vector<std::int32_t> ids(text.begin(), text.begin() + result.positions[index] + 1);
    ids.push_back(id);
    if (std::string whole = completed(std::move(ids), model, tokenizer); !whole.empty()) {
      texts[one] = std::move(whole);
    }
  }
  return texts;
}

}  // namespace headlight
