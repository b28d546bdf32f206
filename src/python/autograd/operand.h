#pragma once

#include "python/autograd/arrays.h"

// Tensors of the autograd engine as arguments.
namespace headlight::python {

// A Tensor, or an array or number that becomes one.
struct Operand {
  nb::object value;

  // Lists and Python floats become float32; a number takes the type of `beside`, if it is defined.
  Tensor tensor(const Tensor& beside = {}) const;
};

}  // namespace headlight::python

namespace nanobind::detail {

template <>
struct type_caster<headlight::python::Operand> {
  NB_TYPE_CASTER(headlight::python::Operand,
                 const_name("headlight._headlight.Tensor | headlight.types.ArrayLike"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.value = borrow(source);
    return true;
  }
};

}  // namespace nanobind::detail
