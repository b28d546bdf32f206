#include "text/piece_counter.h"

#include <functional>

namespace headlight {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

PieceCounter::PieceCounter() : slots_(kFirstSlots, 0) {}

std::string_view PieceCounter::piece(std::size_t number) const {
  const Entry& entry = entries_[number];
  return std::string_view(bytes_).substr(entry.begin, entry.length);
}

std::size_t PieceCounter::find_slot(std::string_view piece, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0) {
    const std::size_t number = slots_[slot] - 1;
    if (entries_[number].hash == hash && this->piece(number) == piece) {
      break;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

void PieceCounter::add(std::string_view piece, Index count) {
  const std::size_t hash = std::hash<std::string_view>{}(piece);
  const std::size_t slot = find_slot(piece, hash);
  if (slots_[slot] != 0) {
    entries_[slots_[slot] - 1].count += count;
    return;
  }
  entries_.push_back({hash, bytes_.size(), piece.size(), count});
  bytes_ += piece;
  slots_[slot] = entries_.size();
  if (2 * entries_.size() > slots_.size()) {
    grow();
  }
}

void PieceCounter::grow() {
  std::vector<std::size_t> slots(2 * slots_.size(), 0);
  const std::size_t mask = slots.size() - 1;
  for (std::size_t number = 0; number < entries_.size(); ++number) {
    std::size_t slot = entries_[number].hash & mask;
    while (slots[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    slots[slot] = number + 1;
  }
  slots_ = std::move(slots);
}

}  // namespace headlight
