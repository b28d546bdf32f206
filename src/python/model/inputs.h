#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/tokenizers/tokenizer.h"

// Arguments of Python functions.
namespace headlight::python {

namespace nb = nanobind;

// A text, token ids (a list or an integer array [T]), or several of them (a list, or an array
// [B, T]).
struct Inputs {
  nb::object value;
};

// A str or os.PathLike.
struct PathInput {
  std::filesystem::path path;
};

struct InputSequences {
  std::vector<std::vector<std::int32_t>> ids;
  bool is_one = false;  // the argument was not a list of sequences
};

// Returns the ids of the inputs, texts encoded as prompts. `least` is the lowest id that is
// allowed. Throws Error about `about` for other types and ids outside the vocabulary.
InputSequences read_inputs(const Inputs& inputs, const Tokenizer& tokenizer, std::string_view about,
                           std::int32_t least = 0);

// Returns the ids of one text, as read_inputs(). Throws Error about `about` for several.
std::vector<std::int32_t> read_one(const Inputs& input, const Tokenizer& tokenizer,
                                   std::string_view about);

// Returns a str or a list of them. Throws Error about `about` for other types.
std::vector<std::string> read_texts(nb::handle value, std::string_view about);

// Returns a Python value as a C++ one. Throws Error about `about` if it has another type.
template <class T>
T read_value(nb::handle value, std::string_view about, std::string_view expected) {
  T result{};
  if (nb::isinstance<nb::bool_>(value) != std::is_same_v<T, bool> ||
      !nb::try_cast<T>(value, result)) {
    fail_value(about, "expected ", expected, ", got ", nb::cast<std::string>(nb::repr(value)));
  }
  return result;
}

}  // namespace headlight::python

namespace nanobind::detail {

template <>
struct type_caster<headlight::python::Inputs> {
  NB_TYPE_CASTER(headlight::python::Inputs, const_name("headlight.types.ArrayLike"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.value = borrow(source);
    return true;
  }
};

template <>
struct type_caster<headlight::python::PathInput> {
  NB_TYPE_CASTER(headlight::python::PathInput, const_name("str | os.PathLike[str]"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    const object text = steal(PyOS_FSPath(source.ptr()));
    std::string path;
    if (!text.is_valid() || !try_cast(text, path)) {
      PyErr_Clear();
      return false;
    }
    value.path = path;
    return true;
  }
};

}  // namespace nanobind::detail
