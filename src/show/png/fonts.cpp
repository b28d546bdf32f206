#include <algorithm>
#include <set>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"
#include "kernels/machine/shared_library.h"
#include "show/png/png.h"

namespace headlight {
namespace {

struct FcPattern;
struct FcObjectSet;
struct FcCharSet;
struct FcFontSet {
  int count;
  int capacity;
  FcPattern** fonts;
};

constexpr const char* kFcCharset = "charset";  // FC_CHARSET
constexpr int kFcMatch = 0;                    // FcResultMatch

// fontconfig, which chooses librsvg's fonts.
struct Fontconfig {
  const SharedLibrary& library;
  int (*get_charset)(const FcPattern* font, const char* object, int n,
                     FcCharSet** set) = library.find("FcPatternGetCharSet");
  int (*has_char)(const FcCharSet* set, char32_t character) = library.find("FcCharSetHasChar");
  FcPattern* (*create_pattern)() = library.find("FcPatternCreate");
  void (*destroy_pattern)(FcPattern* pattern) = library.find("FcPatternDestroy");
  FcObjectSet* (*create_objects)() = library.find("FcObjectSetCreate");
  int (*add_object)(FcObjectSet* objects, const char* object) = library.find("FcObjectSetAdd");
  void (*destroy_objects)(FcObjectSet* objects) = library.find("FcObjectSetDestroy");
  FcFontSet* (*list_fonts)(void* config, FcPattern* pattern,
                           FcObjectSet* objects) = library.find("FcFontList");
  void (*destroy_fonts)(FcFontSet* fonts) = library.find("FcFontSetDestroy");
};

// Returns the characters of `text` that no installed font has; none if fontconfig is missing.
std::set<char32_t> characters_without_font(std::string_view text) {
  std::set<char32_t> missing;
  for (const char32_t c : code_points(text)) {
    if (c >= 0x250 && terminal_width(c) > 0) {  // every font has the letters before
      missing.insert(c);
    }
  }
  const SharedLibrary library("--format png: ", "libfontconfig.so.1");
  if (missing.empty() || !library.is_loaded()) {
    return {};
  }
  const Fontconfig lib{library};
  FcPattern* all = lib.create_pattern();
  FcObjectSet* objects = lib.create_objects();
  lib.add_object(objects, kFcCharset);
  FcFontSet* found = lib.list_fonts(nullptr, all, objects);
  for (int i = 0; found != nullptr && i < found->count; ++i) {
    FcCharSet* characters = nullptr;
    if (lib.get_charset(found->fonts[i], kFcCharset, 0, &characters) == kFcMatch) {
      std::erase_if(missing, [&](char32_t c) { return lib.has_char(characters, c) != 0; });
    }
  }
  if (found != nullptr) {
    lib.destroy_fonts(found);
  }
  lib.destroy_objects(objects);
  lib.destroy_pattern(all);
  return missing;
}

}  // namespace

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
