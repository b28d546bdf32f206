#include "text/pair_table.h"

#include <utility>

namespace headlight {
namespace {

constexpr std::size_t kFirstRecords = 4096;

// The upper bits of the product depend on all bits of both ids (Knuth, TAOCP 3, 6.4: Fibonacci
// hashing).
std::size_t hash_of(MergePair pair) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(pair.left)) << 32) |
      static_cast<std::uint32_t>(pair.right);
  const std::uint64_t product = key * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(product ^ (product >> 32));
}

}  // namespace

PairTable::PairTable() : records_(kFirstRecords) {}

std::size_t PairTable::find(const std::vector<PairRecord>& records, MergePair pair) const {
  const std::size_t mask = records.size() - 1;
  std::size_t place = hash_of(pair) & mask;
  while (records[place].pair.left >= 0 && records[place].pair != pair) {
    place = (place + 1) & mask;
  }
  return place;
}

PairRecord& PairTable::at(MergePair pair) {
  std::size_t place = find(records_, pair);
  if (records_[place].pair.left < 0) {
    if (2 * ++used_ > records_.size()) {
      grow();
      place = find(records_, pair);
    }
    records_[place].pair = pair;
  }
  return records_[place];
}

void PairTable::grow() {
  std::vector<PairRecord> records(2 * records_.size());
  for (const PairRecord& record : records_) {
    if (record.pair.left >= 0) {
      records[find(records, record.pair)] = record;
    }
  }
  records_ = std::move(records);
}

}  // namespace headlight
