#include "headlight/interpret/head_id.h"

#include "headlight/base/error.h"

namespace headlight {
std::string head_name(const HeadId& id) { return concat_text(id.layer, ".", id.head); }

std::vector<std::string> head_names(std::span<const HeadId> ids) {
  std::vector<std::string> names;
  for (const HeadId& id : ids) {
    names.push_back(head_name(id));
  }
  return names;
}

Index head_index(const HeadId& id, const HeadLayout& layout) {
  require_value(id.layer >= 0 && id.layer < layout.layers(), "heads", "the model has layers 0 to ",
                layout.layers() - 1, ", got ", head_name(id));
  const std::optional<Index> index = layout.index(id.layer, id.head);
  require_value(index.has_value(), "heads", "layer ", id.layer, " has heads ",
                numbers_text(layout.numbers[static_cast<std::size_t>(id.layer)]), ", got ",
                head_name(id));
  return *index;
}

}  // namespace headlight
