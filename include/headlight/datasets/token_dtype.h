#pragma once

#include <array>

#include "headlight/base/choices.h"

namespace headlight {

// Width of the ids in a token file, by NumPy's names.
enum class TokenDtype { automatic, uint16, uint32 };

template <>
inline constexpr auto kChoices<TokenDtype> =
    std::to_array<Choice<TokenDtype>>({{"auto", TokenDtype::automatic},
                                       {"uint16", TokenDtype::uint16},
                                       {"uint32", TokenDtype::uint32}});

}  // namespace headlight
