#include "headlight/base/error.h"
#include "show/png/png.h"

namespace headlight {

std::string svg_to_png(const std::string& /*svg*/, double /*scale*/) {
  fail("--format png: a page draws SVG only");
}

std::string missing_font(std::string_view /*text*/) { return ""; }

}  // namespace headlight
