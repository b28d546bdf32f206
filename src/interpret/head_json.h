#pragma once

#include "base/json.h"
#include "headlight/interpret/head_id.h"

namespace headlight {

// Returns {head, layer, index}. Callers add their own fields.
inline Json head_json(const HeadId& id) {
  return {{"head", head_name(id)}, {"layer", id.layer}, {"index", id.head}};
}

}  // namespace headlight
