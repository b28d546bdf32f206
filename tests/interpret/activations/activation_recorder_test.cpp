#include "headlight/interpret/activations/activation_recorder.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

TEST_CASE("activations of generated tokens are those of one pass over the text") {
  const auto gpt = random_gpt(three_layers(), DType::float32);
  const std::vector<PointRange> points{{.point = Point::resid_post},
                                       {.point = Point::z, .layers = {1, 1}},
                                       {.point = Point::pattern, .layers = {2, 2}},
                                       {.point = Point::ln_final}};
  ActivationRecorder recorder(points);
  Decoder decoder(*gpt, WeightFormat::float32);
  KeyValueCache cache = gpt->make_cache();
  decoder.read({1, 2, 3}, cache, &recorder);
  for (const std::int32_t token : {4, 5}) {
    const DecodeItem item{token, &cache};
    decoder.step({&item, 1}, &recorder);
  }
  CHECK(recorder.length() == 5);
  const NamedTensors expected = cache_activations(
      *gpt, ActivationContexts({{1, 2, 3, 4, 5}}, gpt->block_size()), {.points = points});
  const auto array = [](const NamedTensors& arrays, const std::string& name) {
    for (const auto& [known, tensor] : arrays) {
      if (known == name) {
        return tensor;
      }
    }
    fail("no array ", name);
  };
  const NamedTensors arrays = recorder.arrays();
  CHECK(arrays.size() == 6);
  for (const std::string name : {"blocks.0.hook_resid_post", "blocks.2.hook_resid_post",
                                 "blocks.1.attn.hook_z", "blocks.2.attn.hook_pattern/0"}) {
    INFO(name);
    check_close(array(arrays, name), array(expected, name), 1e-5);
  }
  const Tensor last = array(arrays, "ln_final.hook_out");
  CHECK(std::isnan(last.to_vector().front()));
  check_close(slice(last, 0, 2, 5), slice(array(expected, "ln_final.hook_out"), 0, 2, 5), 1e-5);
}

TEST_CASE("a recorder refuses parts of points and contexts that move") {
  check_error(
      [] {
        ActivationRecorder({{.point = Point::z, .items = NumberRange{1, 1}}});
      },
      {"names", "z"});
  ActivationRecorder recorder({{.point = Point::z}});
  recorder.begin(make_batch({{1, 2, 3}}));
  check_error([&] { recorder.begin(make_batch({{2, 3}})); }, {"max_new_tokens"});
  check_error([&] { recorder.begin(make_batch({{1}, {1}})); }, {"one sequence"});
}
