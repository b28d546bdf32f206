#include "headlight/interpret/interventions/interventions.h"
#include "support/hooks.h"
#include "support/rows.h"
#include "support/test.h"

namespace interventions_test {
GptConfig small_config() {
  return {.vocab_size = 13, .block_size = 9, .n_layer = 3, .n_head = 2, .n_embd = 6};
}

struct Fixture {
  explicit Fixture(const GptConfig& config = small_config()) : gpt(config, 3, DType::float64) {
    randomize(gpt, 5);
  }
  std::shared_ptr<Interventions> hook(const std::string& text) const {
    return std::make_shared<Interventions>(gpt, parse_changes(text),
                                           Interventions::Options{&tokenizer, scores});
  }
  Tensor logits(const std::string& text) const {
    const auto changes = hook(text);
    return gpt.logits(batch, {.hook = changes.get()});
  }
  std::string refusal(const std::string& text) const {
    return error_of([&] { hook(text); });
  }

  Gpt gpt;
  CharTokenizer tokenizer = build_char_tokenizer("abcdefghij");
  std::map<HeadId, HeadScore> scores;
  Batch batch = make_batch({{1, 2, 3, 4, 5}, {6, 7, 8}});
};

Tensor with(const Fixture& fixture, Point point, Index layer, const HookAt::Change& change) {
  HookAt hook(point, layer, change);
  return fixture.gpt.logits(fixture.batch, {.hook = &hook});
}

Tensor seen_at(const Gpt& gpt, const Ids& tokens, Point point, Index layer) {
  Tensor seen;
  HookAt hook(point, layer, [&](const Tensor& value) {
    seen = to_contiguous(value.detach()).clone();
    return value;
  });
  gpt.logits(make_batch({tokens}), {.hook = &hook});
  return seen;
}

TEST_CASE("a target that is named twice is changed once") {
  const std::vector<Change> changes = parse_changes("scale 1.0,1.0,layer.1,layer.1,attn.1 2");
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].targets.size() == 3);
  CHECK(parse_changes("off induction,induction")[0].classes.size() == 1);
}

std::string text_of(const NumberRange& range) {
  return concat_text(range.first, "-") + (range.last ? std::to_string(*range.last) : "");
}

// Shows a change with all that was read.
std::string text_of(const Change& change) {
  std::string text(name_of(change.kind));
  for (const PointRange& target : change.targets) {
    text += concat_text(" ", name_of(target.point), " ", text_of(target.layers));
    text += target.items ? " item " + text_of(*target.items) : "";
  }
  for (const std::string& name : change.classes) {
    text += " class " + name;
  }
  text += change.factor == 1 ? "" : concat_text(" times ", change.factor);
  const ChangeSource& source = change.source;
  text += source.file.empty() ? "" : " file " + source.file.string() + " " + source.array;
  text += source.text.empty() ? "" : " text [" + source.text + "]";
  text += source.less.empty() ? "" : " less [" + source.less + "]";
  text += source.token ? concat_text(" token ", *source.token) : "";
  return text + (change.positions == NumberRange{} ? "" : " at " + text_of(change.positions));
}

TEST_CASE("changes are parsed as users write them, or refused in one line") {
  check_rows("interpret/changes.txt", [](const Row& row) {
    std::string text;
    const std::string error = error_of([&] {
      for (const Change& change : parse_changes(row.given)) {
        text += (text.empty() ? "" : "; ") + text_of(change);
      }
    });
    CHECK((error == "no error" || error.starts_with("intervene: ")));
    return error == "no error" ? text : error.substr(std::string("intervene: ").size());
  });
}

TEST_CASE("changes read from a TOML file equal those parsed from its texts") {
  const TemporaryFolder folder;
  const std::string file = folder.at("changes.toml");
  std::ofstream(file) << "intervene = [\"off 1.0\", \"scale mlp.1 2; off 2.1 @3\"]\n";
  const std::vector<Change> changes = read_changes(file);
  REQUIRE(changes.size() == 3);
  CHECK(changes[2].positions == NumberRange{3, 3});
  std::ofstream(file) << "changes = \"off 1.0\"\n";
  CHECK(error_of([&] { read_changes(file); }).ends_with("alone, got changes"));
}

TEST_CASE("each kind of change has the documented effect") {
  const Fixture f;
  const Tensor plain = f.gpt.logits(f.batch);
  const auto close = [](const Tensor& a, const Tensor& b) {
    return largest_difference(a, b) < 1e-12;
  };
  SECTION("off for a head, a neuron and whole points") {
    const auto zeros = [](auto& x) { return x * 0.0; };
    const Tensor gate = doubles({1, 0}, {1, 2, 1});
    CHECK(close(f.logits("off 1.1"), with(f, Point::z, 1, [&](auto& z) { return mul(z, gate); })));
    CHECK(close(f.logits("off mlp.1"), with(f, Point::mlp_out, 1, zeros)));
    CHECK(close(f.logits("off attn.2"), with(f, Point::attn_out, 2, zeros)));
    CHECK(close(f.logits("off embed"), with(f, Point::embed, 0, zeros)));
    CHECK(close(f.logits("off ln_final"), with(f, Point::ln_final, 0, zeros)));
    Tensor neurons = Tensor::ones({24}, DType::float64);
    neurons.strided_view({3}, {1}, 4).fill(0);
    CHECK(close(f.logits("off neuron.1.4-6"),
                with(f, Point::mlp_post, 1, [&](auto& x) { return mul(x, neurons); })));
  }
  SECTION("scale, at some positions of each sequence") {
    const Tensor factors = doubles({1, 1, 3, 3, 1, 1, 1, 3}, {8, 1});
    CHECK(close(f.logits("scale attn.2 3 @2-3"),
                with(f, Point::attn_out, 2, [&](auto& x) { return mul(x, factors); })));
  }
  SECTION("scores of one head that are scaled stay hidden") {
    const Tensor changed = f.logits("scale attn_scores.0.1 2");
    CHECK(largest_difference(changed, plain) > 1e-6);
    CHECK(close(slice(changed, 0, 0, 1), slice(plain, 0, 0, 1)));  // one key: a weight of 1
  }
  SECTION("add a vector from a file, for a row, for an item of several") {
    const TemporaryFolder folder;
    const std::string file = folder.at("v.npz");
    const Tensor row = doubles({1, 2, 3, 4, 5, 6}, {6});
    write_npz(file,
              {{"row", row}, {"head", doubles({7, 8, 9}, {3})}, {"odd", doubles({1, 2}, {2})}});
    CHECK(close(f.logits("add resid_post.0 " + file + ":row*-0.5"),
                with(f, Point::resid_post, 0, [&](auto& x) { return x + row * -0.5; })));
    const Tensor head = doubles({0, 0, 0, 7, 8, 9}, {1, 2, 3});
    CHECK(close(f.logits("add 1.1 " + file + ":head"),
                with(f, Point::z, 1, [&](auto& z) { return z + head; })));
    CHECK(mentions(f.refusal("add 1.1 " + file + ":odd"),
                   {"v.npz:odd: expected 3 numbers for blocks.1.attn.hook_z, got 2"}));
    CHECK(mentions(f.refusal("add 1.1 " + file + ":none"),
                   {"expected an array none, got row, head"}));
  }
  SECTION("add the difference of two texts at their ends") {
    const Tensor love = seen_at(f.gpt, f.tokenizer.encode_prompt("abc"), Point::resid_mid, 1);
    const Tensor hate = seen_at(f.gpt, f.tokenizer.encode_prompt("de"), Point::resid_mid, 1);
    const Tensor steering = slice(love, 0, 2, 3) - slice(hate, 0, 1, 2);
    CHECK(close(f.logits("add resid_mid.1 \"abc\" - \"de\"*2"),
                with(f, Point::resid_mid, 1, [&](auto& x) { return x + steering * 2; })));
  }
  SECTION("mean over a text of several blocks") {
    const std::string text = "abcdefghijabc";
    const Ids ids = f.tokenizer.encode_prompt(text);
    const Tensor first = seen_at(f.gpt, {ids.begin(), ids.begin() + 9}, Point::z, 2);
    const Tensor second = seen_at(f.gpt, {ids.begin() + 9, ids.end()}, Point::z, 2);
    const Tensor mean_of = mean(concat({first, second}, 0), {.axes = {0}, .keepdim = true});
    const Tensor kept = doubles({0, 1}, {1, 2, 1});
    CHECK(close(f.logits("mean 2.0 from \"" + text + "\""), with(f, Point::z, 2, [&](auto& z) {
                  return mul(z, kept) + mul(expand(mean_of, z.shape()), doubles({1, 0}, {1, 2, 1}));
                })));
  }
  SECTION("freeze keeps another text's values, resample wraps around") {
    const Tensor held = seen_at(f.gpt, f.tokenizer.encode_prompt("abc"), Point::mlp_out, 0);
    const auto row = [&](Index n) { return slice(held, 0, n, n + 1); };
    CHECK(close(
        f.logits("freeze mlp.0 from \"abc\""), with(f, Point::mlp_out, 0, [&](auto& x) {
          return concat({row(0), row(1), row(2), slice(x, 0, 3, 5), row(0), row(1), row(2)}, 0);
        })));
    CHECK(
        close(f.logits("resample mlp.0 from \"abc\""), with(f, Point::mlp_out, 0, [&](auto&) {
                return concat({row(0), row(1), row(2), row(0), row(1), row(0), row(1), row(2)}, 0);
              })));
    CHECK(mentions(f.refusal("freeze mlp.0 from \"abcdefghij\""), {"at most 9 tokens, got 10"}));
    CHECK(close(f.logits("freeze mlp.0 from \"abc\" at 2 @1"),
                with(f, Point::mlp_out, 0, [&](auto& x) {
                  return concat(
                      {slice(x, 0, 0, 1), row(2), slice(x, 0, 2, 6), row(2), slice(x, 0, 7, 8)}, 0);
                })));
    CHECK(mentions(f.refusal("freeze mlp.0 from \"abc\" at 3"), {"0 to 2, got 3"}));
    CHECK(mentions(f.refusal("freeze pattern.0.1 from \"abc\" at 1"),
                   {"for pattern: its values at one token cannot be used at another"}));
  }
  SECTION("several changes at one point come one after the other") {
    CHECK(close(f.logits("scale mlp.1 3; scale mlp.1 0.5; off 1.0"),
                f.logits("off 1.0; scale mlp.1 1.5")));
  }
}

TEST_CASE("classes of heads are targets where scores are given") {
  Fixture f;
  CHECK(mentions(f.refusal("off induction"), {"class of heads with --scores, got induction"}));
  f.scores[{0, 1}] = {.name = "previous token", .score = 0.9};
  f.scores[{2, 0}] = {.name = "previous token", .score = 0.8};
  f.scores[{1, 0}] = {.name = "previous token", .score = 0.7, .significant = false};
  CHECK(same_bits(f.logits("off previous_token"), f.logits("off 0.1, 2.0")));
  CHECK(mentions(f.refusal("off induction"), {"class of heads, got induction"}));
}

TEST_CASE("targets that a model does not have are refused") {
  GptConfig config = small_config();
  config.mlp = false;
  const Fixture f(config);
  CHECK(f.refusal("off 3.0") == "intervene: the model has layers 0 to 2, got 3.0");
  CHECK(f.refusal("off 2.2") == "intervene: blocks.2.attn.hook_z: expected 0 to 1, got 2");
  CHECK(f.refusal("off 2.1-2") == "intervene: blocks.2.attn.hook_z: expected 0 to 1, got 2");
  CHECK(f.refusal("off resid_pre.0.6") ==
        "intervene: blocks.0.hook_resid_pre: expected 0 to 5, got 6");
  CHECK(f.refusal("off mlp.1") == "intervene: this model does not compute mlp_out");
  CHECK(f.refusal("off rot_q") == "intervene: this model does not compute rot_q");
  CHECK(f.refusal("off logits").starts_with("intervene: logits cannot be changed"));
  CHECK(f.refusal("mean pattern.1 from \"abc\"") ==
        "intervene: expected off, scale or freeze for pattern, got mean");
}

TEST_CASE("changes have the same effect in a forward pass and with a cache and step by step") {
  GptConfig config = small_config();
  config.position = PositionKind::rope;
  config.head_width = 4;
  config.n_kv_head = 1;
  Gpt gpt(config, 3);
  randomize(gpt, 5);
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefghij");
  const Ids tokens{1, 5, 3, 8, 2, 12, 7};
  const Tensor plain = gpt.logits(make_batch({tokens}));
  for (const char* text :
       {"off 1.0 @2-", "scale rot_k.1 0.5 @3-5", "freeze pattern.1.1 from \"abcdefg\"",
        "resample resid_mid.1 from \"abc\" @1-",
        "add resid_post.0 \"abc\" - \"de\"; off neuron.2 @6", "off attn_scores.2 @4-",
        "mean ln_final from \"ab\" @6", "scale embed.0-2 3; off ln2.1.1"}) {
    INFO(text);
    gpt.attach(nullptr);
    gpt.attach(std::make_shared<Interventions>(gpt, parse_changes(text),
                                               Interventions::Options{&tokenizer, {}}));
    const Tensor expected = gpt.logits(make_batch({tokens}));
    CHECK(largest_difference(expected, plain) > 1e-4);
    Decoder decoder(gpt);
    KeyValueCache cache = gpt.make_cache();
    const auto check = [&](Index t) {
      const Tensor logits = Tensor::from(decoder.logits(0), {1, 13});
      CHECK(largest_difference(logits, slice(expected, 0, t, t + 1)) < 1e-5);
    };
    decoder.read({1, 5, 3}, cache);
    check(2);
    decoder.read({8, 2}, cache);
    check(4);
    for (const Index t : {5, 6}) {
      const DecodeItem item{tokens[static_cast<std::size_t>(t)], &cache};
      decoder.step({&item, 1});
      check(t);
    }
  }
}

TEST_CASE("gradients flow through scaled values and stop at replaced values") {
  const Fixture f;
  const auto gradient_with = [&](const std::string& text) {
    const auto hook = f.hook(text);
    for (auto& [name, parameter] : f.gpt.parameters()) {
      parameter.zero_grad();
    }
    backward(f.gpt.loss(f.batch, {.hook = hook.get()}));
    return parameter_of(f.gpt, "h.1.mlp.c_proj.bias").grad().to_vector();
  };
  const auto zeros = std::vector<double>(6, 0.0);
  CHECK(gradient_with("off mlp.1") == zeros);
  CHECK(gradient_with("scale mlp.1 2") != zeros);
}

TEST_CASE("changes need the tokens of the pass") {
  const Gpt gpt(GptConfig{.vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4},
                1);
  Interventions hook(gpt, parse_changes("off mlp.0"), {});
  const Tensor value = Tensor::ones({2, 4});
  check_error([&] { hook.visit({.point = Point::mlp_out, .layer = 0}, value); },
              {"expected begin() with the 2 tokens"});
  hook.begin(make_batch({{1, 2}}));
  CHECK(hook.visit({.point = Point::mlp_out, .layer = 0}, value).to_vector() ==
        std::vector<double>(8, 0));
}
}  // namespace interventions_test
