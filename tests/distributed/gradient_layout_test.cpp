#include "distributed/gradient_layout.h"
#include "support/test.h"

const std::vector<DivisibleParameter> kParameters{{.elements = 5'000'003},
                                                  {.elements = 768},
                                                  {.elements = 589'824, .is_whole = true},
                                                  {.elements = 3},
                                                  {.elements = 2'359'296, .is_whole = true},
                                                  {.elements = 100}};

// Returns all segments by parameter, in the order of buckets and pieces.
std::map<std::size_t, std::vector<Segment>> all_segments(const GradientLayout& layout) {
  std::map<std::size_t, std::vector<Segment>> found;
  for (Index bucket = 0; bucket < layout.bucket_count(); ++bucket) {
    for (Index piece = 0; piece < layout.piece_count(); ++piece) {
      for (const Segment& segment : layout.segments(bucket, piece, piece + 1)) {
        found[segment.parameter].push_back(segment);
      }
    }
  }
  return found;
}

TEST_CASE("pieces hold every element once, cut where vectors begin") {
  for (const Index pieces : {1, 2, 8, 64}) {
    const auto found = all_segments(GradientLayout(kParameters, pieces));
    REQUIRE(found.size() == kParameters.size());
    for (const auto& [parameter, segments] : found) {
      Index begin = 0;
      for (const Segment& segment : segments) {
        CHECK(segment.begin == begin);
        CHECK(segment.begin % 64 == 0);
        CHECK(segment.size() > 0);
        begin = segment.end;
      }
      CHECK(begin == kParameters[parameter].elements);
      CHECK((!kParameters[parameter].is_whole || segments.size() == 1));
    }
  }
}

TEST_CASE("the first bucket holds the gradients that are computed first") {
  const GradientLayout layout(kParameters, 4);
  REQUIRE(layout.bucket_count() > 4);
  const std::vector<std::size_t> first = layout.parameters_of(0);
  CHECK(std::find(first.begin(), first.end(), kParameters.size() - 1) != first.end());
  CHECK(layout.parameters_of(layout.bucket_count() - 1) == std::vector<std::size_t>{0});
}

TEST_CASE("the halves of a bucket that can be cut are even") {
  const GradientLayout layout({{.elements = 1'000'000}}, 8);
  REQUIRE(layout.bucket_count() == 1);
  for (Index piece = 0; piece < 8; ++piece) {
    CHECK(count_elements(layout.segments(0, piece, piece + 1)) == Approx(125'000).margin(200));
  }
  CHECK(layout.segments(0, 0, 8) == Segments{{0, 0, 1'000'000}});
}

TEST_CASE("more pieces than elements leave some empty") {
  const GradientLayout layout({{.elements = 5}}, 8);
  CHECK(count_elements(layout.segments(0, 0, 8)) == 5);
}
