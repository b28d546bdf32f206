#include "cli/interval_text.h"

#include "cli/table.h"

namespace headlight::cli {

std::string change_text(const Interval& change) {
  constexpr int kDecimals = 4;
  if (change.low == change.high) {  // of a single document
    return signed_number(change.mean, kDecimals);
  }
  return signed_number(change.mean, kDecimals) + " (" + signed_number(change.low, kDecimals) +
         " to " + signed_number(change.high, kDecimals) + ")";
}

nlohmann::ordered_json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

}  // namespace headlight::cli
