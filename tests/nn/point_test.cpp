#include "support/test.h"

namespace point_test {
PointRange parsed(std::string_view text) { return parse_point("names", text); }
std::string refusal(std::string_view text) {
  return error_of([&] { parse_point("names", text); });
}

TEST_CASE("points are parsed by short names and by TransformerLens's names") {
  CHECK(parsed("resid_post") == PointRange{.point = Point::resid_post});
  CHECK(parsed("resid_post.5") == PointRange{.point = Point::resid_post, .layers = {5, 5}});
  CHECK(parsed("z.5.1") == PointRange{.point = Point::z, .layers = {5, 5}, .items = {{1, 1}}});
  CHECK(parsed("5.1") == parsed("z.5.1"));
  CHECK(parsed("4-6.*") == PointRange{.point = Point::z, .layers = {4, 6}, .items = {{0}}});
  CHECK(parsed("blocks.5.attn.hook_z.1") == parsed("z.5.1"));
  CHECK(parsed("blocks.*.mlp.hook_post") == parsed("mlp_post"));
  CHECK(parsed("neuron.3.17-20") ==
        PointRange{.point = Point::mlp_post, .layers = {3, 3}, .items = {{17, 20}}});
  CHECK(parsed("mlp.3-") == PointRange{.point = Point::mlp_out, .layers = {3}});
  CHECK(parsed("hook_embed.7") == PointRange{.point = Point::embed, .items = {{7, 7}}});
  CHECK(parsed("blocks.3.ln2.hook_out.7") == parsed("ln2.3.7"));
  CHECK(parsed("ln_final.hook_out") == PointRange{.point = Point::ln_final});
  CHECK(parsed("logits.7") == PointRange{.point = Point::logits, .items = {{7, 7}}});
  for (const Choice<Point>& choice : kChoices<Point>) {
    CHECK(parsed(choice.name).point == choice.value);
    CHECK(parsed(point_name(choice.value, 3)).point == choice.value);
    CHECK(parsed(point_name(choice.value, 3)).layers ==
          (is_in_layer(choice.value) ? NumberRange{3, 3} : NumberRange{}));
  }
}

TEST_CASE("an unknown point is refused and the nearest name suggested") {
  CHECK(refusal("resid_pots.5") ==
        "names: expected a point such as resid_post.5, z.5.1 or mlp_post.3.17, got "
        "'resid_pots.5'; did you mean resid_post?");
  CHECK(refusal("z.5.1.2").ends_with("got 'z.5.1.2'"));
  CHECK(refusal("embed.5.1").ends_with("got 'embed.5.1'"));
  CHECK(refusal("z.5-4") == "names: expected a number or a range such as 3, 4-8 or 4-, got '5-4'");
  CHECK(refusal("z.").ends_with("got ''"));
  CHECK(refusal("z.-3").ends_with("got '-3'"));
  CHECK(refusal("z.99999999999999999999").ends_with("got '99999999999999999999'"));
  for (const char* text : {"", ".", "blocks.", "blocks.3", "blocks.3.z", "hook_resid_post"}) {
    CHECK(!refusal(text).empty());
  }
}
}  // namespace point_test
