#include "kernels/machine/shared_library.h"

#include <dlfcn.h>

#include "headlight/base/error.h"

namespace headlight {

SharedLibrary::SharedLibrary(const char* about, const char* file)
    : about_(about), file_(file), handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {}

void SharedLibrary::require_loaded(const std::string& hint) const {
  require(is_loaded(), about_, file_, " cannot be loaded ", hint);
}

SharedLibrary::Found SharedLibrary::find(const char* name) const {
  void* found = ::dlsym(handle_, name);
  require(found != nullptr, about_, file_, " does not contain ", name);
  return {found};
}

}  // namespace headlight
