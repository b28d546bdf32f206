#pragma once

#include "base/json.h"
#include "headlight/heads/head_id.h"

namespace headlight {

// {head, layer, index}, to which others add what they know of a head.
Json head_json(const HeadId& id);

}  // namespace headlight
