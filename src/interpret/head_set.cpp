#include "headlight/interpret/head_set.h"

#include <algorithm>
#include <charconv>

#include "headlight/base/error.h"

namespace headlight {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  fail_value("heads", "expected LAYER.HEAD like 0.1,2.3 or LAYER:HEADS like 0:1,2;3:0, got '", text,
             "'");
}

// Parser for a list of heads; consumes `rest` from the front.
struct HeadReader {
  std::string_view whole;
  std::string_view rest = whole;

  Index number() {
    Index number = -1;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || number < 0) {
      refuse(whole);
    }
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return number;
  }
  bool passes(char separator) {
    const bool is_there = rest.starts_with(separator);
    rest.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
};

}  // namespace

HeadSet::HeadSet(std::vector<HeadId> heads) : heads_(std::move(heads)) {
  std::sort(heads_.begin(), heads_.end());
  heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
}

HeadSet HeadSet::parse(std::string_view text) {
  const bool by_layer = text.find(':') != std::string_view::npos;
  HeadReader reader{text};
  std::vector<HeadId> heads;
  do {
    const Index layer = reader.number();
    if (!reader.passes(by_layer ? ':' : '.')) {
      refuse(text);
    }
    do {
      heads.push_back({layer, reader.number()});
    } while (by_layer && reader.passes(','));
  } while (reader.passes(by_layer ? ';' : ','));
  if (!reader.rest.empty()) {
    refuse(text);
  }
  return heads;
}

HeadSet HeadSet::all(const HeadLayout& layout) {
  std::vector<HeadId> heads;
  for (Index layer = 0; layer < layout.layers(); ++layer) {
    for (const Index number : layout.numbers[static_cast<std::size_t>(layer)]) {
      heads.push_back({layer, number});
    }
  }
  return heads;
}

HeadSet HeadSet::of_layers(const HeadLayout& layout, const std::vector<Index>& layers,
                           const std::vector<Index>& numbers) {
  const HeadSet all = HeadSet::all(layout);
  std::vector<HeadId> heads;
  for (const Index layer : layers.empty() ? all.layers() : layers) {
    require_value(layer >= 0 && layer < layout.layers(), "layers", "the model has layers 0 to ",
                  layout.layers() - 1, ", got ", layer);
    if (numbers.empty()) {
      const std::span<const HeadId> whole = all.of_layer(layer);
      heads.insert(heads.end(), whole.begin(), whole.end());
    }
    for (const Index number : numbers) {
      heads.push_back({layer, number});
    }
  }
  HeadSet set(std::move(heads));
  set.require_in(layout);
  return set;
}

HeadSet HeadSet::or_all(const HeadLayout& layout) const {
  require_in(layout);
  return empty() ? all(layout) : *this;
}

void HeadSet::require_in(const HeadLayout& layout) const {
  for (const HeadId& id : heads_) {
    head_index(id, layout);
  }
}

bool HeadSet::contains(const HeadId& id) const {
  return std::binary_search(heads_.begin(), heads_.end(), id);
}

std::vector<Index> HeadSet::layers() const {
  std::vector<Index> layers;
  for (const HeadId& id : heads_) {
    if (layers.empty() || layers.back() != id.layer) {
      layers.push_back(id.layer);
    }
  }
  return layers;
}

HeadLayout heads_of(const LanguageModel& model) {
  HeadLayout layout = model.heads();
  require(layout.layers() > 0, "a model of type '", model.model_type(),
          "' shows no attention heads");
  return layout;
}

std::span<const HeadId> HeadSet::of_layer(Index layer) const {
  const auto begin = std::lower_bound(heads_.begin(), heads_.end(), HeadId{layer, 0});
  const auto end = std::lower_bound(begin, heads_.end(), HeadId{layer + 1, 0});
  return std::span(heads_).subspan(static_cast<std::size_t>(begin - heads_.begin()),
                                   static_cast<std::size_t>(end - begin));
}

}  // namespace headlight
