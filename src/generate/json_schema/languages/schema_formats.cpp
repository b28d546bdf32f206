#include <array>
#include <string>

#include "generate/grammar/regular_expression.h"
#include "generate/json_schema/languages/schema_texts.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

struct FormatLanguage {
  std::string_view name;
  std::string_view pattern;
  std::size_t most = TextLanguage::kNoMaximum;  // characters
};

// Parts of the patterns below, each written there as "<NAME>".
struct PatternPart {
  std::string_view name;
  std::string_view pattern;
};

// Parts name only later ones.
constexpr auto kParts = std::to_array<PatternPart>({
    {"<date>",
     R"((?:<year>-(?:(?:0[13578]|1[02])-(?:<day28>|29|30|31)|(?:0[469]|11)-(?:<day28>|29|30)|02-<day28>)|<leap>-02-29))"},
    {"<time>",
     R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[-+](?:[01]\d|2[0-3]):[0-5]\d))"},
    {"<year>", R"((?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3}))"},
    {"<leap>",
     R"((?:(?:0[1-9]|[1-9]\d)(?:0[48]|[2468][048]|[13579][26])|00(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00))"},
    {"<day28>", R"((?:0[1-9]|1\d|2[0-8]))"},
    {"<clock>", R"(T(?:\d+H(?:\d+M)?(?:\d+S)?|\d+M(?:\d+S)?|\d+S))"},
    {"<authority>", R"((?:<user>@)?(?:<host>|<ipv4>)(?::\d{1,4})?)"},
    {"<user>", R"((?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})+)"},
    {"<tail>", R"((?:\?(?:<pchar>|[/?])*)?(?:#(?:<pchar>|[/?])*)?)"},
    {"<pchar>", R"((?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}))"},
    {"<local>", R"([A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*)"},
    {"<host>", R"([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)*)"},
    {"<ipv4>", R"(<byte>(?:\.<byte>){3})"},
    {"<byte>", R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))"},
    {"<ipv6>",
     R"((?:(?:<hex>:){7}<hex>|(?:<hex>:){1,7}:|(?:<hex>:){1,6}:<hex>|(?:<hex>:){1,5}(?::<hex>){2}|(?:<hex>:){1,4}(?::<hex>){3}|(?:<hex>:){1,3}(?::<hex>){4}|(?:<hex>:){1,2}(?::<hex>){5}|<hex>:(?::<hex>){6}|:(?::<hex>){1,7}|::))"},
    {"<hex>", R"([0-9A-Fa-f]{1,4})"},
    {"<pointer>", R"((?:/(?:[^~/]|~[01])*)*)"},
});

constexpr auto kFormats = std::to_array<FormatLanguage>({
    {"date", "<date>"},
    {"time", "<time>"},
    {"date-time", "<date>T<time>"},
    {"duration", R"(P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:<clock>)?|<clock>))",
     40},
    {"email", R"(<local>@<host>\.[A-Za-z]{2,})", 64},
    {"idn-email", R"(<local>@<host>\.[A-Za-z]{2,})", 64},
    {"hostname", "<host>", 63},
    {"idn-hostname", R"([a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*)", 63},
    {"ipv4", "<ipv4>"},
    {"ipv6", "<ipv6>"},
    {"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
    {"uri",
     R"([A-Za-z][A-Za-z0-9+.-]*:(?://<authority>(?:/<pchar>*)*|<pchar>+(?:/<pchar>*)*)<tail>)"},
    {"iri",
     R"([A-Za-z][A-Za-z0-9+.-]*:(?://<authority>(?:/<pchar>*)*|<pchar>+(?:/<pchar>*)*)<tail>)"},
    {"uri-reference", R"((?:/<pchar>+)*/?<tail>)"},
    {"iri-reference", R"((?:/<pchar>+)*/?<tail>)"},
    {"uri-template", R"((?:[A-Za-z0-9._~/?=&:-]|\{[A-Za-z0-9_]+(?:,[A-Za-z0-9_]+)*\})*)"},
    {"json-pointer", "<pointer>"},
    {"relative-json-pointer", "(?:0|[1-9]{1,9}0?)(?:#|<pointer>)"},
    {"regex",
     R"(\^?(?:(?:[A-Za-z0-9 _@:;,-]|\\[dws.]|\[\^?[A-Za-z0-9]+\]|\([A-Za-z0-9]+\))[*+?]?)*\$?)"},
});

std::string full_pattern(std::string_view pattern) {
  std::string all(pattern);
  for (const PatternPart& part : kParts) {
    for (std::size_t at = 0; (at = all.find(part.name, at)) != std::string::npos;) {
      all.replace(at, part.name.size(), part.pattern);
    }
  }
  return all;
}

}  // namespace

std::optional<TextLanguage> format_language(std::string_view format) {
  for (const FormatLanguage& known : kFormats) {
    if (known.name == format) {
      const TextLanguage all = whole_language(full_pattern(known.pattern));
      return known.most == TextLanguage::kNoMaximum
                 ? all
                 : TextLanguage::combined(all, TextLanguage::of_length(0, known.most),
                                          TextLanguage::Combined::in_both);
    }
  }
  return std::nullopt;
}

}  // namespace headlight
