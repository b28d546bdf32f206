#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight {

// A model that turns a piece of text into ids in another way than by merges.
class PieceModel {
 public:
  PieceModel() = default;
  virtual ~PieceModel() = default;
  PieceModel(const PieceModel&) = delete;
  PieceModel& operator=(const PieceModel&) = delete;

  // "wordpiece", "wordlevel" or "unigram".
  virtual std::string_view kind() const = 0;
  // Appends the ids of a piece, which is not empty.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
};

}  // namespace headlight
