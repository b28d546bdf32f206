#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/display_text.h"
#include "base/shared_library.h"
#include "headlight/base/error.h"
#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"
#include "views/png/png.h"

namespace headlight {
namespace {

constexpr double kLargestSide = 16384.0;

SharedLibrary open_library() {
  SharedLibrary library("--format png: ", "librsvg-2.so.2");
  library.require_loaded("(Debian: librsvg2-2); svg needs no library");
  return library;
}

// Functions of librsvg and its dependency cairo. They are loaded when the first figure is drawn:
// linking them would double the start-up time of every command.
struct Rsvg {
  SharedLibrary library = open_library();
  decltype(::g_object_unref)* g_object_unref =
      library.find<decltype(::g_object_unref)>("g_object_unref");
  decltype(::rsvg_handle_new_from_data)* rsvg_handle_new_from_data =
      library.find<decltype(::rsvg_handle_new_from_data)>("rsvg_handle_new_from_data");
  decltype(::rsvg_handle_get_intrinsic_size_in_pixels)* rsvg_handle_get_intrinsic_size_in_pixels =
      library.find<decltype(::rsvg_handle_get_intrinsic_size_in_pixels)>(
          "rsvg_handle_get_intrinsic_size_in_pixels");
  decltype(::rsvg_handle_render_document)* rsvg_handle_render_document =
      library.find<decltype(::rsvg_handle_render_document)>("rsvg_handle_render_document");
  decltype(::cairo_image_surface_create)* cairo_image_surface_create =
      library.find<decltype(::cairo_image_surface_create)>("cairo_image_surface_create");
  decltype(::cairo_surface_write_to_png_stream)* cairo_surface_write_to_png_stream =
      library.find<decltype(::cairo_surface_write_to_png_stream)>(
          "cairo_surface_write_to_png_stream");
  decltype(::cairo_surface_destroy)* cairo_surface_destroy =
      library.find<decltype(::cairo_surface_destroy)>("cairo_surface_destroy");
  decltype(::cairo_create)* cairo_create = library.find<decltype(::cairo_create)>("cairo_create");
  decltype(::cairo_destroy)* cairo_destroy =
      library.find<decltype(::cairo_destroy)>("cairo_destroy");
};

const Rsvg& rsvg() {
  static const Rsvg functions;
  return functions;
}

struct Release {
  void operator()(RsvgHandle* handle) const { rsvg().g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { rsvg().cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { rsvg().cairo_destroy(context); }
};

// Functions of fontconfig, which chooses librsvg's fonts.
struct Fonts {
  SharedLibrary library = SharedLibrary("--format png: ", "libfontconfig.so.1");

  template <class Function>
  Function* find(const char* name) const {
    return library.find<Function>(name);
  }
};

// Returns the characters of `text` that no installed font has; none if fontconfig is missing.
std::set<char32_t> characters_without_font(std::string_view text) {
  std::set<char32_t> missing;
  for (const char32_t c : code_points(text)) {
    if (c >= 0x250 && terminal_width(c) > 0) {  // every font has the letters before
      missing.insert(c);
    }
  }
  const Fonts lib;
  if (missing.empty() || !lib.library.is_loaded()) {
    return {};
  }
  const auto get_charset = lib.find<decltype(::FcPatternGetCharSet)>("FcPatternGetCharSet");
  const auto has_char = lib.find<decltype(::FcCharSetHasChar)>("FcCharSetHasChar");
  FcPattern* all = lib.find<decltype(::FcPatternCreate)>("FcPatternCreate")();
  FcObjectSet* objects = lib.find<decltype(::FcObjectSetCreate)>("FcObjectSetCreate")();
  lib.find<decltype(::FcObjectSetAdd)>("FcObjectSetAdd")(objects, FC_CHARSET);
  FcFontSet* fonts = lib.find<decltype(::FcFontList)>("FcFontList")(nullptr, all, objects);
  for (int i = 0; fonts != nullptr && i < fonts->nfont; ++i) {
    FcCharSet* characters = nullptr;
    if (get_charset(fonts->fonts[i], FC_CHARSET, 0, &characters) == FcResultMatch) {
      std::erase_if(missing, [&](char32_t c) { return has_char(characters, c) != FcFalse; });
    }
  }
  if (fonts != nullptr) {
    lib.find<decltype(::FcFontSetDestroy)>("FcFontSetDestroy")(fonts);
  }
  lib.find<decltype(::FcObjectSetDestroy)>("FcObjectSetDestroy")(objects);
  lib.find<decltype(::FcPatternDestroy)>("FcPatternDestroy")(all);
  return missing;
}

cairo_status_t append_bytes(void* out, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string svg_to_png(const std::string& svg, double scale) {
  const Rsvg& lib = rsvg();
  const auto* bytes = reinterpret_cast<const guint8*>(svg.data());
  const std::unique_ptr<RsvgHandle, Release> picture(
      lib.rsvg_handle_new_from_data(bytes, svg.size(), nullptr));
  gdouble width = 0;
  gdouble height = 0;
  require(picture && lib.rsvg_handle_get_intrinsic_size_in_pixels(picture.get(), &width, &height),
          "[svg_to_png] librsvg cannot read the picture");
  const double longest = std::max(width, height);
  require(longest <= kLargestSide, "[svg_to_png] expected at most ", kLargestSide,
          " pixels on a side, got ", longest, ": choose fewer heads or tokens");
  const double factor = std::min(scale, kLargestSide / longest);
  const RsvgRectangle whole = {0, 0, std::round(width * factor), std::round(height * factor)};
  const std::unique_ptr<cairo_surface_t, Release> surface(lib.cairo_image_surface_create(
      CAIRO_FORMAT_RGB24, static_cast<int>(whole.width), static_cast<int>(whole.height)));
  const std::unique_ptr<cairo_t, Release> context(lib.cairo_create(surface.get()));
  std::string png;
  const bool drawn =
      lib.rsvg_handle_render_document(picture.get(), context.get(), &whole, nullptr) != FALSE &&
      lib.cairo_surface_write_to_png_stream(surface.get(), append_bytes, &png) ==
          CAIRO_STATUS_SUCCESS;
  require(drawn, "[svg_to_png] the picture of ", whole.width, " x ", whole.height,
          " pixels cannot be drawn");
  return png;
}

std::string missing_font(std::string_view text) {
  const std::set<char32_t> missing = characters_without_font(text);
  if (missing.empty()) {
    return "";
  }
  std::string shown;
  append_utf8(*missing.begin(), shown);
  const bool is_cjk = std::any_of(missing.begin(), missing.end(), [](char32_t c) {
    return (c >= 0x1100 && c <= 0x11FF) || (c >= 0x2E80 && c <= 0xD7FF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
           (c >= 0x20000 && c <= 0x3FFFD);
  });
  return concat_text(
      "no font on this machine has ", shown,
      missing.size() > 1 ? concat_text(" and ", missing.size() - 1, " other characters") : "",
      ": the PNG has boxes in their place; install ",
      is_cjk ? "the package fonts-noto-cjk (Debian, Ubuntu)" : "a font that has them");
}

}  // namespace headlight
