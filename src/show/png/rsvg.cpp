#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "headlight/base/error.h"
#include "kernels/machine/shared_library.h"
#include "show/png/png.h"

// librsvg and cairo are loaded at run time. Their functions in use are declared here, as in their
// manuals: their headers would bring a hundred packages.
namespace headlight {
namespace {

struct RsvgHandle;
struct RsvgRectangle {
  double x;
  double y;
  double width;
  double height;
};
struct CairoSurface;
struct Cairo;
using CairoWrite = int(void* closure, const unsigned char* data, unsigned int length);

constexpr int kCairoSuccess = 0;  // CAIRO_STATUS_SUCCESS
constexpr int kCairoRgb24 = 1;    // CAIRO_FORMAT_RGB24

SharedLibrary open_librsvg() {
  SharedLibrary library("--format png: ", "librsvg-2.so.2");
  library.require_loaded("(Debian: librsvg2-2); svg needs no library");
  return library;
}

// librsvg 2.52 or newer and its dependencies glib and cairo. They are loaded when the first figure
// is drawn.
struct Librsvg {
  SharedLibrary library = open_librsvg();
  void (*unref)(void* object) = library.find("g_object_unref");
  RsvgHandle* (*new_from_data)(const unsigned char* data, std::size_t length,
                               void** error) = library.find("rsvg_handle_new_from_data");
  int (*size_in_pixels)(RsvgHandle* handle, double* width,
                        double* height) = library.find("rsvg_handle_get_intrinsic_size_in_pixels");
  int (*render_document)(RsvgHandle* handle, Cairo* cairo, const RsvgRectangle* view,
                         void** error) = library.find("rsvg_handle_render_document");
  CairoSurface* (*create_image)(int format, int width,
                                int height) = library.find("cairo_image_surface_create");
  int (*write_to_png)(CairoSurface* surface, CairoWrite* write,
                      void* closure) = library.find("cairo_surface_write_to_png_stream");
  void (*destroy_surface)(CairoSurface* surface) = library.find("cairo_surface_destroy");
  Cairo* (*create)(CairoSurface* target) = library.find("cairo_create");
  void (*destroy)(Cairo* cairo) = library.find("cairo_destroy");
};

constexpr double kLargestSide = 16384.0;

const Librsvg& librsvg() {
  static const Librsvg functions;
  return functions;
}

struct Release {
  void operator()(RsvgHandle* handle) const { librsvg().unref(handle); }
  void operator()(CairoSurface* surface) const { librsvg().destroy_surface(surface); }
  void operator()(Cairo* context) const { librsvg().destroy(context); }
};

int append_bytes(void* out, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return kCairoSuccess;
}

}  // namespace

std::string svg_to_png(const std::string& svg, double scale) {
  const Librsvg& lib = librsvg();
  const auto* bytes = reinterpret_cast<const unsigned char*>(svg.data());
  const std::unique_ptr<RsvgHandle, Release> picture(lib.new_from_data(bytes, svg.size(), nullptr));
  double width = 0;
  double height = 0;
  require(picture && lib.size_in_pixels(picture.get(), &width, &height),
          "[svg_to_png] librsvg cannot read the picture");
  const double longest = std::max(width, height);
  require(longest <= kLargestSide, "[svg_to_png] expected at most ", kLargestSide,
          " pixels on a side, got ", longest, ": choose fewer heads or tokens");
  const double factor = std::min(scale, kLargestSide / longest);
  const RsvgRectangle whole = {0, 0, std::round(width * factor), std::round(height * factor)};
  const std::unique_ptr<CairoSurface, Release> surface(
      lib.create_image(kCairoRgb24, static_cast<int>(whole.width), static_cast<int>(whole.height)));
  const std::unique_ptr<Cairo, Release> context(lib.create(surface.get()));
  std::string png;
  const bool drawn = lib.render_document(picture.get(), context.get(), &whole, nullptr) != 0 &&
                     lib.write_to_png(surface.get(), append_bytes, &png) == kCairoSuccess;
  require(drawn, "[svg_to_png] the picture of ", whole.width, " x ", whole.height,
          " pixels cannot be drawn");
  return png;
}

}  // namespace headlight
