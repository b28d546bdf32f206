#pragma once

#include "headlight/datasets/dataset.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {

// Texts or tokens to measure on: a text (a stream), a list of texts (documents), token ids, or the
// path of a file or a list of them.
struct TextData {
  nb::object value;
};

// Returns the paths of an os.PathLike or a list of them; empty for other values.
std::vector<std::string> paths_of(nb::handle data);

bool is_list_of_texts(nb::handle data);

// Reads the data as the program reads --data. `documents`: where files are split. Warnings become
// Python warnings. Throws Error about "data".
TokenDataset read_data(const Model& model, const TextData& data, const std::string& documents);

// Reads the data as sequences of the context length at most, as `headlight heads` reads them:
// without the end token that a causal model only predicts.
std::vector<std::vector<std::int32_t>> read_windows(const Model& model, const TextData& data,
                                                    const std::string& documents);

}  // namespace headlight::python

namespace nanobind::detail {

template <>
struct type_caster<headlight::python::TextData> {
  NB_TYPE_CASTER(headlight::python::TextData,
                 const_name("headlight.types.ArrayLike | os.PathLike[str] | "
                            "collections.abc.Sequence[os.PathLike[str]]"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.value = borrow(source);
    return true;
  }
};

}  // namespace nanobind::detail
