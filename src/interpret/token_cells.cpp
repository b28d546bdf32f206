#include "headlight/interpret/token_cells.h"

#include <algorithm>
#include <array>

#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"
#include "tokenizers/unicode/unicode_class.h"

namespace headlight {
namespace {

// A character of a text and the byte at which it begins.
struct DecodedCharacter {
  char32_t value = 0;
  bool valid = false;
  Index begin = 0;
};

std::vector<DecodedCharacter> decoded_characters(std::string_view bytes) {
  std::vector<DecodedCharacter> characters;
  Index offset = 0;
  while (offset < std::ssize(bytes)) {
    const Utf8Character next = first_character(bytes.substr(static_cast<std::size_t>(offset)));
    characters.push_back({next.code_point, next.valid, offset});
    offset += next.length;
  }
  return characters;
}

bool is_line_end(char32_t c) { return c == U'\n' || c == U'\r'; }
bool is_white_space(char32_t c) { return unicode_class(c) == UnicodeClass::kSpace; }
bool is_blank(char32_t c) { return is_white_space(c) && !is_line_end(c); }

// Punctuation of ASCII (with its symbols), Latin-1, General Punctuation, CJK and full-width forms.
bool is_punctuation_mark(char32_t c) {
  constexpr std::array<std::array<char32_t, 2>, 21> kRanges{
      {{0x21, 0x2F},     {0x3A, 0x40},     {0x5B, 0x60},     {0x7B, 0x7E},     {0xA1, 0xA1},
       {0xA7, 0xA7},     {0xAB, 0xAB},     {0xB6, 0xB7},     {0xBB, 0xBB},     {0xBF, 0xBF},
       {0x2010, 0x2027}, {0x2030, 0x205E}, {0x3001, 0x3003}, {0x3008, 0x3011}, {0x3014, 0x301F},
       {0x30FB, 0x30FB}, {0xFE10, 0xFE19}, {0xFE30, 0xFE6B}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20},
       {0xFF3B, 0xFF65}}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](const auto& range) { return c >= range[0] && c <= range[1]; });
}

// Characters of scripts without blanks between words: Hiragana, Katakana and Han.
bool is_word_alone(char32_t c) {
  return (c >= 0x3041 && c <= 0x30FA) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

// Returns whether a mark belongs to a word because of its neighbours: "don't", "3.14".
bool joins(char32_t before, char32_t mark, char32_t after) {
  const auto both = [&](UnicodeClass kind) {
    return unicode_class(before) == kind && unicode_class(after) == kind;
  };
  return (both(UnicodeClass::kLetter) && (mark == U'\'' || mark == U'’' || mark == U'-')) ||
         (both(UnicodeClass::kNumber) && (mark == U'.' || mark == U','));
}

class UnitBoundaries {
 public:
  UnitBoundaries(std::string_view bytes, TextUnit unit)
      : characters_(decoded_characters(bytes)), unit_(unit) {}

  // Returns whether a unit begins at each byte, [bytes].
  std::vector<bool> begins(std::size_t bytes) const {
    std::vector<bool> begins(bytes, unit_ == TextUnit::token);
    for (std::size_t i = 0; i < characters_.size(); ++i) {
      begins[static_cast<std::size_t>(characters_[i].begin)] = i == 0 || begins_at(i);
    }
    return begins;
  }

 private:
  char32_t at(std::size_t i) const { return i < characters_.size() ? characters_[i].value : 0; }

  bool begins_at(std::size_t i) const {
    const char32_t before = at(i - 1);
    const char32_t here = at(i);
    if (unit_ == TextUnit::token) {
      return true;
    }
    if (characters_[i].valid && terminal_width(here) == 0) {
      return false;  // a combining mark or a conjoining letter
    }
    return unit_ == TextUnit::character || word_begins(i, before, here);
  }

  bool word_begins(std::size_t i, char32_t before, char32_t here) const {
    if (is_line_end(before) || is_line_end(here)) {
      return is_line_end(before) != is_line_end(here);
    }
    if (is_blank(before) || is_blank(here)) {
      return !is_blank(before);  // blanks belong to the word after them
    }
    if (is_word_alone(before) || is_word_alone(here)) {
      return true;
    }
    const bool continues = in_word(i - 1) && in_word(i);
    return !continues && before != here;
  }

  bool in_word(std::size_t i) const {
    return is_word_character(at(i)) || (i > 0 && joins(at(i - 1), at(i), at(i + 1)));
  }

  std::vector<DecodedCharacter> characters_;
  TextUnit unit_;
};

// Describes the text of a cell that is no special token.
void classify(std::string_view bytes, TokenCell& cell) {
  bool marks = false;
  bool others = false;
  for (const DecodedCharacter& character : decoded_characters(bytes)) {
    const bool is_mark = character.valid && is_punctuation_mark(character.value);
    marks = marks || is_mark;
    others = others || !(is_mark || (character.valid && is_white_space(character.value)));
  }
  cell.is_punctuation = marks && !others;
  cell.is_separator = !bytes.empty() && !marks && !others;
}

// A token, with its bytes and their offset in the run of tokens between two special ones.
struct TokenInRun {
  std::string bytes;
  std::size_t begin = 0;
};

// Appends the cells of tokens without special ones. `first`: index of the first token.
void append_cells(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                  const std::vector<TokenInRun>& tokens, Index first, TextUnit unit,
                  std::vector<TokenCell>& cells) {
  std::string text;
  for (const TokenInRun& token : tokens) {
    text += token.bytes;
  }
  const std::vector<bool> begins = UnitBoundaries(text, unit).begins(text.size());
  for (std::size_t begin = 0; begin < tokens.size();) {
    std::size_t end = begin + 1;
    std::string bytes = tokens[begin].bytes;
    while (end < tokens.size() && tokens[end].begin < text.size() && !begins[tokens[end].begin]) {
      bytes += tokens[end++].bytes;
    }
    TokenCell cell{first + static_cast<Index>(begin), first + static_cast<Index>(end)};
    cell.label = end == begin + 1 ? tokenizer.token_label(ids[begin]) : bytes_label(bytes);
    classify(bytes, cell);
    cells.push_back(std::move(cell));
    begin = end;
  }
}

TokenCell special_cell(const Tokenizer& tokenizer, std::int32_t id, Index position) {
  const std::vector<std::int32_t>& ends = tokenizer.stop_tokens();
  const bool is_end = std::find(ends.begin(), ends.end(), id) != ends.end();
  return {.begin = position,
          .end = position + 1,
          .label = tokenizer.token_label(id),
          .is_special = true,
          .is_separator = is_end && position > 0};
}

}  // namespace

std::vector<TokenCell> token_cells(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                                   TextUnit unit) {
  std::vector<TokenCell> cells;
  std::vector<TokenInRun> run;
  std::size_t run_bytes = 0;
  bool first = true;  // no text yet
  const auto close_run = [&](std::size_t end) {
    append_cells(tokenizer, ids.subspan(end - run.size(), run.size()), run,
                 static_cast<Index>(end - run.size()), unit, cells);
    run.clear();
    run_bytes = 0;
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!tokenizer.special_name(ids[i]).empty()) {
      close_run(i);
      cells.push_back(special_cell(tokenizer, ids[i], static_cast<Index>(i)));
      continue;
    }
    run.push_back(
        {first ? tokenizer.first_token_bytes(ids[i]) : tokenizer.token_bytes(ids[i]), run_bytes});
    run_bytes += run.back().bytes.size();
    first = false;
  }
  close_run(ids.size());
  return cells;
}

std::vector<Index> cells_of_tokens(const std::vector<TokenCell>& cells) {
  std::vector<Index> cell_indices;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    cell_indices.resize(static_cast<std::size_t>(cells[cell].end), static_cast<Index>(cell));
  }
  return cell_indices;
}

Tensor merged_weights(const Tensor& weights, const std::vector<TokenCell>& cells) {
  const Index length = weights.size(1);
  require(weights.rank() == 3 && weights.dtype() == DType::float32 && weights.size(2) == length &&
              !cells.empty() && cells.back().end == length,
          "[merged_weights] expected float32 [H, T, T] and the cells of T tokens, got ",
          weights.shape(), " and the cells of ", cells.empty() ? 0 : cells.back().end, " tokens");
  const auto count = static_cast<Index>(cells.size());
  const std::vector<Index> cell_indices = cells_of_tokens(cells);
  const Tensor source = to_contiguous(weights);
  Tensor merged = Tensor::empty({weights.size(0), count, count});
  std::vector<double> row(static_cast<std::size_t>(count));  // [U] sums of one cell's queries
  for (Index head = 0; head < weights.size(0); ++head) {
    float* out = merged.data<float>() + head * count * count;
    for (const TokenCell& cell : cells) {
      std::fill(row.begin(), row.end(), 0.0);
      for (Index query = cell.begin; query < cell.end; ++query) {
        const float* weight = source.data<float>() + (head * length + query) * length;
        for (std::size_t key = 0; key < cell_indices.size(); ++key) {
          row[static_cast<std::size_t>(cell_indices[key])] += static_cast<double>(weight[key]);
        }
      }
      for (const double sum : row) {
        *out++ = static_cast<float>(sum / static_cast<double>(cell.end - cell.begin));
      }
    }
  }
  return merged;
}

}  // namespace headlight
