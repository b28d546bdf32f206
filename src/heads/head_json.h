#pragma once

#include "base/json.h"
#include "headlight/heads/head_id.h"

namespace headlight {

// Returns {head, layer, index}. Callers add their own fields.
Json head_json(const HeadId& id);

}  // namespace headlight
