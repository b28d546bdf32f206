#include "headlight/heads/head_id.h"

#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

TEST_CASE("heads are named by layer and head, or as transformers' prune_heads has them") {
  CHECK(parse_heads("0.1,2.3") == std::vector<HeadId>{{0, 1}, {2, 3}});
  CHECK(parse_heads("0:1,2;3:0") == std::vector<HeadId>{{0, 1}, {0, 2}, {3, 0}});
  CHECK(parse_heads("10.11") == std::vector<HeadId>{{10, 11}});
  CHECK(parse_heads("2.3,0.1,2.3") == std::vector<HeadId>{{0, 1}, {2, 3}});
  CHECK(head_name({10, 11}) == "10.11");
}

TEST_CASE("what names no head is refused in one line") {
  for (const char* text : {"", ",", "1", "1.", ".1", "1.2.3", "a.b", "-1.2", "1.2,", "0:", "0:1;",
                           "0:1:2", ":1", "0:1,,2", "0.1;1.2", "99999999999999999999.1", "0. 1"}) {
    INFO(text);
    CHECK(mentions(error_of([&] { parse_heads(text); }), {"heads", "0.1,2.3", text}));
  }
}

TEST_CASE("heads that a model lacks are refused, layers of different sizes included") {
  GptConfig config{.vocab_size = 5, .n_layer = 2, .n_head = 2, .n_embd = 8};
  config.heads_per_layer = {1, 3};
  config.head_width = 4;
  CHECK(all_heads(config) == std::vector<HeadId>{{0, 0}, {1, 0}, {1, 1}, {1, 2}});
  CHECK_NOTHROW(require_heads(all_heads(config), config));
  CHECK(mentions(error_of([&] { require_heads({{0, 1}}, config); }), {"layer 0", "0 to 0", "0.1"}));
  CHECK(mentions(error_of([&] { require_heads({{2, 0}}, config); }), {"layers 0 to 1", "2.0"}));
}
