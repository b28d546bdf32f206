#pragma once

#include <nlohmann/json_fwd.hpp>

#include "headlight/heads/head_id.h"

namespace headlight {

// {head, layer, index}, to which others add what they know of a head.
nlohmann::ordered_json head_json(const HeadId& id);

}  // namespace headlight
