#include "support/hooks.h"
#include "support/test.h"

// A hook must see and change the same values in a pass over whole texts and in a Decoder, which
// reads prompts and then one token a step.
namespace hook_passes_test {
const std::vector<Ids> kTexts{{1, 5, 3, 8, 2, 12, 7}, {4, 9, 6, 0, 11, 3}};
constexpr Index kPrompt = 4;    // tokens of each prompt
constexpr Index kTogether = 2;  // steps that read a token of each text
constexpr double kRounding = 2e-5;

struct PointInLayer {
  Point point = Point::embed;
  Index layer = 0;
  std::size_t text = 0;
  Index position = 0;

  auto operator<=>(const PointInLayer&) const = default;
};

// Records the values of every point by text and position.
class Values : public ForwardHook {
 public:
  void begin(const Batch& rows) override { rows_ = rows; }
  bool wants(Point, Index) const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    if (calls.empty() || calls.back() != std::pair{site.point, site.layer}) {
      calls.emplace_back(site.point, site.layer);
    }
    if (items_of(site.point) == PointItems::maps) {
      keep_map(site, value);
    } else {
      for (std::size_t b = 0; b + 1 < rows_.offsets.size(); ++b) {
        for (Index n = rows_.offsets[b]; n < rows_.offsets[b + 1]; ++n) {
          keep(site, b, n, slice(value, 0, n, n + 1));
        }
      }
    }
    return value;
  }

  std::size_t first_text = 0;                  // of the next pass
  std::vector<std::pair<Point, Index>> calls;  // points and layers in order
  std::map<PointInLayer, std::vector<double>> values;

 private:
  // A map [H, T, S] shows each query the keys up to its own; the others are hidden.
  void keep_map(const HookSite& site, const Tensor& map) {
    const auto b = static_cast<std::size_t>(site.sequence);
    for (Index t = 0; t < map.size(1); ++t) {
      const Index position = map.size(2) - map.size(1) + t;
      keep(site, b, rows_.offsets[b] + t, slice(slice(map, 1, t, t + 1), 2, 0, position + 1));
    }
  }

  void keep(const HookSite& site, std::size_t b, Index row, const Tensor& value) {
    const Index position = rows_.positions.data<std::int32_t>()[row];
    CHECK(kTexts[first_text + b][static_cast<std::size_t>(position)] ==
          rows_.tokens.data<std::int32_t>()[row]);
    values[{site.point, site.layer, first_text + b, position}] = value.to_vector();
  }

  Batch rows_;
};

// Multiplies the values at a point of a layer by factors that vary along the last axis.
HookAt bend(Point point, Index layer) {
  return {point, layer, [=](const Tensor& value) {
            if (items_of(point) == PointItems::maps) {  // the number of columns grows with the text
              return value * 0.75;
            }
            const auto factors =
                counted<double>(value.size(-1), [&](Index i) { return i % 2 == 0 ? 0.5 : 1.5; });
            return value * convert(Tensor::from(factors, {value.size(-1)}), value.dtype());
          }};
}

// Returns the logits [T, V] of a text in a pass over it alone.
Tensor logits_of(const Gpt& gpt, std::size_t text, ForwardHook* hook) {
  return gpt.logits(make_batch({kTexts[text]}), {.hook = hook});
}

// Reads both prompts and continues both texts in common steps. Calls begin(text) before it reads a
// prompt, and check(text, position) when the decoder has the logits after that token.
template <class Begin, class Check>
void decode(Decoder& decoder, ForwardHook* hook, const Begin& begin, const Check& check) {
  std::vector<KeyValueCache> caches;
  for (std::size_t text = 0; text < kTexts.size(); ++text) {
    caches.push_back(decoder.make_cache());
    begin(text);
    const auto at = kTexts[text].begin();
    decoder.read({at, at + 3}, caches[text], hook);
    decoder.read({at + 3, at + kPrompt}, caches[text], hook);
    check(text, kPrompt - 1, 0);
  }
  begin(0);
  for (Index t = kPrompt; t < kPrompt + kTogether; ++t) {
    const auto items = counted<DecodeItem>(kTexts.size(), [&](std::size_t text) {
      return DecodeItem{kTexts[text][static_cast<std::size_t>(t)], &caches[text]};
    });
    decoder.step(items, hook);
    for (std::size_t text = 0; text < kTexts.size(); ++text) {
      check(text, t, static_cast<Index>(text));
    }
  }
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    largest = difference <= largest ? largest : difference;  // NaN is kept
  }
  return largest;
}

TEST_CASE("a hook sees the same values in one forward pass and in single steps") {
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    for (const GptConfig& config : configs_of_all_kinds()) {
      const Gpt gpt(config, 3);
      randomize(gpt, 5);
      Values whole;
      gpt.logits(make_batch(kTexts), {.hook = &whole});
      Decoder decoder(gpt);
      Values steps;
      decode(
          decoder, &steps,
          [&](std::size_t text) {
            steps.first_text = text;
            steps.calls.clear();
          },
          [&](std::size_t text, Index position, Index) {
            for (const auto& [point, layer] : whole.calls) {
              INFO(point_name(point, layer) << ", position " << position);
              CHECK(steps.values.count({point, layer, text, position}) == 1);
            }
          });
      REQUIRE(steps.calls.size() == kTogether * whole.calls.size());
      CHECK(std::equal(whole.calls.begin(), whole.calls.end(), steps.calls.begin()));
      for (const auto& [spot, values] : steps.values) {
        INFO(point_name(spot.point, spot.layer) << ", position " << spot.position);
        CHECK(furthest(values, whole.values[spot]) < kRounding);
      }
    }
  }
}

TEST_CASE("replacing an activation has the same effect in one forward pass and in single steps") {
  for (const auto& [threads, format, limit] :
       {std::tuple{1, WeightFormat::float32, kRounding},
        std::tuple{2, WeightFormat::float32, kRounding}, std::tuple{2, WeightFormat::int8, 5e-3}}) {
    const ThreadScope scope(threads);
    for (const GptConfig& config : configs_of_all_kinds()) {
      Gpt gpt(config, 3);
      randomize(gpt, 5);
      round_weights(gpt, format);
      Decoder decoder(gpt, format);
      const Tensor plain = logits_of(gpt, 0, nullptr);
      for (const Point point : all_points()) {
        const Index layer = is_in_layer(point) ? 1 : 0;
        INFO(point_name(point, layer));
        HookAt bent = bend(point, layer);
        const std::vector<Tensor> expected{logits_of(gpt, 0, &bent), logits_of(gpt, 1, &bent)};
        if (bent.calls == 0) {  // the model does not compute this point
          continue;
        }
        // Without biases and with relu a layer scales with its input, and the next norm undoes it.
        const bool is_undone =
            point == Point::ln1_scale && config.norm == NormPosition::post && !config.bias;
        CHECK((largest_difference(expected[0], plain) > 1e-4) != is_undone);
        decode(
            decoder, &bent, [](std::size_t) {},
            [&, most = limit](std::size_t text, Index t, Index item) {
              const Tensor logits = Tensor::from(decoder.logits(item), {1, config.vocab_size});
              CHECK(largest_difference(logits, slice(expected[text], 0, t, t + 1)) < most);
            });
      }
    }
  }
}

TEST_CASE("an attached hook changes a step like a hook passed as an argument") {
  Gpt gpt(configs_of_all_kinds()[0], 3);
  randomize(gpt, 5);
  Decoder decoder(gpt);
  const auto bent = std::shared_ptr<HookAt>(new HookAt(bend(Point::mlp_post, 1)));
  const Tensor expected = logits_of(gpt, 0, bent.get());
  gpt.attach(bent);
  decode(
      decoder, nullptr, [](std::size_t) {},
      [&](std::size_t text, Index t, Index item) {
        if (text == 0) {
          const Tensor logits = Tensor::from(decoder.logits(item), {1, 13});
          CHECK(largest_difference(logits, slice(expected, 0, t, t + 1)) < kRounding);
        }
      });
}
}  // namespace hook_passes_test
