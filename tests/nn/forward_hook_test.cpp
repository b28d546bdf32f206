#include "support/hooks.h"
#include "support/test.h"

GptConfig small_config() {
  return {.vocab_size = 13, .block_size = 8, .n_layer = 3, .n_head = 2, .n_embd = 6};
}

Batch small_batch() { return make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}}); }

// Multiplies the outputs of the heads of a layer by gates [H].
HookAt gates_of(std::optional<Index> layer, const Tensor& gates) {
  return {Point::z, layer, [=](const Tensor& z) { return mul(z, reshape(gates, {1, 2, 1})); }};
}

HookAt cut() {
  return {Point::z, std::nullopt, [](const Tensor& z) { return slice(z, 2, 0, 2); }};
}

// Records the values at the wanted points.
class Watcher : public ForwardHook {
 public:
  explicit Watcher(std::vector<Point> wanted = all_points()) : wanted_(std::move(wanted)) {}

  bool wants(Point point, Index) const override {
    return std::find(wanted_.begin(), wanted_.end(), point) != wanted_.end();
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    seen.push_back(concat_text(point_name(site.point, site.layer), " ", value.shape()));
    return value;
  }

  std::vector<std::string> seen;

 private:
  std::vector<Point> wanted_;
};

Tensor loss_with(const Gpt& gpt, ForwardHook* hook) {
  ForwardContext context;
  context.hook = hook;
  return gpt.loss(small_batch(), context);
}

TEST_CASE("a head gate of 0 equals zeros in the head's rows of c_proj") {
  const Gpt gpt(small_config(), 3, DType::float64);
  randomize(gpt, 5);
  HookAt closed = gates_of(1, doubles({0, 1}, {2}));
  const double gated = loss_with(gpt, &closed).item();
  CHECK(gated != loss_with(gpt, nullptr).item());
  for (auto& [name, parameter] : gpt.parameters()) {
    if (name == "h.1.attn.c_proj.weight") {  // [C, H D]
      slice(parameter.detach(), 1, 0, 3).fill(0);
    }
  }
  CHECK(gated == Approx(loss_with(gpt, nullptr).item()).epsilon(1e-12));
}

TEST_CASE("gradients of head gates and of patterns agree with finite differences of the loss") {
  const Gpt gpt(small_config(), 3, DType::float64);
  randomize(gpt, 5);
  const auto loss = [&](const std::vector<Tensor>& in) {
    HookAt gates = gates_of(2, in[0]);
    HookAt patterns(Point::pattern, 1, [&](const Tensor& pattern) { return mul(pattern, in[1]); });
    return loss_with(gpt, &gates) + loss_with(gpt, &patterns);
  };
  const GradientCheckResult result =
      check_gradients(loss, {leaf(doubles({1, 1}, {2})), leaf(doubles({1}, {1}))});
  INFO(result.worst);
  CHECK(result.passed);
  CHECK(result.elements == 3);
}

TEST_CASE("a hook that returns another shape is refused") {
  const Gpt gpt(small_config(), 3, DType::float64);
  HookAt narrow = cut();
  check_error([&] { loss_with(gpt, &narrow); },
              {"ForwardHook", "blocks.0.attn.hook_z", "[8, 2, 3]"});
}

TEST_CASE("a forward pass resumed at any layer gives the same bits as the whole pass") {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    GptConfig config = small_config();
    config.norm = norm;
    const Gpt gpt(config, 3);
    const Batch batch = small_batch();
    const Tensor whole = gpt.hidden(batch);
    for (Index layer = 0; layer <= 3; ++layer) {
      const Tensor residual = gpt.residual(batch, layer);
      CHECK(same_bits(gpt.hidden_from(layer, residual, batch), whole));
    }
    check_error([&] { gpt.residual(batch, 4); }, {"Gpt", "0 to 3", "4"});
    check_error([&] { gpt.residual(batch, -1); }, {"Gpt", "0 to 3", "-1"});
  }
}

TEST_CASE("a hook visits every point of a layer in order and with its shape") {
  const Gpt gpt(small_config(), 3);
  Watcher watcher;
  gpt.logits(small_batch(), {.hook = &watcher});
  REQUIRE(watcher.seen.size() == 3 * 22 + 5);
  CHECK(std::vector<std::string>(watcher.seen.begin() + 23, watcher.seen.begin() + 45) ==
        std::vector<std::string>{
            "blocks.1.hook_resid_pre [8, 6]",       "blocks.1.ln1.hook_scale [8, 1]",
            "blocks.1.ln1.hook_normalized [8, 6]",  "blocks.1.ln1.hook_out [8, 6]",
            "blocks.1.attn.hook_q [8, 2, 3]",       "blocks.1.attn.hook_k [8, 2, 3]",
            "blocks.1.attn.hook_v [8, 2, 3]",       "blocks.1.attn.hook_attn_scores [2, 5, 5]",
            "blocks.1.attn.hook_pattern [2, 5, 5]", "blocks.1.attn.hook_attn_scores [2, 3, 3]",
            "blocks.1.attn.hook_pattern [2, 3, 3]", "blocks.1.attn.hook_z [8, 2, 3]",
            "blocks.1.attn.hook_result [8, 2, 6]",  "blocks.1.hook_attn_out [8, 6]",
            "blocks.1.hook_resid_mid [8, 6]",       "blocks.1.ln2.hook_scale [8, 1]",
            "blocks.1.ln2.hook_normalized [8, 6]",  "blocks.1.ln2.hook_out [8, 6]",
            "blocks.1.mlp.hook_pre [8, 24]",        "blocks.1.mlp.hook_post [8, 24]",
            "blocks.1.hook_mlp_out [8, 6]",         "blocks.1.hook_resid_post [8, 6]"});
  CHECK(watcher.seen.front() == "hook_embed [8, 6]");
  CHECK(std::vector<std::string>(watcher.seen.end() - 4, watcher.seen.end()) ==
        std::vector<std::string>{"ln_final.hook_scale [8, 1]", "ln_final.hook_normalized [8, 6]",
                                 "ln_final.hook_out [8, 6]", "logits [8, 13]"});
}

TEST_CASE("rotated queries and keys have points of their own") {
  GptConfig config = small_config();
  config.position = PositionKind::rope;
  config.head_width = 4;
  config.n_kv_head = 1;
  const Gpt gpt(config, 3);
  Watcher watcher({Point::q, Point::rot_q, Point::k, Point::rot_k});
  gpt.next_logits(small_batch(), {.hook = &watcher});
  REQUIRE(watcher.seen.size() == 3 * 4);
  CHECK(std::vector<std::string>(watcher.seen.begin(), watcher.seen.begin() + 4) ==
        std::vector<std::string>{"blocks.0.attn.hook_q [8, 2, 4]", "blocks.0.attn.hook_k [8, 1, 4]",
                                 "blocks.0.attn.hook_rot_q [8, 2, 4]",
                                 "blocks.0.attn.hook_rot_k [8, 1, 4]"});
}

TEST_CASE("a hook gets the tokens and positions of the rows that it sees") {
  class Rows : public ForwardHook {
   public:
    void begin(const Batch& rows) override { rows_ = rows; }
    bool wants(Point point, Index layer) const override {
      return layer == 0 && (point == Point::resid_pre || point == Point::logits);
    }
    Tensor visit(const HookSite&, const Tensor& value) override {
      for (Index n = 0; n < rows_.token_count(); ++n) {
        text += concat_text(rows_.tokens.data<std::int32_t>()[n], "@",
                            rows_.positions.data<std::int32_t>()[n], " ");
      }
      text += concat_text("in ", rows_.offsets.size() - 1, "; ");
      return value;
    }

    std::string text;

   private:
    Batch rows_;
  };
  const Gpt gpt(small_config(), 3);
  Rows hook;
  gpt.next_logits(make_batch({{1, 2, 3}, {4, 5}}), {.hook = &hook});
  CHECK(hook.text == "1@0 2@1 3@2 4@0 5@1 in 2; 3@2 5@1 in 2; ");
  Decoder decoder(gpt);
  KeyValueCache cache = gpt.make_cache();
  hook.text.clear();
  decoder.read({1, 2, 3}, cache, &hook);
  CHECK(hook.text == "1@0 2@1 3@2 in 1; 3@2 in 1; ");
  hook.text.clear();
  const DecodeItem item{6, &cache};
  decoder.step({&item, 1}, &hook);
  CHECK(hook.text == "6@3 in 1; 6@3 in 1; ");
}

TEST_CASE("reading points changes no bit unless the point splits a fused op") {
  for (const GptConfig& config : configs_of_all_kinds()) {
    const Gpt gpt(config, 3);
    randomize(gpt, 5);
    const Tensor plain = gpt.logits(small_batch());
    Watcher everything;
    CHECK(largest_difference(gpt.logits(small_batch(), {.hook = &everything}), plain) < 1e-5);
    std::vector<Point> same_bits_points = all_points();
    for (const Point point :
         {Point::attn_scores, Point::pattern, Point::result, Point::mlp_pre, Point::mlp_post,
          Point::ln1_scale, Point::ln1_normalized, Point::ln1, Point::ln2_scale,
          Point::ln2_normalized, Point::ln2, Point::ln_final_scale, Point::ln_final_normalized}) {
      std::erase(same_bits_points, point);  // these points split a fused op
    }
    Watcher watcher(same_bits_points);
    CHECK(same_bits(gpt.logits(small_batch(), {.hook = &watcher}), plain));
  }
}

TEST_CASE("a recorder gets the attention patterns of text that continues a cache") {
  const Gpt gpt(small_config(), 3);
  randomize(gpt, 5);
  Recorder whole;
  gpt.hidden(make_batch({{1, 2, 3, 4, 5}}), {.recorder = &whole});
  KeyValueCache cache = gpt.make_cache();
  KeyValueCache* const caches[] = {&cache};
  gpt.hidden(make_batch({{1, 2, 3}}), {.caches = caches});
  Recorder rest;
  gpt.hidden(continue_sequences({{4, 5}}, {3}), {.recorder = &rest, .caches = caches});
  for (const Index layer : {0, 2}) {
    const Tensor expected = slice(whole.sequences(layer)[0], 1, 3, 5);  // [H, 2, 5]
    CHECK(largest_difference(rest.sequences(layer)[0], expected) < 1e-6);
  }
}

TEST_CASE("an exception of a hook during a step reaches the caller and the cache stays unchanged") {
  const ThreadScope scope(2);
  const Gpt gpt(small_config(), 3);
  Decoder decoder(gpt);
  KeyValueCache cache = gpt.make_cache();
  decoder.read({1, 2, 3}, cache);
  HookAt hook(Point::mlp_pre, 1, [](const Tensor&) -> Tensor { throw Error("no further"); });
  const DecodeItem item{4, &cache};
  CHECK_THROWS_WITH(decoder.step({&item, 1}, &hook), "no further");
  CHECK(cache.length() == 3);
  HookAt narrow = cut();
  const std::span<const DecodeItem> items(&item, 1);
  check_error([&] { decoder.step(items, &narrow); },
              {"ForwardHook", "blocks.0.attn.hook_z", "[1, 2, 3]"});
  CHECK_NOTHROW(decoder.step({&item, 1}));
}

TEST_CASE("other computations between the layers of a pass do not change its result") {
  Gpt gpt(small_config(), 3);
  const NoGrad no_grad;
  randomize(gpt, 5);
  const Batch batch = small_batch();
  const auto gates = std::shared_ptr<HookAt>(new HookAt(gates_of(1, floats({0.5F, 2}, {2}))));
  gpt.attach(gates);
  const std::vector<double> alone = gpt.logits(batch).to_vector();
  gpt.attach(nullptr);
  const std::vector<double> other = gpt.logits(batch).to_vector();
  CHECK(other != alone);
  std::vector<Index> rows;
  std::function<void(Index)> yield_to_urgent = [&](Index count) {
    rows.push_back(count);
    gpt.attach(nullptr);
    gpt.call_after_layers(nullptr);
    CHECK(gpt.logits(batch).to_vector() == other);
    gpt.attach(gates);
    gpt.call_after_layers(yield_to_urgent);
  };
  gpt.attach(gates);
  gpt.call_after_layers(yield_to_urgent);
  CHECK(gpt.logits(batch).to_vector() == alone);
  CHECK(rows == std::vector<Index>{8, 8, 8});
}
