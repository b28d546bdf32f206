#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"
#include "headlight/tensor/storage.h"

namespace headlight {

struct GradNode;  // defined by autograd/; this folder only stores the pointer

// A cheap handle on a strided, typed array; copies share the elements and the gradient.
//
// A default-constructed Tensor is undefined: it has no elements and supports only assignment,
// defined() and destruction. Reading from several threads is safe; writing needs the caller's
// synchronisation.
class Tensor {
 public:
  Tensor() = default;

  // Uninitialised elements. Throws Error if the shape is invalid.
  static Tensor empty(const Shape& shape, DType dtype = DType::float32);
  // A tensor on row-major elements of another library, which `owner` keeps alive. The address must
  // be a multiple of the element's size.
  static Tensor borrow(void* elements, const Shape& shape, DType dtype,
                       std::shared_ptr<void> owner);
  // A shape without elements, as release_elements() leaves it.
  static Tensor without_elements(const Shape& shape, DType dtype = DType::float32);
  static Tensor zeros(const Shape& shape, DType dtype = DType::float32);
  static Tensor ones(const Shape& shape, DType dtype = DType::float32);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::float32);
  // A tensor without axes, with one value.
  static Tensor scalar(double value, DType dtype = DType::float32);
  // The identity matrix [size, size].
  static Tensor eye(Index size, DType dtype = DType::float32);
  // 0, 1, ..., count - 1.
  static Tensor arange(Index count, DType dtype = DType::int32);
  // Copies row-major values. Throws Error if their number does not match the shape.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  // In elements, one per axis; 0 for an expanded axis.
  const Shape& strides() const { return strides_; }
  DType dtype() const { return dtype_; }
  Index rank() const { return shape_.rank(); }
  // Size of one axis; -1 is the last. Throws Error if it is out of range.
  Index size(Index axis) const;
  Index numel() const { return numel_; }
  bool is_contiguous() const;

  // Returns the first element. Throws Error if T is not the element type. Writes through the
  // pointer do not raise version(): use it to fill new tensors and in loops. See mutable_data().
  template <class T>
  T* data() {
    return static_cast<T*>(raw_data(dtype_of<T>()));
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(raw_data(dtype_of<T>()));
  }
  // As data(), for overwriting elements that others may have read: raises version().
  template <class T>
  T* mutable_data() {
    T* elements = data<T>();
    storage_->raise_version();
    return elements;
  }
  // Number of overwrites of the elements by fill(), copy_from(), mutable_data() or an optimizer,
  // through any tensor that shares the storage. Backward throws if it needs elements that were
  // overwritten since the forward pass. 0 for an undefined tensor.
  std::uint64_t version() const { return defined() ? storage_->version() : 0; }
  // Returns the only element. Throws Error if there are more or none.
  double item() const;
  // Returns all elements in row-major order, converted.
  std::vector<double> to_vector() const;

  // Copies the elements in row-major order, without gradient.
  Tensor clone() const;
  // Overwrites the elements with `source`'s (same shape, converted type), or with one value.
  // No gradient flows through this, and the gradient history stays unchanged.
  void copy_from(const Tensor& source);
  void fill(double value);

  // Returns another view of the elements, without gradient; `offset` is in elements from this
  // view's first one. Throws Error if an element would be outside the storage.
  Tensor strided_view(const Shape& shape, const Shape& strides, Index offset = 0) const;
  // Frees the elements of all tensors that share them. They keep their shapes, and reading their
  // elements throws Error.
  void release_elements();
  bool has_elements() const { return defined() && storage_->data() != nullptr; }
  // True if no other handle shares the elements, so that overwriting them is safe.
  bool owns_storage_alone() const { return storage_.use_count() == 1; }

  // Gradients; declared here for the syntax p.grad(), defined by autograd/.
  bool requires_grad() const;
  // Returns the name of the op that computed the tensor, such as "mul". Empty for a leaf and for a
  // tensor without gradient history.
  std::string_view grad_op() const;
  // Makes this handle and its later copies, not earlier ones, a leaf that collects gradients. False
  // drops the gradient history instead. In a leaf, switches the collecting of all its handles: a
  // frozen weight gets no gradient, and ops do not compute it. Throws Error for types that are not
  // floating-point.
  Tensor& set_requires_grad(bool value = true);
  // Returns the gradient collected by a leaf, or an undefined tensor.
  Tensor grad() const;
  void zero_grad();
  // Sets the gradient of a leaf, sharing its elements. Throws Error if the tensor is no leaf or the
  // gradient has another shape or type.
  void set_grad(Tensor gradient);
  // Makes backward store the gradient of a tensor that is not a leaf.
  void retain_grad();
  // Returns the same elements without gradient history.
  Tensor detach() const;
  const std::shared_ptr<GradNode>& grad_node() const { return node_; }
  void set_grad_node(std::shared_ptr<GradNode> node) { node_ = std::move(node); }

 private:
  explicit Tensor(const Shape& shape, DType dtype);  // without elements
  void* raw_data(DType expected) const;

  std::shared_ptr<Storage> storage_;
  std::shared_ptr<GradNode> node_;
  Shape shape_;
  Shape strides_;
  Index offset_ = 0;  // offset of the first element, in elements
  Index numel_ = 0;
  DType dtype_ = DType::float32;
};

// Converts to another element type, without gradient; returns x itself if it has the type.
Tensor convert(const Tensor& x, DType dtype);

// Returns x itself if it is contiguous, else a copy without gradient.
Tensor to_contiguous(const Tensor& x);

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  Tensor result = empty(shape, dtype_of<T>());
  require(static_cast<Index>(values.size()) == result.numel(), "[Tensor::from] ", values.size(),
          " values do not fill shape ", shape);
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

}  // namespace headlight
