#include <algorithm>

#include "base/strings/split.h"
#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/report/tensors.h"
#include "course/steps.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kPrintedHeads = 64;

// Words of the user, then pads.
std::vector<std::string> all_tokens(const Options& options) {
  const std::string text = options.text("tokens");
  require_utf8(text, "--tokens");
  std::vector<std::string> tokens = split_at_commas(text);
  require(!tokens.empty(), "--tokens: expected words separated by commas, got none");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    require(!tokens[i].empty(), "--tokens: expected words separated by commas, but word ", i + 1,
            " is empty");
  }
  tokens.resize(
      tokens.size() + static_cast<std::size_t>(count_option(options, "pad", 0, kMostTokens)),
      "<pad>");
  return tokens;
}

// Weights of nn.MultiheadAttention under the names of MultiHeadAttention. Throws Error naming the
// file and the tensor for other names, shapes and values.
class TorchWeights {
 public:
  explicit TorchWeights(const std::string& path) : path_(path) {
    for (auto& [name, tensor] : read_safetensors(path)) {
      given_.emplace_back(name, convert(tensor, DType::float32));
    }
    require_finite(given_, path + ":");
    const Tensor joint = take("in_proj_weight");
    require(joint.rank() == 2 && joint.size(0) == 3 * joint.size(1), path_,
            ": in_proj_weight: expected shape [3 x width, width], got ", joint.shape());
    width_ = joint.size(1);
    add("weight", joint, take("out_proj.weight"), {width_, width_});
    has_bias_ = has("in_proj_bias") || has("out_proj.bias");
    if (has_bias_) {
      add("bias", take("in_proj_bias"), take("out_proj.bias"), {width_});
    }
    require(given_.empty(), path_, ": expected only in_proj_weight, in_proj_bias, out_proj.weight ",
            "and out_proj.bias of nn.MultiheadAttention, got ",
            given_.empty() ? "" : given_.front().first);
  }

  Index width() const { return width_; }
  bool has_bias() const { return has_bias_; }
  void copy_into(const MultiHeadAttention& layer) const {
    copy_tensors(parameters_, layer.parameters(), path_);
  }

 private:
  NamedTensors::const_iterator find(const std::string& name) const {
    return std::find_if(given_.begin(), given_.end(),
                        [&](const auto& one) { return one.first == name; });
  }
  bool has(const std::string& name) const { return find(name) != given_.end(); }

  Tensor take(const std::string& name) {
    const auto found = find(name);
    require(found != given_.end(), path_, ": there is no tensor ", name,
            ", as nn.MultiheadAttention names it");
    const Tensor tensor = found->second;
    given_.erase(found);
    return tensor;
  }

  // Adds the parts of a joint projection and the output projection, whose parts have `shape`.
  void add(const std::string& kind, const Tensor& joint, const Tensor& output, const Shape& shape) {
    std::vector<Index> whole(shape.begin(), shape.end());
    whole[0] *= 3;
    require(joint.shape() == Shape(whole), path_, ": in_proj_", kind, ": expected shape ",
            Shape(whole), ", got ", joint.shape());
    require(output.shape() == shape, path_, ": out_proj.", kind, ": expected shape ", shape,
            ", got ", output.shape());
    const std::vector<Tensor> parts = split(joint, width_, 0);
    parameters_.emplace_back("q_proj." + kind, parts[0]);
    parameters_.emplace_back("k_proj." + kind, parts[1]);
    parameters_.emplace_back("v_proj." + kind, parts[2]);
    parameters_.emplace_back("c_proj." + kind, output);
  }

  std::string path_;
  NamedTensors given_;
  NamedTensors parameters_;
  Index width_ = 0;
  bool has_bias_ = false;
};

// Vectors [1, T, C]: each different word has its own, drawn by its position among the words.
Tensor vectors_of(const std::vector<std::string>& tokens, Index width, const RandomStream& random) {
  return reshape(embed(word_ids(tokens), width, random),
                 {1, static_cast<Index>(tokens.size()), width});
}

// True hides a key; undefined: no mask.
Tensor mask_of(Index tokens, Index pads, bool causal) {
  const Tensor padding = reshape(padding_mask({tokens - pads}, tokens), {1, 1, 1, tokens});
  if (!causal) {
    return pads > 0 ? padding : Tensor();
  }
  return pads > 0 ? combine_masks(causal_mask(tokens), padding) : causal_mask(tokens);
}

// Matrices, biases and their sum as rows {name, size, count}.
Json parameter_rows(const MultiHeadAttention& layer, Report& report) {
  Json rows = Json::array();
  const Index width = layer.inner_width();
  for (const char* name : {"W_q", "W_k", "W_v", "W_o"}) {
    rows.push_back(
        {{"name", name}, {"size", concat_text(width, " x ", width)}, {"count", width * width}});
  }
  const Index biases = layer.parameter_count() - 4 * width * width;
  if (biases > 0) {
    rows.push_back({{"name", report.entry("words", "biases")},
                    {"size", concat_text("4 x ", width)},
                    {"count", biases}});
  }
  rows.push_back({{"name", report.entry("words", "total")},
                  {"size", biases > 0 ? "4 d^2 + 4 d" : "4 d^2"},
                  {"count", layer.parameter_count()}});
  return rows;
}

// True if a difference is small beside the largest element of x.
bool is_small(double difference, const Tensor& x) {
  return difference < 1e-5 * std::max(1.0, largest_size(x));
}

// Shows query, key and value from one matrix, as nn.MultiheadAttention holds them.
void show_joint_projection(const MultiHeadAttention& layer, const Tensor& x,
                           const AttentionSteps& separate, Report& report) {
  std::vector<Tensor> weights;
  std::vector<Tensor> biases;
  for (const auto& [name, tensor] : layer.parameters()) {
    if (!name.starts_with("c_proj")) {
      (name.ends_with("bias") ? biases : weights).push_back(tensor);
    }
  }
  std::vector<Step> steps;
  const auto keep = [&](const char* name, const char* axes, const Tensor& value) {
    steps.push_back({name, axes, value});
    return value;
  };
  const Tensor product = matmul(x, transpose(concat(weights, 0)));
  const Tensor qkv = keep("qkv_proj(x)", "B, L, 3 d_model",
                          biases.empty() ? product : product + concat(biases, 0));
  const Tensor parts =
      keep(".reshape(B, L, 3, heads, d_k)", "B, L, 3, heads, d_k",
           reshape(qkv, {x.size(0), x.size(1), 3, layer.heads(), layer.head_width()}));
  const Tensor transposed =
      keep(".permute(2, 0, 3, 1, 4)", "3, B, heads, L, d_k", permute(parts, {2, 0, 3, 1, 4}));
  report.values()["joint_steps"] = steps_json(steps);
  report.section("joint", {{"steps", shown_steps(steps)}});
  const Tensor expected = stack({separate.query, separate.key, separate.value});
  const double difference = largest_difference(transposed, expected);
  report.claim("one_matrix_is_enough", is_small(difference, expected),
               {{"difference", difference}});
}

void show_weights(const AttentionSteps& steps, const std::vector<std::string>& tokens, bool causal,
                  Report& report) {
  const Index side = steps.weights.size(-1);
  const Tensor heads = reshape(steps.weights, {-1, side, side});
  const Tensor sums = sum(heads, {.axes = {2}});
  std::string printed;
  for (Index h = 0; h < std::min(heads.size(0), kPrintedHeads); ++h) {
    printed +=
        named_tensor_text(concat_text("attn_weights[0, ", h, "]"), select(heads, 0, h)) + "\n";
  }
  report.values().update({{"attn_weights", heads.to_vector()},
                          {"row_sums", sums.to_vector()},
                          {"output", steps.output.to_vector()}});
  report.section("weights",
                 {{"weights", printed},
                  {"sums", named_tensor_text("attn_weights[0].sum(dim=-1)", sums)},
                  {"pictures", head_shades(report.entry("words", "head"), heads, tokens)},
                  {"output", named_tensor_text("output", steps.output)}});
  report.figure("attention.svg", weights_svg(report.entry("titles", causal ? "causal" : "all"),
                                             tokens, heads, report.language()));
  const double deviation = largest_difference(sums, Tensor::ones(sums.shape()));
  report.claim("rows_sum_to_one", deviation < 1e-5, {{"deviation", deviation}});
}

// Largest weight of a hidden key.
double largest_hidden(const Tensor& weights, const Tensor& hidden) {
  const Tensor none = Tensor::zeros({1});
  return max(where(expand(hidden, weights.shape()), weights, none)).item();
}

// Layer with the weights of --weights_file, or random ones.
struct Layer {
  explicit Layer(const Settings& settings, Index tokens) {
    const Options& options = settings.options;
    const std::string path = options.text("weights_file");
    const std::optional<TorchWeights> given =
        path.empty() ? std::nullopt : std::optional<TorchWeights>(path);
    width = given && !options.given("width") ? given->width() : options.integer("width");
    heads = options.integer("heads");
    check_sizes({.source = "--tokens", .tokens = tokens, .width = width, .heads = heads});
    require(!given || width == given->width(), "--width: the weights in ", path, " have width ",
            given ? given->width() : 0, ", got ", width);
    attention = std::make_unique<MultiHeadAttention>(
        MultiHeadAttentionOptions{
            .width = width, .heads = heads, .bias = !given || given->has_bias()},
        RandomStream{settings.seed, 0}.fork(1));
    if (given) {
      given->copy_into(*attention);
    }
  }

  Index width = 0;
  Index heads = 0;
  std::unique_ptr<MultiHeadAttention> attention;
};

Json values_of(const Options& options, const std::vector<std::string>& tokens,
               const MultiHeadAttention& layer, const AttentionSteps& steps) {
  return {
      {"tokens", tokens},
      {"width", layer.inner_width()},
      {"heads", layer.heads()},
      {"head_width", layer.head_width()},
      {"causal", options.given("causal")},
      {"pads", options.integer("pad")},
      {"weights_file", options.given("weights_file") ? Json(options.text("weights_file")) : Json()},
      {"parameters", layer.parameter_count()},
      {"steps", steps_json(steps.steps)},
      {"largest_difference", steps.difference}};
}

// Shows the mask [T, T] and claims that it works.
void show_mask(const Tensor& hidden, const Tensor& weights, Report& report) {
  const Index side = weights.size(-1);
  const Tensor square = reshape(expand(hidden, {1, 1, side, side}), {side, side});
  report.section("mask", {{"mask", named_tensor_text("mask", square)}});
  if (max(convert(square, DType::float32)).item() > 0) {
    const double most = largest_hidden(weights, hidden);
    report.claim("hidden_keys_get_nothing", most == 0, {{"most", most}});
  }
}

}  // namespace

void declare_attention(Options& options) {
  declare_layer(
      options.value("tokens", "Words of the sequence, separated by commas", "I,love,deep,learning"),
      "64", "8")
      .flag("causal", "Hide later tokens")
      .value("pad", "Add this number of hidden <pad> tokens", "0")
      .value("weights_file",
             "Use the weights of this .safetensors file, under the names of PyTorch's "
             "nn.MultiheadAttention: in_proj_weight, in_proj_bias, out_proj.weight, "
             "out_proj.bias. They do not show the number of heads: give --heads");
  options.refused("weights", "is now called --weights_file");
  options.paths({"weights_file"});
}

void run_attention(const Settings& settings, Report& report) {
  const NoGrad no_grad;
  const Options& options = settings.options;
  const std::vector<std::string> tokens = all_tokens(options);
  const auto count = static_cast<Index>(tokens.size());
  const Layer made(settings, count);
  const MultiHeadAttention& layer = *made.attention;
  const bool causal = options.given("causal");
  const Tensor x = vectors_of(tokens, made.width, RandomStream{settings.seed, 0}.fork(0));
  const Tensor hidden = mask_of(count, options.integer("pad"), causal);
  const AttentionSteps steps = attention_steps(layer, x, hidden, "x");
  require_finite({{"output", steps.output}}, options.text("weights_file") + ":");
  report.values() = values_of(options, tokens, layer, steps);
  report.section("introduction", {{"count", count}});
  report.section(options.given("weights_file") ? "given_weights" : "random_weights",
                 {{"seed", settings.seed}, {"heads_given", options.given("heads")}});
  report.section("steps", {{"steps", shown_steps(steps.steps)}});
  show_joint_projection(layer, x, steps, report);
  if (hidden.defined()) {
    show_mask(hidden, steps.weights, report);
  }
  show_weights(steps, tokens, causal, report);
  report.section("parameters", {{"rows", parameter_rows(layer, report)}});
  report.claim("steps_equal_module", is_small(steps.difference, steps.output));
  report.arrays("attention.npz", step_arrays(layer, x, steps));
}

}  // namespace headlight::cli::lab
