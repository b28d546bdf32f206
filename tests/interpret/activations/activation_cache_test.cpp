#include "headlight/interpret/activations/activation_cache.h"
#include "datasets/file_size_limit.h"
#include "headlight/interpret/activations/activation_files.h"
#include "headlight/interpret/prune.h"
#include "support/models/own_model.h"
#include "support/test.h"

namespace activation_cache_test {
constexpr Index kBlock = 12;

const Gpt& model() {
  static const auto instance = lively_model(257, kBlock, 3);
  return *instance;
}

// Two documents of a few bytes and one that is longer than two contexts.
const TokenDataset& dataset() {
  static const TokenDataset instance = document_dataset(
      {byte_ids("one"), byte_ids("another"), byte_ids("a document of some length")}, 256);
  return instance;
}

std::vector<PointRange> points(const std::vector<std::string>& names) {
  return mapped<PointRange>(names,
                            [&](const std::string& name) { return parse_point("names", name); });
}

// Keeps the values of all points of the layers by name; map names include the sequence index.
class Seen final : public ForwardHook {
 public:
  bool wants(Point, Index) const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    const bool is_map = items_of(site.point) == PointItems::maps;
    values[point_name(site.point, site.layer) +
           (is_map ? "/" + std::to_string(site.sequence) : "")] = value.clone();
    return value;
  }

  std::map<std::string, Tensor> values;
};

std::map<std::string, Tensor> seen(const std::vector<Ids>& sequences) {
  const NoGrad no_grad;
  Seen hook;
  model().logits(make_batch(sequences), {.hook = &hook});
  return hook.values;
}

std::map<std::string, Tensor> by_name(const NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

std::vector<Ids> inputs_of(const ActivationContexts& contexts) {
  return counted<Ids>(contexts.count(), [&](Index i) { return contexts.context(i).tokens; });
}

void check_close(const Tensor& actual, const Tensor& expected) {
  test::check_close(actual, expected, 1e-4);
}

std::string refusal(const std::vector<std::string>& names, const TokenPositions& positions = {}) {
  const ActivationContexts contexts(dataset(), kBlock);
  return error_of([&] {
    cache_activations(model(), contexts, {.points = points(names), .positions = positions});
  });
}

TEST_CASE("contexts made from ids equal those made from their text") {
  const std::vector<Ids> ids{{'a', 'b'}, {256}};
  const ActivationContexts contexts(ids, 2);
  CHECK(contexts.count() == 2);
  CHECK(contexts.context(0).tokens ==
        ActivationContexts(ByteTokenizer(), {std::string("ab")}, 2).context(0).tokens);
  CHECK(contexts.context(1).tokens == ids[1]);
  check_error([&] { ActivationContexts(ids, 1); }, {"document 1 has 2 tokens"});
}

TEST_CASE("a cache holds what a hook sees at every point") {
  const ActivationContexts contexts(ByteTokenizer(), {"abcdef", "a cat", "x"}, kBlock);
  std::vector<PointRange> every;
  for (const Choice<Point>& choice : kChoices<Point>) {
    if (choice.value != Point::rot_q && choice.value != Point::rot_k) {
      every.push_back({choice.value});
    }
  }
  const auto expected = seen(inputs_of(contexts));
  const NamedTensors cached =
      cache_activations(model(), contexts, {.points = every, .batch_size = 3});
  std::size_t found = 0;
  for (const auto& [name, tensor] : cached) {
    if (const auto value = expected.find(name); value != expected.end()) {
      INFO(name);
      check_close(tensor, value->second);
      ++found;
    }
  }
  CHECK(found == expected.size());
  CHECK(cached.size() == expected.size() + 5);
  CHECK(cached.front().first == "hook_embed");
}

TEST_CASE("every row of a cache has its token and its position in the data") {
  const ActivationContexts contexts(dataset(), kBlock);
  REQUIRE(contexts.count() == 5);
  const auto cached =
      by_name(cache_activations(model(), contexts, {.points = points({"embed"}), .batch_size = 2}));
  const Tensor& tokens = cached.at("tokens");
  REQUIRE(tokens.size(0) == 4 + 8 + 26);
  CHECK(cached.at("offsets").to_vector() == std::vector<double>{0, 4, 12, 24, 36, 38});
  for (Index row = 0; row < tokens.size(0); ++row) {
    const auto at = [&](const char* name) {
      return static_cast<Index>(cached.at(name).data<std::int32_t>()[row]);
    };
    const TokenSequence& document = dataset().sequences[static_cast<std::size_t>(at("documents"))];
    CHECK(document.tokens(at("document_positions"), 1)[0] == at("tokens"));
    CHECK(at("positions") == at("document_positions") % kBlock);
  }
}

TEST_CASE("positions choose rows, of maps queries") {
  const ActivationContexts contexts(ByteTokenizer(), {"abcdef", "xy"}, kBlock);
  const auto whole = seen(inputs_of(contexts));
  const auto cached = [&](const std::string& positions) {
    return by_name(cache_activations(model(), contexts,
                                     {.points = points({"resid_post.1", "pattern.0", "logits"}),
                                      .positions = parse_positions("positions", positions),
                                      .batch_size = 1}));
  };
  const auto rows = [&](const Tensor& value, const std::vector<Index>& indices) {
    std::vector<double> result;
    const std::vector<double> all = value.to_vector();
    for (const Index index : indices) {
      const auto first = all.begin() + index * value.size(1);
      result.insert(result.end(), first, first + value.size(1));
    }
    return Tensor::from(std::vector<float>(result.begin(), result.end()),
                        {std::ssize(indices), value.size(1)});
  };
  const auto last = cached("last");
  check_close(last.at("blocks.1.hook_resid_post"),
              rows(whole.at("blocks.1.hook_resid_post"), {5, 7}));
  check_close(last.at("logits"), rows(whole.at("logits"), {5, 7}));
  CHECK(last.at("blocks.0.attn.hook_pattern/0").shape() == Shape{2, 1, 6});
  CHECK(last.at("blocks.0.attn.hook_pattern/1").shape() == Shape{2, 1, 2});
  CHECK(last.at("positions").to_vector() == std::vector<double>{5, 1});
  const auto some = cached("1-3");
  check_close(some.at("logits"), rows(whole.at("logits"), {1, 2, 3, 7}));
  CHECK(some.at("offsets").to_vector() == std::vector<double>{0, 3, 4});
  const Tensor& pattern = some.at("blocks.0.attn.hook_pattern/0");
  REQUIRE(pattern.shape() == Shape{2, 3, 6});
  CHECK(pattern.to_vector()[6] == Approx(whole.at("blocks.0.attn.hook_pattern/0").to_vector()[12]));
  CHECK(cached("4-").at("offsets").to_vector() == std::vector<double>{0, 2, 2});
}

TEST_CASE("chosen heads and neurons appear once each") {
  const ActivationContexts contexts(ByteTokenizer(), {"abcdef"}, kBlock);
  const auto whole = seen(inputs_of(contexts));
  const auto cached =
      by_name(cache_activations(model(), contexts,
                                {.points = points({"z.1.1", "mlp_post.2.3-4", "mlp_post.2.4",
                                                   "v.0.0", "v.0", "pattern.2.1", "1.1"})}));
  CHECK(cached.size() == 4 + 3 + 5);
  CHECK(cached.at("blocks.1.attn.hook_z").shape() == Shape{6, 1, 8});
  CHECK(cached.at("blocks.1.attn.hook_z").to_vector()[0] ==
        Approx(whole.at("blocks.1.attn.hook_z").to_vector()[8]));
  CHECK(cached.at("blocks.1.attn.hook_z/items").to_vector() == std::vector<double>{1});
  CHECK(cached.at("blocks.2.mlp.hook_post/items").to_vector() == std::vector<double>{3, 4});
  CHECK(cached.at("blocks.2.mlp.hook_post").to_vector()[2] ==
        Approx(whole.at("blocks.2.mlp.hook_post").to_vector()[64 + 3]));
  CHECK(cached.at("blocks.0.attn.hook_v").shape() == Shape{6, 2, 8});
  CHECK(cached.at("blocks.2.attn.hook_pattern/0").shape() == Shape{1, 6, 6});
}

TEST_CASE("heads of a pruned model keep their numbers in a cache") {
  const auto pruned = prune_heads(model(), HeadSet{{1, 0}});
  const ActivationContexts contexts(ByteTokenizer(), {"abc"}, kBlock);
  const auto cached =
      by_name(cache_activations(*pruned, contexts, {.points = points({"z.1", "z.0.1"})}));
  CHECK(cached.at("blocks.1.attn.hook_z").shape() == Shape{3, 1, 8});
  CHECK(cached.at("blocks.1.attn.hook_z/items").to_vector() == std::vector<double>{1});
  check_error([&] { cache_activations(*pruned, contexts, {.points = points({"z.1.0"})}); },
              {"got 0"});
}

TEST_CASE("a custom model is cached like a Gpt") {
  const GptConfig shape{
      .vocab_size = 257, .block_size = kBlock, .n_layer = 2, .n_head = 2, .n_embd = 8};
  const OwnModel own(shape, 3);
  const ActivationContexts contexts(ByteTokenizer(), {"abcdef"}, kBlock);
  const ActivationOptions options{.points = points({"z.0", "ln_final", "logits"}),
                                  .positions = {.last = true}};
  const NamedTensors a = cache_activations(own, contexts, options);
  const NamedTensors b = cache_activations(own.inner, contexts, options);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].first == b[i].first);
    check_close(a[i].second, b[i].second);
  }
}

TEST_CASE("points that a model does not compute are omitted from the cache") {
  const ActivationContexts contexts({{1, 2, 3}}, kBlock);
  const ActivationOptions wanted{.points = points({"rot_q", "resid_post.1", "rot_k.0"})};
  const NamedTensors kept = cache_activations(model(), contexts, wanted);
  CHECK(kept.front().first == "blocks.1.hook_resid_post");
  CHECK(kept.size() == 1 + 5);
  const TemporaryFolder folder;
  const ActivationFiles files =
      write_activations(folder.at("acts.npz"), model(), contexts, {.activations = wanted});
  REQUIRE(files.absent.size() == 2);
  CHECK(files.absent[0].point == Point::rot_q);
  CHECK(files.absent[0].layers == 3);
  CHECK(files.absent[1].layers == 1);
  CHECK(files.arrays.front().name == "blocks.1.hook_resid_post");
}

TEST_CASE("invalid cache options are refused in one line") {
  CHECK(contains(refusal({}), "expected a point or more"));
  CHECK(refusal({"resid_post.3"}) == "resid_post: the model has layers 0 to 2, got 3");
  CHECK(refusal({"resid_post.1-3"}) == "resid_post: the model has layers 0 to 2, got 1-3");
  CHECK(refusal({"z.1.2"}) == "blocks.1.attn.hook_z: expected heads 0 to 1, got 2");
  CHECK(refusal({"mlp_post.1.64-"}) ==
        "blocks.1.mlp.hook_post: expected elements 0 to 63, got 64-");
  CHECK(refusal({"rot_q.1"}) == "blocks.1.attn.hook_rot_q: the model does not compute it");
  CHECK(contains(refusal({"embed"}, {.range = {.first = 12}}), "positions: expected positions"));
  const TokenDataset many = document_dataset(std::vector<Ids>(65, byte_ids("ab")), 256);
  const ActivationContexts contexts(many, kBlock);
  check_error([&] { cache_activations(model(), contexts, {.points = points({"pattern.0"})}); },
              {"expected at most 64 sequences, got 65"});
  CHECK(error_of([&] {
          cache_activations(model(), contexts, {.points = points({"embed"}), .batch_size = 0});
        }) == "batch_size: expected at least 1, got 0");
  const ByteTokenizer bytes;
  check_error([&] { ActivationContexts(bytes, {}, 4); }, {"got none"});
  check_error([&] { ActivationContexts(bytes, {"abcde"}, 4); }, {"5 tokens"});
  check_error([&] { ActivationContexts(bytes, {"a", ""}, 4); }, {"document 2 is empty"});
}

TEST_CASE("the files of a cache joined together equal the whole cache") {
  const TemporaryFolder folder;
  const ActivationContexts contexts(dataset(), kBlock);
  const ActivationOptions activations{.points = points({"resid_mid", "z.1.1"}), .batch_size = 2};
  const auto whole = by_name(cache_activations(model(), contexts, activations));
  const ActivationFiles files =
      write_activations(folder / "acts.npz", model(), contexts,
                        {.activations = activations, .shard_rows = 20, .model = "a model"});
  CHECK(folder.names() == std::vector<std::string>{"acts-00000.npz", "acts-00001.npz",
                                                   "acts-00002.npz", "acts.json"});
  CHECK(files.rows == 38);
  std::map<std::string, std::vector<double>> joined;
  for (const auto& file : files.files) {
    const NamedTensors tensors = read_npz(file);
    const double before = static_cast<double>(joined["tokens"].size());
    for (const auto& [name, tensor] : tensors) {
      std::vector<double> values = tensor.to_vector();
      if (name == "offsets") {
        CHECK(values[0] == 0);
        for (double& value : values) {
          value += before;
        }
        if (before > 0) {
          values.erase(values.begin());
        }
      }
      if (name.ends_with("/items")) {
        joined[name].clear();
      }
      joined[name].insert(joined[name].end(), values.begin(), values.end());
    }
  }
  for (const ActivationArrayInfo& array : files.arrays) {
    INFO(array.name);
    CHECK(array.shape == whole.at(array.name).shape());
    CHECK(joined.at(array.name).size() == static_cast<std::size_t>(numel(array.shape)));
    check_close(Tensor::from(joined.at(array.name), array.shape), whole.at(array.name));
  }
  check_parts(file_contents(folder / "acts.json"), {"\"acts-00002.npz\"", "\"a model\""});
}

TEST_CASE("values that a file cannot hold are counted") {
  const TemporaryFolder folder;
  Gpt large(model().config());
  for (auto& [name, parameter] : large.parameters()) {
    parameter.fill(name == "wte.weight" ? 70000 : 0);
  }
  const ActivationContexts contexts(ByteTokenizer(), {"ab", "c"}, 8);
  const auto lost = [&](const Gpt& gpt, StoredFloats type) {
    return write_activations(
               folder / "acts.safetensors", gpt, contexts,
               {.activations = {.points = {parse_point("names", "embed")}}, .type = type})
        .arrays.front()
        .lost;
  };
  const Index all = 3 * large.config().n_embd;
  CHECK(lost(large, StoredFloats::float16).too_large == all);
  CHECK(lost(large, StoredFloats::float32).too_large == 0);
  large.parameters()[0].second.fill(std::numeric_limits<double>::quiet_NaN());
  CHECK(lost(large, StoredFloats::float32).not_numbers == all);
}

TEST_CASE("a new cache replaces all files of an old one with another number of files") {
  const TemporaryFolder folder;
  const ActivationContexts contexts(dataset(), kBlock);
  const auto write = [&](Index rows) {
    write_activations(folder / "acts.safetensors", model(), contexts,
                      {.activations = {.points = points({"embed"})}, .shard_rows = rows});
    return folder.names();
  };
  const std::vector<std::string> one{"acts.safetensors"};
  CHECK(write(0) == one);
  CHECK(write(12).size() == 5);
  CHECK(write(20).size() == 4);
  CHECK(write(0) == one);
  write_bytes(folder / "acts.json", "{}");
  check_error([&] { write(12); }, {"acts.json: exists but does not list"});
  CHECK(file_contents(folder / "acts.json") == "{}");
}

TEST_CASE("a cache written to a file directly has the same bytes as one written from memory") {
  const ActivationContexts contexts(dataset(), kBlock);
  const ActivationOptions activations{.points = points({"resid_post", "z.1.1", "pattern.0"}),
                                      .batch_size = 2};
  const NamedTensors tensors = cache_activations(model(), contexts, activations);
  const TemporaryFolder folder;
  for (const StoredFloats type :
       {StoredFloats::float32, StoredFloats::float16, StoredFloats::bfloat16}) {
    if (type != StoredFloats::bfloat16) {
      write_npz(folder / "expected.npz", tensors, type);
      write_activations(folder / "acts.npz", model(), contexts,
                        {.activations = activations, .type = type});
      CHECK(file_contents(folder / "acts.npz") == file_contents(folder / "expected.npz"));
    }
    write_safetensors(folder / "expected.safetensors", tensors, {{"format", "pt"}}, type);
    write_activations(folder / "acts.safetensors", model(), contexts,
                      {.activations = activations, .type = type});
    CHECK(file_contents(folder / "acts.safetensors") ==
          file_contents(folder / "expected.safetensors"));
  }
  const auto refusal = [&](const char* name, StoredFloats type) {
    return error_of([&] {
      write_activations(folder / name, model(), contexts,
                        {.activations = activations, .type = type});
    });
  };
  CHECK(contains(refusal("acts.npz", StoredFloats::bfloat16), "no bfloat16"));
  CHECK(contains(refusal("acts.bin", StoredFloats::float32), ".npz or .safetensors"));
  CHECK(contains(refusal("no/acts.npz", StoredFloats::float32), "cannot create"));
}

TEST_CASE("a cache whose writing fails leaves no file") {
  const ActivationContexts contexts(dataset(), kBlock);
  const ActivationFileOptions options{.activations = {.points = points({"embed"})},
                                      .shard_rows = 8};
  for (const std::string name : {"acts.npz", "acts.safetensors"}) {
    const TemporaryFolder folder;
    const ActivationFiles files = write_activations(folder / name, model(), contexts, options);
    const auto first = fs::file_size(files.files[0]);
    REQUIRE(fs::file_size(files.files[1]) > first);
    const TemporaryFolder full;
    const FileSizeLimit limit(first);
    check_error([&] { write_activations(full / name, model(), contexts, options); },
                {full.path().string()});
    CHECK(full.names().empty());
  }
}
}  // namespace activation_cache_test
