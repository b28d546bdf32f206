#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "headlight/interpret/features/sparse_autoencoder.h"
#include "headlight/ops/layout.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Values [..., C], or [..., H, D] of heads whose D H is C, as rows.
struct Rows {
  Tensor rows;   // [N, C]
  Shape before;  // shape of the array
};

Rows rows_of(nb::handle values, Index width, const char* about) {
  const Tensor array = tensor_of(values, about, DType::float32);
  const Index rank = array.rank();
  const bool has_heads =
      rank >= 2 && array.size(-1) != width && array.size(-1) * array.size(-2) == width;
  require_value(rank >= 1 && (has_heads || array.size(-1) == width), about,
                "expected an array whose last axis has ", width, " numbers, got shape ",
                array.shape());
  return {reshape(array, {-1, width}), array.shape()};
}

// Replaces the last axis (or the axes of heads) of a shape.
Shape with_last(Shape shape, Index width, Index now) {
  if (shape[shape.rank() - 1] != now) {
    shape.erase(shape.rank() - 1);
  }
  shape[shape.rank() - 1] = width;
  return shape;
}

Array encode(const SparseAutoencoder& sae, const Inputs& values) {
  const Rows given = rows_of(values.value, sae.width(), "values");
  return array_of(
      reshape(sae.encode(given.rows), with_last(given.before, sae.features(), sae.width())),
      Access::writable);
}

Array decode(const SparseAutoencoder& sae, const Inputs& features,
             const std::optional<Inputs>& like) {
  const Rows given = rows_of(features.value, sae.features(), "features");
  Shape shape = with_last(given.before, sae.weights().decoder.size(1), sae.features());
  Tensor encoded;
  if (like && !sae.is_transcoder()) {
    const Rows values = rows_of(like->value, sae.width(), "like");
    require_value(values.rows.size(0) == given.rows.size(0), "like", "expected ",
                  given.rows.size(0), " rows, got ", values.rows.size(0));
    encoded = values.rows;
    shape = values.before;
  }
  return array_of(reshape(sae.decode(given.rows, encoded), shape), Access::writable);
}

Array reconstruct(const SparseAutoencoder& sae, const Inputs& values) {
  const Rows given = rows_of(values.value, sae.width(), "values");
  const Tensor rows = sae.reconstruct(given.rows);
  return array_of(
      reshape(rows, sae.is_transcoder() ? with_last(given.before, rows.size(1), sae.width())
                                        : given.before),
      Access::writable);
}

// Function of hooks() that changes features.
struct FeatureEditor {
  std::shared_ptr<SparseAutoencoder> sae;
  std::vector<FeatureEdit> edits;

  Array call(const Inputs& values, const nb::object&) const {
    const Rows given = rows_of(values.value, sae->width(), "values");
    return array_of(reshape(sae->edited(given.rows, edits), given.before), Access::writable);
  }
};

using FeatureNumbers = std::map<Index, double>;

FeatureEditor edit(const std::shared_ptr<SparseAutoencoder>& sae, const std::vector<Index>& ablate,
                   const FeatureNumbers& steer, const FeatureNumbers& set,
                   const FeatureNumbers& scale) {
  FeatureEditor editor{.sae = sae, .edits = {}};
  for (const Index feature : ablate) {
    editor.edits.push_back({feature});
  }
  using Kind = FeatureEdit::Kind;
  for (const auto& [kind, numbers] :
       {std::pair{Kind::set, &set}, {Kind::scale, &scale}, {Kind::add, &steer}}) {
    for (const auto& [feature, value] : *numbers) {
      editor.edits.push_back({feature, kind, value});
    }
  }
  for (const FeatureEdit& change : editor.edits) {
    sae->require_edit(change);
  }
  return editor;
}

std::shared_ptr<SparseAutoencoder> load(const PathInput& input, bool fold_decoder_norms) {
  if (std::error_code ignored; !std::filesystem::exists(input.path, ignored)) {
    raise(PyExc_FileNotFoundError, input.path.string() + ": there is no such folder");
  }
  SparseAutoencoder sae = load_sae(input.path);
  return std::make_shared<SparseAutoencoder>(fold_decoder_norms ? sae.folded() : std::move(sae));
}

nb::object sae_config(const SparseAutoencoder& sae) {
  const SaeConfig& config = sae.config();
  nb::dict values;
  const auto text = [](std::string_view name) { return nb::str(name.data(), name.size()); };
  values["architecture"] = text(name_of(config.architecture));
  values["hook_name"] = text(config.hook_name);
  if (sae.is_transcoder()) {
    values["hook_name_out"] = text(config.hook_name_out);
    values["d_out"] = sae.weights().decoder.size(1);
  }
  values["apply_b_dec_to_input"] = config.apply_b_dec_to_input;
  values["normalize_activations"] = text(name_of(config.norm));
  values["k"] = config.k;
  values["d_in"] = sae.width();
  values["d_sae"] = sae.features();
  return nb::module_::import_("types").attr("SimpleNamespace")(**values);
}

template <Tensor SparseAutoencoder::Weights::*kWeight>
Array weight(const SparseAutoencoder& sae) {
  const Tensor& tensor = sae.weights().*kWeight;
  require_value(tensor.defined(), "weight", "an autoencoder of architecture ",
                name_of(sae.config().architecture), " has none of this name");
  return array_of(tensor);
}

void add_features_of(Model& model, const std::shared_ptr<SparseAutoencoder>& sae) {
  const Model::Use use(model);
  model.add_features(sae);
}

void add_feature_point(nb::class_<Model>& model) {
  model
      .def(
          "add_sae", &add_features_of, "sae"_a,
          "Makes the features of an autoencoder or a transcoder a point of its layer, "
          "\"feature.6\", with the numbers of features as its elements: \"feature.6.123\". Caches, "
          "hooks, intervene(), grad() and patch() see and change it like any other; the part of "
          "the values that the features do not explain stays. [B, T, F].\n\n"
          "Raises\n------\n"
          "ValueError : for points that the model does not compute or of another width, and two "
          "in a layer.")
      .def(
          "reset_saes",
          [](Model& self) {
            const Model::Use use(self);
            self.remove_features();
          },
          "Removes the autoencoders of add_sae().");
}

}  // namespace

void add_features(nb::module_& module, nb::class_<Model>& model) {
  using Weights = SparseAutoencoder::Weights;
  nb::class_<FeatureEditor>(module, "FeatureEditor",
                            "Function for Model.hooks() that changes features of an autoencoder.")
      .def("__call__", &FeatureEditor::call, "values"_a, "point"_a = nb::none(),
           "Returns the values [..., C] with changed features.");
  nb::class_<SparseAutoencoder>(module, "SparseAutoencoder",
                                "Sparse autoencoder or transcoder of SAELens. C: width of its "
                                "point; F: number of features; D: width of the decoded values, "
                                "C except for transcoders.")
      .def("__call__", &reconstruct, "values"_a,
           "Returns the decoded features [..., D] of values [..., C], with W_skip.")
      .def("encode", &encode, "values"_a,
           "Returns the features [..., F] of values [..., C], or [..., H, D] of heads.")
      .def("decode", &decode, "features"_a, "like"_a = nb::none(),
           "Returns the values [..., C] of features [..., F].\n\n"
           "Parameters\n----------\n"
           "like : the encoded values, whose shape the result gets. Needed if "
           "config.normalize_activations is constant_norm_rescale or layer_norm.")
      .def("edit", &edit, nb::kw_only(), "ablate"_a = std::vector<Index>(),
           "steer"_a = FeatureNumbers(), "set"_a = FeatureNumbers(), "scale"_a = FeatureNumbers(),
           "Returns a function for Model.hooks() that changes features and keeps the error of the "
           "reconstruction: with model.hooks({sae.config.hook_name: sae.edit(ablate=[3])}).\n\n"
           "Parameters\n----------\n"
           "ablate : features that become 0.\n"
           "steer : numbers to add to features, active or not: values move along W_dec.\n"
           "set, scale : new values of features, and factors.\n\n"
           "A feature with several changes is ablated, set, scaled and steered, in this order. "
           "For transcoders, and with gradients, use Model.add_sae().")
      .def_prop_ro("config", &sae_config, "architecture, hook_name, d_in (C), d_sae (F) ...",
                   nb::sig("def config(self) -> types.SimpleNamespace"))
      .def_prop_ro("W_enc", &weight<&Weights::encoder>, "Encoder [C, F].")
      .def_prop_ro("b_enc", &weight<&Weights::encoder_bias>,
                   "Bias of the encoder [F]; b_gate of gated autoencoders.")
      .def_prop_ro("W_dec", &weight<&Weights::decoder>, "Decoder [F, D].")
      .def_prop_ro("b_dec", &weight<&Weights::decoder_bias>, "Bias of the decoder [D].")
      .def_prop_ro("r_mag", &weight<&Weights::magnitude>, "Of gated autoencoders, [F].")
      .def_prop_ro("b_mag", &weight<&Weights::magnitude_bias>, "Of gated autoencoders, [F].")
      .def_prop_ro("threshold", &weight<&Weights::threshold>, "Of jumprelu, [F].")
      .def_prop_ro("W_skip", &weight<&Weights::skip>, "Of skip transcoders, [D, C].")
      .def("__repr__", [](const SparseAutoencoder& sae) {
        return concat_text("<headlight.SparseAutoencoder: ", sae.features(), " features of ",
                           sae.config().hook_name, ">");
      });
  module.def("load_sae", &load, "path"_a, nb::kw_only(), "fold_W_dec_norm"_a = false,
             "Loads a sparse autoencoder of SAELens.\n\n"
             "Parameters\n----------\n"
             "path : a folder with cfg.json and sae_weights.safetensors; architectures standard, "
             "jumprelu, topk, gated and transcoders: transcoder, skip_transcoder, "
             "jumprelu_transcoder, jumprelu_skip_transcoder.\n"
             "fold_W_dec_norm : give the decoder rows length 1, as the option of SAELens's "
             "load_from_disk().\n\n"
             "Raises\n------\n"
             "FileNotFoundError : there is no such folder.\n"
             "ValueError : the files are damaged or of another architecture.");
  add_feature_point(model);
}

}  // namespace headlight::python
