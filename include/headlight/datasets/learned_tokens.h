#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "headlight/base/choices.h"

namespace headlight {

// Parts of a conversation, or of a prompt with its completion, that are learned.
enum class Learn {
  all,        // every token
  assistant,  // the assistant's messages, or the completion
  last,       // the last message of the assistant, or the completion
};

template <>
inline constexpr auto kChoices<Learn> = std::to_array<Choice<Learn>>(
    {{"all", Learn::all}, {"assistant", Learn::assistant}, {"last", Learn::last}});

// A token that a model reads but does not learn to predict, such as a user's message. Sequences of
// a dataset hold it as the complement of its id, a negative number; the inputs of a batch hold the
// id, and its target is kIgnoreTarget.
constexpr std::int32_t as_context(std::int32_t id) { return ~id; }
constexpr bool is_learned(std::int32_t token) { return token >= 0; }
constexpr std::int32_t id_of(std::int32_t token) { return token >= 0 ? token : ~token; }

// Between the preferred and the rejected answer of a pair, each with its prompt, in the sequences
// of a dataset of pairs. It is in no batch, which has the two as separate sequences.
inline constexpr std::int32_t kPairBreak = as_context(std::numeric_limits<std::int32_t>::max());

}  // namespace headlight
