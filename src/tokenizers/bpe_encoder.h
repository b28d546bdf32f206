#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "kernels/threads/parallel.h"
#include "tokenizers/bpe_model.h"

namespace headlight {

// Encodes the parts of one text in order. Words repeat, so the encoder remembers where it saw
// recent pieces and copies their ids from its own output. Its memory does not grow with the text,
// and threads share nothing.
class BpeEncoder {
 public:
  // `bytes` is the expected length of the text. The model and all texts must outlive the encoder.
  BpeEncoder(const BpeModel& model, std::size_t bytes) : model_(model), seen_(table_size(bytes)) {
    ids_.reserve(bytes / kBytesPerId + 1);
  }

  // Appends the ids of a text, which is cut into pieces of length_of(rest of the text) bytes.
  template <class LengthOf>
  void add(std::string_view text, const LengthOf& length_of) {
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, length_of(text));
      if (piece.size() == 1 && single_bytes_) {
        ids_.push_back(model_.byte_ids[static_cast<std::uint8_t>(piece[0])]);
      } else {
        add_piece(piece);
      }
      text.remove_prefix(piece.size());
    }
  }

  void add_piece(std::string_view piece);
  void add_token(std::int32_t id) { ids_.push_back(id); }
  // Return all ids added so far.
  std::span<const std::int32_t> ids() const { return ids_; }
  std::vector<std::int32_t> take() { return std::move(ids_); }

 private:
  static constexpr std::size_t kBytesPerId = 3;  // an estimate: room for the ids of most texts

  // A piece that was encoded before, and the position of its ids in `ids_`.
  struct Seen {
    const char* text = nullptr;
    std::size_t ids_begin = 0;
    std::uint32_t bytes = 0;  // 0: empty slot
    std::uint32_t ids = 0;
  };

  static std::size_t table_size(std::size_t bytes);

  const BpeModel& model_;
  std::vector<Seen> seen_;  // by hash; the size is a power of two
  std::vector<std::int32_t> ids_;
  // True if every byte has a token, so that single bytes need no table lookup.
  bool single_bytes_ = !model_.characters && model_.every_byte;
};

// Joins parts of ids in order; frees each part after copying it.
std::vector<std::int32_t> joined_ids(std::vector<std::vector<std::int32_t>> parts);

// Items of a text, each with a member `text`, in parts that threads encode alone.
template <class Item>
class EncodeParts {
 public:
  // One part unless the options are parallel and need no ranges.
  explicit EncodeParts(const EncodeOptions& options)
      : part_bytes_(options.parallel && options.ranges == nullptr
                        ? kParallelPart
                        : std::numeric_limits<std::size_t>::max()) {}

  // Wanted length of a part.
  std::size_t part_bytes() const { return part_bytes_; }

  void add(const Item& item) {
    if (parts_.empty() || parts_.back().bytes >= part_bytes_) {
      parts_.emplace_back();
    }
    parts_.back().items.push_back(item);
    parts_.back().bytes += item.text.size();
  }

  // Returns the joined ids of all parts. add_items(items, encoder) adds the items of a part.
  template <class AddItems>
  std::vector<std::int32_t> encode(const BpeModel& model, const AddItems& add_items) const {
    std::vector<std::vector<std::int32_t>> ids(parts_.size());
    kernels::parallel_for(std::ssize(parts_), 1, [&](Index begin, Index) {
      const Part& part = parts_[static_cast<std::size_t>(begin)];
      BpeEncoder encoder(model, part.bytes);
      add_items(part.items, encoder);
      ids[static_cast<std::size_t>(begin)] = encoder.take();
    });
    return joined_ids(std::move(ids));
  }

 private:
  static constexpr std::size_t kParallelPart = std::size_t{1} << 20;  // bytes

  struct Part {
    std::vector<Item> items;
    std::size_t bytes = 0;
  };

  std::size_t part_bytes_;
  std::vector<Part> parts_;
};

}  // namespace headlight
