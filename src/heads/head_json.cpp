#include "heads/head_json.h"

#include <nlohmann/json.hpp>

namespace headlight {

nlohmann::ordered_json head_json(const HeadId& id) {
  return {{"head", head_name(id)}, {"layer", id.layer}, {"index", id.head}};
}

}  // namespace headlight
