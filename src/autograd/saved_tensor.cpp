#include "headlight/autograd/saved_tensor.h"

#include <string>

namespace headlight {

SavedTensor::SavedTensor(const char* op, const char* role, Tensor tensor, Index index)
    : op_(op),
      role_(role),
      index_(index),
      tensor_(std::move(tensor)),
      version_(tensor_.version()) {}

const Tensor& SavedTensor::get() const {
  require(tensor_.version() == version_, "[backward] ", op_, " needs its ", role_,
          index_ < 0 ? "" : " " + std::to_string(index_), ", ", dtype(), " of shape ", shape(),
          ", as it was when ", op_, " ran, and it was overwritten since: expected version ",
          version_, ", got version ", tensor_.version(),
          "; write into a clone(), or after backward");
  return tensor_;
}

}  // namespace headlight
