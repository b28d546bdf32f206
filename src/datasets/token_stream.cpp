#include "datasets/token_stream.h"

#include <algorithm>

namespace headlight {
namespace {

// True if the previous document ends with the separator and this document begins with the
// separator. The stream then contains only one separator.
bool shares_separator(const TokenDataset& dataset, Index number) {
  if (number == 0 || dataset.end_of_text < 0) {
    return false;
  }
  const auto sequence = static_cast<std::size_t>(number);
  const TokenSequence before = dataset.sequences[sequence - 1];
  const TokenSequence here = dataset.sequences[sequence];
  return !before.empty() && !here.empty() && before.back() == dataset.end_of_text &&
         here.front() == dataset.end_of_text;
}

}  // namespace

TokenStream::TokenStream(const TokenDataset& dataset)
    : dataset_(&dataset),
      own_(std::ssize(dataset.sequences), [&dataset](Index first, std::span<Index> own) {
        dataset.sequences.lengths(first, own);
        for (Index& length : own) {
          length -= shares_separator(dataset, first++) ? 1 : 0;
        }
      }) {}

std::vector<std::int32_t> TokenStream::tokens(Index begin, Index count) const {
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  if (count == 0) {
    return result;
  }
  std::span<std::int32_t> rest = result;
  RunningSums::Item item = own_.find(begin);
  while (true) {
    const TokenSequence sequence = dataset_->sequences[static_cast<std::size_t>(item.number)];
    // The first token then is the last token of the previous document.
    const Index shared = shares_separator(*dataset_, item.number) ? 1 : 0;
    const Index own = sequence.size() - shared;
    const Index skipped = begin - item.before;
    const auto taken = static_cast<std::size_t>(std::min<Index>(std::ssize(rest), own - skipped));
    sequence.read(shared + skipped, rest.first(taken));
    rest = rest.subspan(taken);
    if (rest.empty()) {
      return result;
    }
    begin += static_cast<Index>(taken);
    item = {.number = item.number + 1, .before = item.before + own};
  }
}

}  // namespace headlight
