#include "views/report/interval_text.h"

#include "base/json.h"
#include "views/report/table.h"

namespace headlight {

std::string change_text(const Interval& change, Index documents) {
  constexpr int kDecimals = 4;
  std::string text = signed_number(change.mean, kDecimals);
  if (change.low != change.high) {  // as of a single document
    text += " (" + signed_number(change.low, kDecimals) + " to " +
            signed_number(change.high, kDecimals) + ")";
  }
  return text + (documents < kEnoughDocuments ? " ?" : "");
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

}  // namespace headlight
