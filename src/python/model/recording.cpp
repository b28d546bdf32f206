#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/interpret/activations/activation_recorder.h"
#include "python/bindings.h"
#include "python/model/cache.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Adds a hook to a model during its lifetime.
class AttachedHook {
 public:
  AttachedHook(Model& model, std::shared_ptr<ForwardHook> hook)
      : model_(model), hook_(std::move(hook)) {
    const Model::Use use(model_);
    model_.add_hook(hook_);
  }
  ~AttachedHook() {
    const Model::Use use(model_);
    model_.remove_hook(hook_.get());
  }
  AttachedHook(const AttachedHook&) = delete;
  AttachedHook& operator=(const AttachedHook&) = delete;

 private:
  Model& model_;
  std::shared_ptr<ForwardHook> hook_;
};

nb::tuple generate_with_cache(nb::handle self, const Inputs& prompt,
                              const std::vector<std::string>& names, const nb::kwargs& options) {
  auto& model = nb::cast<Model&>(self);
  const std::vector<PointRange> points = points_of(names);
  const auto recorder = std::make_shared<ActivationRecorder>(points);
  {
    const Model::Use use(model);
    model.require_points(points, "names");
  }
  require_value(read_inputs(prompt, *model.tokenizer(), "prompt").is_one, "prompt",
                "expected one text, got several");
  require_value(!options.contains("samples"), "samples",
                "cannot be combined with recorded activations");
  nb::object text;
  {
    const AttachedHook attached(model, recorder);
    text = self.attr("generate")(prompt.value, **options);
  }
  return nb::make_tuple(text, activation_cache(model, recorder->arrays(), {recorder->tokens()}));
}

}  // namespace

void add_recording(nb::class_<Model>& model) {
  model.def(
      "generate_with_cache", &generate_with_cache, "prompt"_a, "names"_a, "options"_a,
      nb::sig("def generate_with_cache(self, prompt: headlight.types.ArrayLike, names: "
              "collections.abc.Sequence[str], **options: typing.Any) -> tuple[Generation, "
              "headlight.cache.ActivationCache]"),
      "Continues a text and records the values at points for each token.\n\n"
      "Parameters\n----------\n"
      "names : points, as in run_with_cache().\n"
      "options : as in generate(), without samples.\n\n"
      "Returns\n-------\n"
      "The Generation, and arrays by TransformerLens's names, [1, T, ...], and [1, H, T, T] for "
      "pattern and attn_scores. T: tokens of the prompt and the text without its last one, which "
      "the model does not read. ln_final and logits are NaN before the last token of the prompt. "
      "The text must fit into the context.");
}

}  // namespace headlight::python
