#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/nn/batch.h"
#include "headlight/tensor/named_tensors.h"

// NumPy arrays and tensors that share memory.
namespace headlight::python {

namespace nb = nanobind;

using IdArray = nb::ndarray<nb::numpy, const std::int32_t>;

// A NumPy array of any type.
struct Array {
  nb::object object;
};

enum class Access { read_only, writable };

// Returns an array on the tensor's elements, which it keeps alive. bfloat16, which NumPy lacks,
// becomes a float32 copy.
Array array_of(const Tensor& tensor, Access access = Access::read_only);

// Returns an array [size] of int32.
IdArray array_of(const std::vector<std::int32_t>& values);

// Returns a tensor on the elements of an array that NumPy can make of `value`; copies only to make
// them contiguous or to convert them. Without `dtype`, floats keep 32 or 64 bits, integers become
// int32. Throws Error about `about` for other types, for shapes beyond `rank` axes (-1: any) and
// for integers beyond 32 bits.
Tensor tensor_of(nb::handle value, std::string_view about, std::optional<DType> dtype = {});

// Returns a tensor that shares the elements of a NumPy array, if it is contiguous, writable,
// aligned and of float32, float64, int32 or bool; else tensor_of().
Tensor shared_tensor(const nb::object& array, std::string_view about);

// Returns whether two tensors of one shape and type have the same bits.
bool same_bits(const Tensor& a, const Tensor& b);

// Returns the number of rows of each sequence.
std::vector<Index> lengths_of(const std::vector<Index>& offsets);

// Returns the rows [N, ...] of sequences as [B, T, ...], with zeros behind the end of a sequence,
// and with gradients; shares the elements if all have one length.
Tensor padded_rows(const Tensor& rows, const std::vector<Index>& offsets);
// Returns the rows [N, ...] of padded ones, with gradients.
Tensor unpadded_rows(const Tensor& padded, const std::vector<Index>& offsets);

// Returns an object that any thread may release, also without the lock of the interpreter.
std::shared_ptr<nb::object> shared_object(nb::object object);

}  // namespace headlight::python

namespace nanobind::detail {

template <>
struct type_caster<headlight::python::Array> {
  NB_TYPE_CASTER(headlight::python::Array, const_name("headlight.types.Array"))
  static handle from_cpp(const headlight::python::Array& array, rv_policy, cleanup_list*) noexcept {
    return handle(array.object).inc_ref();
  }
};

}  // namespace nanobind::detail
