#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/interpret/head_id.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// A set of heads, sorted by layer and then number.
class HeadSet {
 public:
  HeadSet() = default;
  HeadSet(std::initializer_list<HeadId> heads) : HeadSet(std::vector<HeadId>(heads)) {}
  HeadSet(std::vector<HeadId> heads);

  // Parses "0.1,2.3", or the format of transformers' prune_heads: "0:1,2;3:0" (heads 1 and 2 of
  // layer 0, head 0 of layer 3). Throws Error for other text.
  static HeadSet parse(std::string_view text);
  static HeadSet all(const HeadLayout& layout);
  // Heads with these numbers in these layers; empty: all. Throws Error for missing layers or heads.
  static HeadSet of_layers(const HeadLayout& layout, const std::vector<Index>& layers,
                           const std::vector<Index>& numbers = {});

  // Returns this set, or all heads of the model if it is empty. Throws Error as require_in() does.
  HeadSet or_all(const HeadLayout& layout) const;
  // Throws Error for a head that the model does not have.
  void require_in(const HeadLayout& layout) const;

  bool contains(const HeadId& id) const;
  std::vector<Index> layers() const;                    // layers with heads in the set, ascending
  std::span<const HeadId> of_layer(Index layer) const;  // valid as long as the set

  bool empty() const { return heads_.empty(); }
  std::size_t size() const { return heads_.size(); }
  const HeadId& operator[](std::size_t index) const { return heads_[index]; }
  auto begin() const { return heads_.begin(); }
  const HeadId* data() const { return heads_.data(); }
  auto end() const { return heads_.end(); }

  bool operator==(const HeadSet&) const = default;

 private:
  std::vector<HeadId> heads_;  // ascending, without duplicates
};

// The heads of a model. Throws Error for a model without heads.
HeadLayout heads_of(const LanguageModel& model);

}  // namespace headlight
