#include "python/model/model.h"

#include <algorithm>
#include <utility>

#include "interpret/point_values.h"
#include "python/errors.h"

namespace headlight::python {
namespace {

// Hooks one after another.
class HookChain final : public ForwardHook {
 public:
  explicit HookChain(std::vector<std::shared_ptr<ForwardHook>> hooks) : hooks_(std::move(hooks)) {}

  void begin(const Batch& rows) override {
    for (const auto& hook : hooks_) {
      hook->begin(rows);
    }
  }
  bool wants(Point point, Index layer) const override {
    return std::any_of(hooks_.begin(), hooks_.end(),
                       [&](const auto& hook) { return hook->wants(point, layer); });
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    Tensor result = value;
    for (const auto& hook : hooks_) {
      result = visited(hook.get(), site, result);
    }
    return result;
  }
  bool takes_passes_together() const override {
    return std::ranges::all_of(hooks_,
                               [](const auto& hook) { return hook->takes_passes_together(); });
  }

 private:
  std::vector<std::shared_ptr<ForwardHook>> hooks_;
};

}  // namespace

Model::Model(std::unique_ptr<Gpt> gpt, std::shared_ptr<Tokenizer> tokenizer,
             std::filesystem::path path)
    : gpt_(std::move(gpt)), tokenizer_(std::move(tokenizer)), path_(std::move(path)) {}

Model::Use::Use(Model& model) : model_(model.not_used_here()), lock_(model.mutex_) {
  model_.user_ = std::this_thread::get_id();
}

Model::Use::~Use() {
  model_.pass_texts_.clear();
  model_.user_ = std::thread::id();
}

Model& Model::not_used_here() {
  if (user_ == std::this_thread::get_id()) {
    raise(PyExc_RuntimeError, "a hook cannot run or change its own model; load a second one");
  }
  return *this;
}

std::uint64_t Model::weights_version() const {
  std::uint64_t version = 0;
  for (const ModelWeight& weight : gpt().weights()) {
    version += weight.tensor.version();
  }
  for (const auto& [name, parameter] : gpt().parameters()) {  // with low-rank updates
    version += parameter.version();
  }
  return version;
}

Model::Kept& Model::kept() {
  const std::uint64_t version = weights_version();
  if (!kept_ || version != kept_version_ || is_shared_) {
    kept_.emplace(Kept{RecordedPasses(gpt())});
    kept_version_ = version;
  }
  return *kept_;
}

std::shared_ptr<Decoder> Model::decoder(WeightFormat format,
                                        const std::optional<CacheType>& chosen_type) {
  const CacheType cache_type = chosen_type.value_or(default_cache_type(gpt(), format));
  const std::uint64_t version = weights_version();
  if (version != std::exchange(packed_version_, version)) {
    decoders_.clear();
  }
  std::shared_ptr<Decoder>& decoder = decoders_[{format, cache_type}];
  if (decoder == nullptr) {
    require_decoder_memory(gpt().config(), format);
    decoder = std::make_shared<Decoder>(gpt(), format, cache_type);
  }
  return decoder;
}

void Model::add_hook(std::shared_ptr<ForwardHook> hook, bool first) {
  hooks_.insert(first ? hooks_.begin() : hooks_.end(), std::move(hook));
  attach_hooks();
}

void Model::remove_hook(const ForwardHook* hook) {
  std::erase_if(hooks_, [&](const auto& held) { return held.get() == hook; });
  attach_hooks();
}

// Detaches the hooks during its lifetime: users must not see passes of the package's own.
class Model::WithoutHooks {
 public:
  explicit WithoutHooks(Model& model) : model_(model) { model_.gpt().attach(nullptr); }
  ~WithoutHooks() { model_.attach_hooks(); }
  WithoutHooks(const WithoutHooks&) = delete;
  WithoutHooks& operator=(const WithoutHooks&) = delete;

 private:
  Model& model_;
};

void Model::add_features(std::shared_ptr<const SparseAutoencoder> autoencoder) {
  auto all = autoencoders_;
  all.push_back(std::move(autoencoder));
  const WithoutHooks without_hooks(*this);
  gpt().attach_features(feature_maps(all, gpt()));
  autoencoders_ = std::move(all);
  points_.clear();
}

void Model::remove_features() {
  gpt().attach_features({});
  autoencoders_.clear();
  points_.clear();
}

void Model::require_points(const std::vector<PointRange>& points, std::string_view about) {
  if (points_.empty()) {
    const WithoutHooks without_hooks(*this);
    for (const auto& [spot, value] :
         values_of(gpt(), make_batch({{0}}), [](Point, Index) { return true; })) {
      points_.insert(spot);
    }
    if (gpt().config().has_head()) {
      points_.insert({Point::logits, 0});
    }
  }
  for (const PointRange& range : points) {
    const Index layers = gpt().config().n_layer;
    const Index last = range.layers.last.value_or(range.layers.first);
    require_value(!is_in_layer(range.point) || last < layers, about, "the model has layers 0 to ",
                  layers - 1, ", got ", name_of(range.point), ".", last);
    require_value(
        std::ranges::any_of(
            points_, [&](const auto& spot) { return covers(range, spot.first, spot.second); }),
        about, "this model does not compute ", name_of(range.point));
  }
}

void Model::attach_hooks() {
  gpt().attach(hooks_.empty() ? nullptr : std::make_shared<HookChain>(hooks_));
}

}  // namespace headlight::python
