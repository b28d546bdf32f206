#pragma once

#include "headlight/tensor/error.h"

namespace headlight {

// What a run has learned cannot be saved: a full or broken disk, a directory that may not be
// written.
class SaveError : public Error {
 public:
  using Error::Error;
};

}  // namespace headlight
