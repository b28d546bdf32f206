#pragma once

#include "support/test.h"

namespace headlight::test {

// The model types of families that Headlight reads.
std::vector<std::string_view> family_types();

// Returns a random config.json of a family for a seed: sizes of few elements, each of the family's
// own keys with one of its values or without it, and each form of rotary parameters.
std::string drawn_family_config(std::string_view type, int number);

}  // namespace headlight::test
