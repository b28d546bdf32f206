#include "support/saved_model.h"
#include "support/test.h"

// PNG needs a library that a machine may lack.

TEST_CASE("attribute and attention draw PNG, or name the missing library") {
  const SavedModel given;
  const std::string out = given.folder.at("out");
  for (const auto& [arguments, picture] :
       {std::pair(words("attribute", given.model, "--text abc --png", out + ".png"), out + ".png"),
        std::pair(words("attention", given.model, "--text abc --format png --out", out),
                  out + "/layer_0.png")}) {
    const ProgramResult drawn = run_headlight(arguments);
    if (drawn.exit_code == 0) {
      CHECK(file_contents(picture).starts_with("\x89PNG\r\n\x1a\n"));
    } else {
      CHECK(contains(drawn.err, "librsvg-2.so.2 cannot be loaded"));
    }
  }
}

TEST_CASE("a PNG with Hangul warns when no font has it") {
  const SavedModel given;
  const std::string none = given.folder.write("none.conf", "<fontconfig></fontconfig>\n");
  const auto drawn = [&](const std::string& text, const std::string& format) {
    return run_headlight_with({"FONTCONFIG_FILE=" + none},
                              words("attention", given.model, "--text", text, "--out",
                                    given.folder.at("maps"), "--format", format));
  };
  const auto warned = [&](const std::string& text, const std::string& format) {
    return has_parts(drawn(text, format).err,
                     {"no font on this machine has \uAC00", "fonts-noto-cjk"});
  };
  CHECK(warned("\uAC00 b", "png") == (drawn("a", "png").exit_code == 0));
  CHECK_FALSE(warned("a b", "png"));
  CHECK_FALSE(warned("\uAC00 b", "svg"));
}
