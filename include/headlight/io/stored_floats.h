#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// What files hold float32 tensors in: halves are rounded to the nearest value, ties to even, and
// what float16 cannot hold, from 65,520 on, becomes infinite. Tensors of other types stay as they
// are.
enum class StoredFloats { float32, float16, bfloat16 };

template <>
inline constexpr auto kChoices<StoredFloats> =
    std::to_array<Choice<StoredFloats>>({{"float32", StoredFloats::float32},
                                         {"float16", StoredFloats::float16},
                                         {"bfloat16", StoredFloats::bfloat16}});

}  // namespace headlight
