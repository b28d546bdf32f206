#include "formats/tokenizers/normalizer.h"

#include <algorithm>

#include "formats/tokenizers/nfc.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMostGrowth = 16;

std::string applied(const NormalizerStep& step, std::string_view text) {
  switch (step.kind) {
    case NormalizerStep::Kind::nfc:
      return is_surely_nfc(text) ? std::string(text) : nfc(text);
    case NormalizerStep::Kind::prepend:
      return text.empty() ? std::string() : step.to + std::string(text);
    case NormalizerStep::Kind::bert:
      return bert_normalized(text, step.bert);
    case NormalizerStep::Kind::sentencepiece:
      return step.sentencepiece->apply(text);
    case NormalizerStep::Kind::replace:
      break;
  }
  return replaced(text, step.from, step.to);
}

}  // namespace

bool Normalizer::keeps(std::string_view text) const {
  return std::all_of(steps_.begin(), steps_.end(), [&](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::nfc       ? is_surely_nfc(text)
           : step.kind == NormalizerStep::Kind::prepend ? text.empty()
           : step.kind != NormalizerStep::Kind::replace ? false
                                                        : text.find(step.from) == text.npos;
  });
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const NormalizerStep& step : steps_) {
    result = applied(step, result);
    require(result.size() <= kMostGrowth * (text.size() + kLongestText),
            "[encode] the normalizer makes too long a text: ", result.size(), " bytes from ",
            text.size());
  }
  return result;
}

std::string Normalizer::apply_to_token(std::string_view token) const {
  const bool keeps = std::ranges::any_of(steps_, [](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::sentencepiece;
  });
  return keeps ? std::string(token) : apply(token);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (true) {
    const std::size_t place = std::min(text.find(from), text.size());
    result += text.substr(0, place);
    if (place == text.size()) {
      return result;
    }
    result += to;
    text.remove_prefix(place + from.size());
  }
}

}  // namespace headlight
