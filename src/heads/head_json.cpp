#include "heads/head_json.h"

#include "base/json.h"

namespace headlight {

Json head_json(const HeadId& id) {
  return {{"head", head_name(id)}, {"layer", id.layer}, {"index", id.head}};
}

}  // namespace headlight
