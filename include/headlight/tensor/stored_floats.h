#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Storage type of float32 tensors in files. 16-bit types round to the nearest value, ties to even;
// float16 stores values from 65,520 on as infinity. Tensors of other types are stored unchanged.
enum class StoredFloats { float32, float16, bfloat16 };

template <>
inline constexpr auto kChoices<StoredFloats> =
    std::to_array<Choice<StoredFloats>>({{"float32", StoredFloats::float32},
                                         {"float16", StoredFloats::float16},
                                         {"bfloat16", StoredFloats::bfloat16}});

}  // namespace headlight
