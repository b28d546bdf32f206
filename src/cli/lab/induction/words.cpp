#include "cli/lab/induction/words.h"

#include <algorithm>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/layout.h"

namespace headlight::cli::lab {
namespace {

constexpr std::size_t kRows = 16;  // of a table
constexpr Index kExample = 8;

constexpr Text kRange{"{0} ({1} to {2})", "{0} ({1}~{2})"};

}  // namespace

std::string with_range(const Interval& interval, const Report& report) {
  return report.words(kRange, {fixed_number(interval.mean, 2), fixed_number(interval.low, 2),
                               fixed_number(interval.high, 2)});
}

std::string signed_with_range(const Interval& interval, const Report& report) {
  return report.words(kRange, {signed_number(interval.mean, 2), signed_number(interval.low, 2),
                               signed_number(interval.high, 2)});
}

std::string names_of(const HeadSet& heads) {
  std::string names;
  for (const HeadId& id : heads) {
    names += (names.empty() ? "" : ", ") + head_name(id);
  }
  return names;
}

bool has_part(const Findings& findings, const HeadFinding& head) {
  return findings.induction_heads.contains(head.scored.head) ||
         findings.source == head.scored.head || head.is("previous_token");
}

std::vector<const HeadFinding*> strongest(const Findings& findings) {
  std::vector<const HeadFinding*> heads;
  for (const HeadFinding& head : findings.heads) {
    heads.push_back(&head);
  }
  const auto weight = [&](const HeadFinding* head) {
    const bool is_named = findings.induction_heads.contains(head->scored.head);
    return std::abs(head->suffices.mean) + (is_named ? 1e6 : 0);
  };
  std::stable_sort(heads.begin(), heads.end(), [&](const HeadFinding* a, const HeadFinding* b) {
    return weight(a) > weight(b);
  });
  heads.resize(std::min(heads.size(), kRows));
  std::sort(heads.begin(), heads.end(), [](const HeadFinding* a, const HeadFinding* b) {
    return a->scored.head < b->scored.head;
  });
  return heads;
}

std::vector<std::int32_t> repeated_example(const Subject& subject) {
  RepeatOptions repeats = repeats_of_text(*subject.tokenizer, subject.model->vocab_size());
  repeats.length = kExample;
  repeats.sequences = 1;
  return repeated_sequences(repeats, subject.model->config()).front();
}

Tensor map_of(const Subject& subject, const HeadId& head, const std::vector<std::int32_t>& tokens) {
  const NoGrad no_grad;
  Recorder recorder({head.layer});
  subject.model->hidden(make_batch({tokens}), {.recorder = &recorder});
  const Tensor maps = recorder.sequences(head.layer).front();
  const Index place = place_of(head, subject.model->heads());
  return reshape(slice(maps, 0, place, place + 1), {maps.size(1), maps.size(2)});
}

}  // namespace headlight::cli::lab
