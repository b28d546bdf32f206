#include "datasets/fingerprint.h"
#include "formats/gguf/gguf_config.h"
#include "formats/huggingface/model_weights.h"
#include "formats/huggingface/weight_files.h"
#include "headlight/formats/gguf/gguf.h"
#include "nn/packed/packed_weight.h"
#include "support/bytes/gguf_bytes.h"
#include "support/test.h"
#include "tensor/float16.h"

// Models whose matrices stay as a GGUF file stores them.

// A block of a type, and where its float16 numbers are.
struct BlockShape {
  GgufType type;
  std::uint64_t elements;
  std::size_t bytes;
  std::vector<std::pair<std::size_t, float>> halves;  // offset, value
};

const std::vector<BlockShape>& block_shapes() {
  static const std::vector<BlockShape> shapes{
      {GgufType::q8_0, 32, 34, {{0, 0.001F}}},
      {GgufType::q4_0, 32, 18, {{0, 0.02F}}},
      {GgufType::q4_1, 32, 20, {{0, 0.02F}, {2, -0.15F}}},
      {GgufType::q5_0, 32, 22, {{0, 0.01F}}},
      {GgufType::q5_1, 32, 24, {{0, 0.01F}, {2, -0.15F}}},
      {GgufType::iq4_nl, 32, 18, {{0, 0.001F}}},
      {GgufType::q2_k, 256, 84, {{80, 0.007F}, {82, 0.01F}}},
      {GgufType::q3_k, 256, 110, {{108, 0.002F}}},
      {GgufType::q4_k, 256, 144, {{0, 0.0004F}, {2, 0.003F}}},
      {GgufType::q5_k, 256, 176, {{0, 0.0002F}, {2, 0.003F}}},
      {GgufType::q6_k, 256, 210, {{208, 0.00004F}}},
      {GgufType::iq4_xs, 256, 136, {{0, 0.00004F}}}};
  return shapes;
}

// Heads of attention; all together have width 256.
struct HeadShape {
  std::uint32_t count = 4;
  std::uint32_t key_heads = 2;
  std::uint32_t width = 64;
};

// A file of Llama's architecture with random blocks.
class LlamaFile {
 public:
  // Adds a matrix [rows, columns], or a vector of ones for rows = 0.
  void add(const std::string& name, std::uint64_t columns, std::uint64_t rows,
           const BlockShape& shape = block_shapes()[0]) {
    if (rows == 0) {
      table_ += gguf_tensor(name + ".weight", {columns}, 0, elements_.size());
      for (std::uint64_t i = 0; i < columns; ++i) {
        elements_ += gguf_number(1.0F);
      }
    } else {
      table_ += gguf_tensor(name + ".weight", {columns, rows},
                            static_cast<std::uint32_t>(shape.type), elements_.size());
      for (std::uint64_t i = 0; i < columns / shape.elements * rows; ++i) {
        elements_ += random_block(shape);
      }
    }
    elements_.append((32 - elements_.size() % 32) % 32, '\0');
    ++count_;
  }

  std::string bytes(const HeadShape& heads) const {
    const auto number = [](const std::string& key, std::uint32_t value) {
      return gguf_entry("llama." + key, 4, gguf_number(value));
    };
    const std::string header =
        gguf_start(count_, 9) + gguf_entry("general.architecture", 8, gguf_text("llama")) +
        number("context_length", 64) + number("embedding_length", 256) + number("block_count", 2) +
        number("feed_forward_length", 512) + number("attention.head_count", heads.count) +
        number("attention.head_count_kv", heads.key_heads) +
        number("attention.key_length", heads.width) +
        gguf_entry("llama.attention.layer_norm_rms_epsilon", 6, gguf_number(1e-5F)) + table_;
    return gguf_file(header, 0) + elements_;
  }

 private:
  std::string random_block(const BlockShape& shape) {
    std::string block;
    for (std::size_t i = 0; i < shape.bytes; ++i) {
      block += static_cast<char>(random_() & 0xFF);
    }
    for (const auto& [offset, value] : shape.halves) {
      block.replace(offset, 2, gguf_number(float_to_half(value)));
    }
    return block;
  }

  std::mt19937 random_{1};
  std::uint64_t count_ = 0;
  std::string table_;
  std::string elements_;
};

// Writes a model whose matrices have the given types in turn.
fs::path write_llama(const TemporaryFolder& folder, const std::vector<BlockShape>& types,
                     const HeadShape& heads = {}) {
  const std::uint64_t key_rows = heads.key_heads * heads.width;
  LlamaFile file;
  std::size_t number = 0;
  const auto matrix = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows) {
    file.add(name, columns, rows, types[number++ % types.size()]);
  };
  matrix("token_embd", 256, 70);
  file.add("output_norm", 256, 0);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    file.add(layer + "attn_norm", 256, 0);
    file.add(layer + "ffn_norm", 256, 0);
    matrix(layer + "attn_q", 256, 256);
    matrix(layer + "attn_k", 256, key_rows);
    matrix(layer + "attn_v", 256, key_rows);
    matrix(layer + "attn_output", 256, 256);
    matrix(layer + "ffn_gate", 256, 512);
    matrix(layer + "ffn_up", 256, 512);
    matrix(layer + "ffn_down", 512, 256);
  }
  write_bytes(folder / "model.gguf", file.bytes(heads));
  return folder / "model.gguf";
}

Index likeliest(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

double difference(std::span<const float> a, std::span<const float> b) {
  double furthest = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    furthest = std::max(furthest, std::abs(double{a[i]} - double{b[i]}));
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return furthest / largest;
}

const Ids kPrompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

// Checks that two models continue the prompt with equal tokens and close logits.
void check_same_texts(const Gpt& stored, const Gpt& expanded, double limit) {
  Decoder one(stored);
  Decoder other(expanded);
  KeyValueCache cache = one.make_cache();
  KeyValueCache other_cache = other.make_cache();
  one.read(kPrompt, cache);
  other.read(kPrompt, other_cache);
  for (int i = 0; i < 20; ++i) {
    CHECK(difference(one.logits(0), other.logits(0)) < limit);
    const auto token = static_cast<std::int32_t>(likeliest(other.logits(0)));
    REQUIRE(likeliest(one.logits(0)) == token);
    const DecodeItem item{token, &cache};
    const DecodeItem other_item{token, &other_cache};
    one.step({&item, 1});
    other.step({&other_item, 1});
  }
}

TEST_CASE("a model as it is stored gives the texts of the expanded model for every type") {
  std::vector<std::vector<BlockShape>> types{block_shapes()};  // all types in one file
  for (const BlockShape& shape : block_shapes()) {
    types.push_back({shape});
  }
  for (const std::vector<BlockShape>& of_file : types) {
    INFO(of_file.size() << " types, " << name_of(of_file[0].type));
    const TemporaryFolder folder;
    const fs::path path = write_llama(folder, of_file);
    const std::unique_ptr<Gpt> expanded = load_weights(path);
    const std::unique_ptr<Gpt> stored = load_weights(path, {.matrices = MatrixForm::stored});
    CHECK(stored->stored_head() != nullptr);
    CHECK(same_bits(stored->head_weight(), expanded->head_weight()));
    CHECK(same_bits(stored->weight(Part::query_key_value, 1),
                    expanded->weight(Part::query_key_value, 1)));
    check_same_texts(*stored, *expanded, 2e-3);
  }
}

// Returns the loss of a model with an adapter on a batch, and the gradients of the adapter.
NamedTensors loss_and_gradients(const fs::path& path, const LoadOptions& options) {
  const std::unique_ptr<Gpt> model = load_weights(path, options);
  std::vector<LoraModule> modules;
  for (const std::string layer : {"h.0.", "h.1."}) {
    modules.push_back({layer + "attn.c_attn", "v", 384, 128});
    modules.push_back({layer + "attn.c_proj", "o", 0, 256});
    modules.push_back({layer + "mlp.c_proj", "down", 0, 256});
  }
  add_lora(*model, modules, {.rank = 2}, {7, 0});
  NamedTensors trained = model->trainable_parameters();
  draw_uniform(trained, 9, -0.1, 0.1);
  const Tensor loss = model->loss(make_batch({kPrompt}));
  backward(loss);
  NamedTensors result{{"loss", loss.detach()}};
  for (const auto& [name, parameter] : trained) {
    result.emplace_back(name, parameter.grad());
  }
  return result;
}

TEST_CASE("an adapter over stored blocks has the loss and gradients of expanded weights") {
  const TemporaryFolder folder;
  const fs::path path = write_llama(folder, block_shapes());
  const LoadOptions as_stored{.matrices = MatrixForm::stored, .layers_only = true};
  CHECK(load_weights(path, as_stored)->stored_head() == nullptr);
  const NamedTensors weights = load_weights(path, as_stored)->parameters();
  CHECK_FALSE(std::ranges::all_of(weights, [](auto& item) { return item.second.has_elements(); }));
  const NamedTensors expanded = loss_and_gradients(path, {});
  const NamedTensors stored = loss_and_gradients(path, as_stored);
  const auto with_threads = [&](int count) {
    const ThreadScope scope(count);
    return loss_and_gradients(path, as_stored);
  };
  const NamedTensors one_thread = with_threads(1);
  const NamedTensors three_threads = with_threads(3);
  REQUIRE(stored.size() == 13);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    INFO(stored[i].first);
    check_close(stored[i].second, expanded[i].second, 1e-5);
    CHECK(same_bits(one_thread[i].second, three_threads[i].second));
  }
}

TEST_CASE("a model of stored blocks has the fingerprint of its expanded weights") {
  const TemporaryFolder folder;
  const fs::path path = write_llama(folder, block_shapes());
  const std::unique_ptr<Gpt> expanded = load_weights(path);
  CHECK(fingerprint(*expanded) == fingerprint(expanded->parameters()));
  CHECK(fingerprint(*load_weights(path, {.matrices = MatrixForm::stored})) ==
        fingerprint(*expanded));
  CHECK(stored_weight_bytes(path, true).value() <
        0.5 * 4 * static_cast<double>(expanded->parameter_count()));
}

TEST_CASE("the memory of a stored model is counted as it is allocated") {
  const auto bytes_of = [](const Gpt& model) {
    double bytes = 0;
    for (const auto& [weight, tensor] : model.weights()) {
      const PackedMatrix* panels = packed_matrix(model, weight);
      bytes += static_cast<double>(panels != nullptr ? panels->bytes() : 4 * tensor.numel());
    }
    return bytes;
  };
  const auto counted = [](const fs::path& path) {
    const GgufFile file(path);
    const auto [architecture, config] = read_gguf_model(file);
    return ModelWeights(gguf_weights(file), architecture->layout).stored_bytes(config, false);
  };
  const TemporaryFolder folder;
  const fs::path path = write_llama(folder, block_shapes());
  CHECK(counted(path) == bytes_of(*load_weights(path, {.matrices = MatrixForm::stored})));

  // Eight rows of keys and eight of values share a panel, but not their type: they become float32.
  const TemporaryFolder narrow;
  const fs::path mixed = write_llama(narrow, block_shapes(), {32, 1, 8});
  const std::unique_ptr<Gpt> model = load_weights(mixed, {.matrices = MatrixForm::stored});
  CHECK(counted(mixed) == bytes_of(*model));
}

TEST_CASE("other forms of matrices round as round_weights does") {
  const TemporaryFolder folder;
  const fs::path path = write_llama(folder, {block_shapes()[0]});
  for (const MatrixForm form : {MatrixForm::bfloat16, MatrixForm::int8}) {
    const std::unique_ptr<Gpt> rounded = load_weights(path);
    round_weights(*rounded, format_of(form));
    const std::unique_ptr<Gpt> packed = load_weights(path, {.matrices = form});
    CHECK(packed->stored_head() != nullptr);
    CHECK(same_bits(packed->head_weight(), rounded->head_weight()));
    check_same_texts(*packed, *rounded, 2e-3);
  }
  CHECK(load_weights(path, {.matrices = MatrixForm::float32})->stored_head() == nullptr);
}

TEST_CASE("a stored scale that is not finite is refused as in an expanded model") {
  for (BlockShape shape : block_shapes()) {
    INFO(name_of(shape.type));
    shape.halves.back().second = INFINITY;
    const TemporaryFolder folder;
    const fs::path path = write_llama(folder, {shape});
    const std::string error = error_of([&] { load_weights(path); });
    CHECK(error == error_of([&] { load_weights(path, {.matrices = MatrixForm::stored}); }));
    CHECK(contains(error, "contains values that are not finite"));
  }
}
