#include "headlight/base/build.h"

namespace headlight {
namespace {

constexpr const char* kCompiler =
#if defined(__clang__)
    "Clang " __clang_version__;
#elif defined(__GNUC__)
    "GCC " __VERSION__;
#else
    "unknown compiler";
#endif

}  // namespace

std::string build_description() {
  const std::string revision = HEADLIGHT_REVISION;  // empty: built outside of a repository
  return std::string(HEADLIGHT_VERSION) + (revision.empty() ? "" : ", revision " + revision) +
         ", " + kCompiler;
}

}  // namespace headlight
