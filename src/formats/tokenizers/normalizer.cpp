#include "formats/tokenizers/normalizer.h"

#include <algorithm>

#include "formats/tokenizers/nfc.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMostGrowth = 16;

void replace_all(const NormalizerStep& step, const PlacedText& text, MadeText& made) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t place = std::min(text.text.find(step.from, at), text.size());
    made.append(text.part(at, place - at));
    at = place;
    if (at < text.size()) {
      made.append(step.to, text.part(at, step.from.size()));
      at += step.from.size();
    }
  }
}

void apply_step(const NormalizerStep& step, MadeText& text) {
  switch (step.kind) {
    case NormalizerStep::Kind::nfc:
      if (!is_surely_nfc(text.text())) {
        text.rewrite(nfc);
      }
      break;
    case NormalizerStep::Kind::prepend:
      text.rewrite([&](const PlacedText& source, MadeText& made) {
        made.append(source.text.empty() ? "" : step.to, source.part(0, 0));
        made.append(source);
      });
      break;
    case NormalizerStep::Kind::bert:
      bert_normalize(step.bert, text);
      break;
    case NormalizerStep::Kind::sentencepiece:
      text.rewrite([&](const PlacedText& source, MadeText& made) {
        step.sentencepiece->apply(source, made);
      });
      break;
    case NormalizerStep::Kind::replace:
      text.rewrite(
          [&](const PlacedText& source, MadeText& made) { replace_all(step, source, made); });
      break;
  }
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

MadeText Normalizer::apply(const PlacedText& text, bool tracks) const {
  MadeText result(text, tracks,
                  [](const PlacedText& source, MadeText& made) { made.append(source); });
  for (const NormalizerStep& step : steps_) {
    apply_step(step, result);
    require(result.text().size() <= kMostGrowth * (text.size() + kLongestText),
            "[encode] the normalizer makes too long a text: ", result.text().size(), " bytes from ",
            text.size());
  }
  return result;
}

std::string Normalizer::apply_to_token(std::string_view token) const {
  const bool keeps = std::ranges::any_of(steps_, [](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::sentencepiece;
  });
  return keeps ? std::string(token) : apply(PlacedText{token}, false).take();
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
