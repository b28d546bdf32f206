#pragma once

#include "headlight/base/error.h"

namespace headlight {

// What a run has learned cannot be saved: a full or broken disk, a directory that may not be
// written.
class SaveError : public Error {
 public:
  using Error::Error;
};

// Does `work`; what it throws as Error becomes SaveError.
template <class Work>
void saving(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    throw SaveError(error.what());
  }
}

}  // namespace headlight
