#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "tokenizers/regex/newer_characters.h"
#include "tokenizers/regex/regex.h"

namespace headlight {
namespace {

// Limits on steps: a hostile expression may take time that is quadratic or exponential in the
// text's length. Patterns of known models take 5 steps a byte.
constexpr std::size_t kLeastSteps = 200;              // for each byte of a text
constexpr std::size_t kMostSteps = 1000;              // for each byte, with long expressions
constexpr std::size_t kFreeBytes = 16;                // added to the length of every text
constexpr std::uint32_t kMostMemory = 64U << 10;      // KiB
constexpr std::size_t kLongestExpression = 1U << 14;  // bytes
constexpr std::size_t kMostCountDigits = 3;           // digits of a count, as in a{999}

template <auto kFree>
struct Freeing {
  template <class T>
  void operator()(T* value) const {
    kFree(value);
  }
};

using Code = std::unique_ptr<pcre2_code, Freeing<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freeing<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freeing<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Freeing<pcre2_compile_context_free>>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 200> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Rejects syntax that Oniguruma reads differently: hexadecimal digits, nested sets, dots that match
// line ends.
void require_same_meaning(std::string_view expression, std::string_view where) {
  for (const std::string_view part : {"\\h", "\\H", "&&", "(?m", "\\K", "\\R", "\\X"}) {
    require(expression.find(part) == std::string_view::npos, where, ": pattern ",
            quoted_text(expression), ": ", part, " is not supported");
  }
}

// Limits counts, because a repeated item costs only one step. The digits in \x{1100} are no count.
void require_short_counts(std::string_view expression, std::string_view where) {
  std::size_t digits = 0;
  bool counts = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const bool digit = c >= '0' && c <= '9';
    counts = c == '{' ? !expression.substr(0, i).ends_with("\\x") : counts && (digit || c == ',');
    digits = digit ? digits + 1 : 0;
    if (counts && digits > kMostCountDigits) {
      fail(where, ": pattern ", quoted_text(expression), ": expected repetition counts of at most ",
           kMostCountDigits, " digits");
    }
  }
}

// Counts the steps of matching one text: each tried item of the expression, plus the bytes passed
// since the previous item. PCRE2's own limit counts neither bytes nor earlier matches.
struct Steps {
  std::size_t most = 0;
  std::size_t taken = 0;
  std::size_t offset = 0;  // in the text

  static int count(pcre2_callout_block* block, void* data) {
    auto& steps = *static_cast<Steps*>(data);
    const std::size_t offset = block->current_position;
    steps.taken += 1 + (offset > steps.offset ? offset - steps.offset : steps.offset - offset);
    steps.offset = offset;
    return steps.taken > steps.most ? PCRE2_ERROR_CALLOUT : 0;
  }
};

// Replaces \s and \S by Unicode's white space, because PCRE2's includes U+180E.
std::string with_white_space(std::string_view expression) {
  std::string result;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char next = expression[i] == '\\' && i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (next == 's' || next == 'S') {
      result += next == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      ++i;
      continue;
    }
    result += expression[i];
    if (next != '\0') {
      result += next;
      ++i;
    }
  }
  return result;
}

}  // namespace

struct Regex::Compiled {
  Code code;
  std::string where;
  std::size_t steps_per_byte = 0;
};

namespace {

// Finds the matches in valid UTF-8.
class Matching {
 public:
  Matching(const pcre2_code* code, std::string_view text, Steps& steps)
      : code_(code),
        text_(text),
        steps_(steps),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    require(data_ != nullptr && context_ != nullptr, "[encode] no memory to match a pattern");
    pcre2_set_callout(context_.get(), Steps::count, &steps);
    pcre2_set_match_limit(context_.get(), std::numeric_limits<std::uint32_t>::max());
    pcre2_set_heap_limit(context_.get(), kMostMemory);
  }

  // Appends the matches, moved by `offset`, to `spans`. Returns PCRE2's code that ended the search.
  int append(std::size_t offset, std::vector<TextSpan>& spans) {
    std::size_t start = 0;
    bool after_match = false;  // a match ended at `start`
    while (start <= text_.size()) {
      const int result = find(start);
      if (result <= 0) {
        return result;
      }
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_.get());
      if (ends[0] == ends[1] && after_match && ends[1] == start) {
        start += start < text_.size()
                     ? static_cast<std::size_t>(first_character(text_.substr(start)).length)
                     : 1;
        after_match = false;
        continue;
      }
      spans.push_back({ends[0] + offset, ends[1] + offset});
      start = ends[1];
      after_match = true;
    }
    return PCRE2_ERROR_NOMATCH;
  }

 private:
  // Searches for the first match from `start` on.
  int find(std::size_t start) {
    const auto match = [&](std::uint32_t options) {
      steps_.offset = start;
      return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), start,
                         options, data_.get(), context_.get());
    };
    const int result = match(PCRE2_NO_UTF_CHECK);
    return result == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT) : result;
  }

  const pcre2_code* code_;
  std::string_view text_;
  Steps& steps_;
  MatchData data_;
  MatchContext context_;
};

}  // namespace

Regex::Regex(std::string_view expression, std::string_view where) {
  require(expression.size() <= kLongestExpression, where, ": a pattern of ", expression.size(),
          " bytes, expected at most ", kLongestExpression);
  require_same_meaning(expression, where);
  require_short_counts(expression, where);
  const CompileContext options(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(options.get(), PCRE2_NEWLINE_LF);
  const std::string translated = with_white_space(expression);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto compiled = std::make_shared<Compiled>();
  // In Oniguruma, ^ and $ match at line ends.
  compiled->code.reset(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
      &error, &offset, options.get()));
  if (compiled->code == nullptr) {
    fail(where, ": pattern ", quoted_text(expression), ": ", message_of(error), " at byte ",
         offset);
  }
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);  // on failure, PCRE2 interprets
  compiled->where = where;
  compiled->steps_per_byte = std::clamp(expression.size(), kLeastSteps, kMostSteps);
  compiled_ = std::move(compiled);
}

std::vector<TextSpan> Regex::matches(std::string_view text) const {
  std::vector<TextSpan> spans;
  Steps steps{.most = compiled_->steps_per_byte * (text.size() + kFreeBytes)};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view valid = text.substr(begin, valid_utf8_prefix(text.substr(begin)));
    const std::string older = with_older_characters(valid);
    Matching matching(compiled_->code.get(), older.empty() ? valid : older, steps);
    const int result = matching.append(begin, spans);
    require(result != PCRE2_ERROR_CALLOUT, "[encode] ", compiled_->where,
            ": the pattern takes more than ", steps.most, " steps on a text of ", text.size(),
            " bytes");
    if (result != PCRE2_ERROR_NOMATCH) {
      fail("[encode] ", compiled_->where, ": the pattern: ", message_of(result));
    }
    begin += valid.size();
    if (begin < text.size()) {
      begin += static_cast<std::size_t>(first_character(text.substr(begin)).length);
    }
  }
  return spans;
}

}  // namespace headlight
