#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "headlight/interpret/features/top_examples.h"
#include "python/analysis/text_data.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/model/cell_tuples.h"
#include "python/progress.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// A TopExample with the labels of its tokens, and their characters.
struct Example : TopExample {
  std::vector<std::string> tokens;
  std::vector<CellTuple> cells;
};

Array example_values(const Example& example) {
  return array_of(Tensor::from(example.values, {std::ssize(example.values)}), Access::writable);
}

std::string described_example(const Example& example) {
  std::string text;
  for (const std::string& token : example.tokens) {
    text += token;
  }
  return concat_text("<headlight.Example: ", example.value(), " in text ", example.sequence,
                     ", token ", example.position, ": ",
                     nb::cast<std::string>(nb::repr(nb::str(text.c_str()))), ">");
}

TopExampleOptions example_options(const std::string& point, const nb::object& sae,
                                  std::optional<Index> feature) {
  TopExampleOptions options{.point = parse_point("point", point)};
  require_value(sae.is_none() != feature.has_value(), sae.is_none() ? "sae" : "feature",
                "expected both an autoencoder and a feature, or neither");
  if (feature) {
    require_value(nb::isinstance<SparseAutoencoder>(sae), "sae", "expected a SparseAutoencoder");
    options.sae = nb::cast<const SparseAutoencoder*>(sae);
    options.feature = *feature;
  }
  return options;
}

}  // namespace

void add_top_examples(nb::module_& module, nb::class_<Model>& model) {
  nb::class_<Example>(module, "Example", "Part of a text around its most active token.")
      .def_ro("sequence", &Example::sequence, "Number of the text in the data.")
      .def_ro("position", &Example::position, "Position of the most active token in the text.")
      .def_ro("begin", &Example::begin, "Position of the first token of this part.")
      .def_prop_ro("value", &Example::value, "Activation of the most active token.")
      .def_ro("tokens", &Example::tokens, "Labels of the tokens of this part.")
      .def_ro("cells", &Example::cells,
              "Characters of this part: first token, one past the last, label.")
      .def_prop_ro("values", &example_values, "Activations of these tokens.")
      .def("__repr__", &described_example);
  model.def(
      "top_examples",
      [](Model& self, const TextData& data, const std::string& point, const nb::object& sae,
         std::optional<Index> feature, Index count, const std::string& documents, Index batch_size,
         bool progress) {
        TopExampleOptions options = example_options(point, sae, feature);
        options.count = count;
        options.batch_size = batch_size;
        options.progress = progress_of("reading texts", progress);
        const TokenDataset texts = read_data(self, data, documents);
        options.tokenizer = self.tokenizer().get();
        const std::vector<TopExample> found = [&] {
          const Model::Use use(self);
          return top_examples(self.gpt(), texts, options);
        }();
        std::vector<Example> examples;
        for (const TopExample& example : found) {
          examples.push_back({example, {}, character_cells(*self.tokenizer(), example.ids)});
          for (const std::int32_t id : example.ids) {
            examples.back().tokens.push_back(self.tokenizer()->token_label(id));
          }
        }
        return examples;
      },
      "data"_a, "point"_a, nb::kw_only(), "sae"_a = nb::none(), "feature"_a = nb::none(),
      "count"_a = 10, "documents"_a = "none", "batch_size"_a = 12, "progress"_a = true,
      nb::sig("def top_examples(self, data: headlight.types.ArrayLike | os.PathLike[str] | "
              "collections.abc.Sequence[os.PathLike[str]], point: str, *, sae: SparseAutoencoder | "
              "None = None, feature: int | None = None, count: int = 10, documents: str = 'none', "
              "batch_size: int = 12, progress: bool = True) -> list[Example]"),
      "Finds the texts on which a neuron or a feature is most active; hl.plot.top_examples() draws "
      "them.\n\n"
      "Parameters\n----------\n"
      "data : a text, a list of texts, token ids, or paths of files.\n"
      "point : a neuron or element, \"neuron.3.17\" or \"resid_post.2.5\"; with sae its point, "
      "\"resid_post.2\".\n"
      "sae, feature : measure this feature of an autoencoder instead.\n"
      "count : number of texts; a text longer than the context counts once a window.\n\n"
      "Returns\n-------\n"
      "Examples, most active first: 20 tokens before and 8 after the most active one, and those "
      "that "
      "complete a character.");
}

}  // namespace headlight::python
