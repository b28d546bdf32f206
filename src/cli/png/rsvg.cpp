#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/png.h"
#include "headlight/tensor/error.h"

namespace headlight::cli {
namespace {

constexpr double kLargestSide = 16384.0;

struct Release {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};

cairo_status_t append_bytes(void* out, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string svg_to_png(const std::string& svg, double scale) {
  const auto* bytes = reinterpret_cast<const guint8*>(svg.data());
  const std::unique_ptr<RsvgHandle, Release> picture(
      rsvg_handle_new_from_data(bytes, svg.size(), nullptr));
  gdouble width = 0;
  gdouble height = 0;
  require(picture && rsvg_handle_get_intrinsic_size_in_pixels(picture.get(), &width, &height),
          "[svg_to_png] librsvg cannot read the picture");
  const double longest = std::max(width, height);
  require(longest <= kLargestSide, "[svg_to_png] expected at most ", kLargestSide,
          " pixels on a side, got ", longest, ": choose fewer heads or tokens");
  const double factor = std::min(scale, kLargestSide / longest);
  const RsvgRectangle whole = {0, 0, std::round(width * factor), std::round(height * factor)};
  const std::unique_ptr<cairo_surface_t, Release> surface(cairo_image_surface_create(
      CAIRO_FORMAT_RGB24, static_cast<int>(whole.width), static_cast<int>(whole.height)));
  const std::unique_ptr<cairo_t, Release> context(cairo_create(surface.get()));
  std::string png;
  const bool drawn =
      rsvg_handle_render_document(picture.get(), context.get(), &whole, nullptr) != FALSE &&
      cairo_surface_write_to_png_stream(surface.get(), append_bytes, &png) == CAIRO_STATUS_SUCCESS;
  require(drawn, "[svg_to_png] the picture of ", whole.width, " x ", whole.height,
          " pixels cannot be drawn");
  return png;
}

}  // namespace headlight::cli
