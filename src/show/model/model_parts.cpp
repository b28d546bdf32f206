#include "show/model/model_parts.h"

#include <algorithm>
#include <map>

#include "headlight/nn/architecture.h"
#include "interpret/words.h"
#include "nn/block_order.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Weight and bias of a part of a layer.
struct PartParameters {
  Index weight = 0;
  Index bias = 0;

  Index total() const { return weight + bias; }
};

// Returns the first layer with the most heads.
Index shown_layer(const GptConfig& config) {
  Index best = 0;
  for (Index layer = 1; layer < config.n_layer; ++layer) {
    best = config.heads(layer) > config.heads(best) ? layer : best;
  }
  return best;
}

// "0.125"
std::string scale_text(double value) {
  std::string text = fixed_number(value, 4);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

class PartsBuilder {
 public:
  PartsBuilder(const GptConfig& config, Language language)
      : config_(config),
        language_(language),
        layer_(shown_layer(config)),
        plan_(block_plan(config, layer_)) {
    for (const Weight& weight : weights_of(config)) {
      if (weight.layer == kNoLayer || weight.layer == layer_) {
        PartParameters& part = parameters_[weight.part];
        (weight.is_bias ? part.bias : part.weight) += number_of_elements(weight.shape);
      }
    }
  }

  DiagramParts build() {
    DiagramParts parts;
    parts.sizes = sizes();
    parts.token_embedding = embedding();
    if (config_.position == PositionKind::learned) {
      parts.position_embedding = {in("box_position_embedding"),
                                  product("T × C", config_.block_size, config_.n_embd),
                                  of(Part::position_embedding)};
      if (config_.n_segment > 0) {
        parts.position_embedding.note = in("box_segment", {{"segments", config_.n_segment}});
        parts.position_embedding.parameters += of(Part::segment_embedding);
      }
    }
    if (config_.embedding_norm) {
      parts.before_layers = {norm(Part::embedding_norm)};
    }
    parts.layers = layers();
    parts.parallel = plan_.parallel;
    parts.shared_norm = plan_.shared_norm;
    parts.attention = attention();
    if (plan_.mlp_width) {
      parts.mlp = mlp();
    }
    if (plan_.norm == NormPosition::post) {
      parts.stream_norms = {norm(Part::attention_norm), norm(Part::mlp_norm)};
    } else {
      parts.after_layers = {norm(Part::final_norm)};
    }
    if (config_.masked_head) {
      parts.after_layers = {
          {in("box_head_transform"), matrix(Part::head_transform, config_.n_embd, config_.n_embd),
           of(Part::head_transform)},
          {std::string(name_of(config_.activation))},
          norm(Part::head_norm)};
    }
    if (config_.has_head()) {
      parts.head = output_head();
    }
    return parts;
  }

 private:
  DiagramBox output_head() const {
    DiagramBox head{in("box_output_head"), product("C × V", config_.n_embd, config_.vocab_size),
                    of(Part::head)};
    if (config_.tie_weights) {
      head.note = in("box_shared");
    }
    return head;
  }
  static Index number_of_elements(const Shape& shape) {
    Index count = 1;
    for (const Index size : shape) {
      count *= size;
    }
    return count;
  }

  std::string in(std::string_view key, std::initializer_list<WordValue> values = {}) const {
    return say(language_, key, values);
  }
  Index of(Part part) const {
    const auto found = parameters_.find(part);
    return found == parameters_.end() ? 0 : found->second.total();
  }
  bool has_bias(Part part) const {
    const auto found = parameters_.find(part);
    return found != parameters_.end() && found->second.bias > 0;
  }

  // "768 × 3,072 + 3,072": a matrix and the bias of a part
  std::string matrix(Part part, Index rows, Index columns) const {
    return grouped(rows) + " × " + grouped(columns) +
           (has_bias(part) ? " + " + grouped(columns) : "");
  }
  // "C × V = 768 × 50,257"
  static std::string product(const std::string& letters, Index rows, Index columns) {
    return letters + " = " + grouped(rows) + " × " + grouped(columns);
  }

  std::string sizes() const {
    const AttentionPlan& heads = plan_.attention;
    std::string text = concat_text("C = ", config_.n_embd, ", H = ", heads.heads);
    text += heads.key_heads != heads.heads ? concat_text(", G = ", heads.key_heads) : "";
    text += concat_text(", D = ", heads.head_width);
    text += plan_.mlp_width ? concat_text(", I = ", *plan_.mlp_width) : "";
    return text + concat_text(", V = ", config_.vocab_size, ", T ≤ ", config_.block_size);
  }

  DiagramBox embedding() const {
    DiagramBox box{in("box_token_embedding"), product("V × C", config_.vocab_size, config_.n_embd),
                   of(Part::token_embedding)};
    if (config_.embedding_factor() != 1) {
      box.note = in("box_times", {{"scale", scale_text(config_.embedding_factor())}});
    }
    return box;
  }

  std::string layers() const {
    const Index count = config_.n_layer;
    std::string text = in("diagram_layers", {{"count", count}});
    std::string heads;
    bool differ = false;
    for (Index layer = 0; layer < count; ++layer) {
      heads += (layer == 0 ? "" : ", ") + std::to_string(config_.heads(layer));
      differ = differ || config_.heads(layer) != config_.heads(0);
    }
    return differ ? text + in("diagram_layer", {{"heads", heads}, {"layer", layer_}}) : text;
  }

  DiagramBox norm(Part part) const {
    const bool rms = config_.norm_type == NormKind::rms;
    const bool of_heads = part == Part::query_norm || part == Part::key_norm;
    const std::string heads = config_.qk_norm_whole ? "[H D]" : "[D]";
    const std::string vector = of_heads ? heads : "[C]";
    const std::string shift = has_bias(part) ? in("box_shift", {{"vector", vector}}) : "";
    const std::string gain =
        config_.norm_weights ? in("box_gain", {{"vector", vector}}) : in("box_no_weights");
    return {rms ? "RMSNorm" : "LayerNorm", gain + shift, of(part)};
  }

  DiagramRow row(DiagramBox box, const std::string& shape) const {
    return {.boxes = {std::move(box)}, .shapes = {shape}};
  }

  // The projections to queries, keys and values, whose parameters are parts of one matrix.
  DiagramRow projections() const {
    const AttentionPlan& heads = plan_.attention;
    DiagramRow result;
    const bool grouped_keys = heads.key_heads != heads.heads;
    for (const Index part : {0, 1, 2}) {
      const Index width = heads.part_heads(part) * heads.head_width;
      const std::string letter = part == 0 ? "Q" : part == 1 ? "K" : "V";
      const std::string count = part > 0 && grouped_keys ? "G" : "H";
      const Index bias = has_bias(Part::query_key_value) ? width : 0;
      result.boxes.push_back({"W_" + letter + ": C × " + count + " D",
                              matrix(Part::query_key_value, config_.n_embd, width),
                              config_.n_embd * width + bias});
      result.shapes.push_back(letter + " [T, " + count + ", D]");
    }
    return result;
  }

  // A row of the same function of queries and of keys; values pass it.
  DiagramRow on_queries_and_keys(DiagramBox queries, DiagramBox keys) const {
    return {.boxes = {std::move(queries), std::move(keys), {}}, .shapes = {"Q", "K", "V"}};
  }

  std::string rotation_text(const RopeOptions& rope) const {
    const std::string part = rope.width > 0 && rope.width < plan_.attention.head_width
                                 ? in("box_rope_part", {{"width", rope.width}})
                                 : "";
    return concat_text("RoPE, θ = ", rope.theta, part);
  }

  Index layers_with(Index window) const {
    Index count = 0;
    for (Index layer = 0; layer < config_.n_layer; ++layer) {
      count += block_plan(config_, layer).attention.window == window ? 1 : 0;
    }
    return count;
  }

  DiagramRow heads() const {
    const AttentionPlan& heads = plan_.attention;
    const std::vector<Index> numbers =
        config_.head_layout().numbers[static_cast<std::size_t>(layer_)];
    DiagramRow result{.shapes = {concat_text("H × [T, D]")}, .is_heads = true};
    for (Index head = 0; head < heads.heads; ++head) {
      DiagramBox box{in("map_of_head", {{"head", numbers[static_cast<std::size_t>(head)]}}),
                     concat_text("D = ", heads.head_width)};
      if (heads.key_heads != heads.heads) {
        box.note = concat_text("K, V ", heads.key_head(head));
      }
      result.boxes.push_back(std::move(box));
    }
    const std::string factor = heads.scale > 0 ? scale_text(heads.scale) + " Q Kᵀ" : "Q Kᵀ / √D";
    const std::string scores =
        heads.cap > 0 ? concat_text(heads.cap, " tanh(", factor, " / ", heads.cap, ")") : factor;
    result.caption = "softmax(" + scores + ") V";
    if (heads.window > 0) {
      const Index layers = layers_with(heads.window);
      result.caption += in("box_window", {{"keys", heads.window}});
      result.caption += layers < config_.n_layer
                            ? in("box_some_layers", {{"some", layers}, {"all", config_.n_layer}})
                            : "";
    } else {
      result.caption += heads.causal ? in("box_causal") : in("box_all_tokens");
    }
    return result;
  }

  DiagramBranch attention() const {
    const AttentionPlan& heads_plan = plan_.attention;
    DiagramBranch branch;
    if (plan_.norm == NormPosition::pre) {
      branch.push_back(row(norm(Part::attention_norm), "[T, C]"));
    }
    branch.push_back(projections());
    const auto add_norms = [&] {
      branch.push_back(on_queries_and_keys(norm(Part::query_norm), norm(Part::key_norm)));
    };
    const auto add_rotation = [&] {
      if (heads_plan.rope) {
        const DiagramBox rotation{in("box_rotation"), rotation_text(*heads_plan.rope), 0};
        branch.push_back(on_queries_and_keys(rotation, rotation));
      }
    };
    prepare_queries_and_keys(config_, add_norms, add_rotation);
    branch.push_back(heads());
    branch.push_back(row({in("box_concat"), "", 0}, "[T, H D]"));
    branch.push_back(row(
        {"W_O: H D × C", matrix(Part::attention_output, heads_plan.inner_width(), config_.n_embd),
         of(Part::attention_output)},
        "[T, C]"));
    if (config_.has_output_norms()) {
      branch.push_back(row(norm(Part::attention_output_norm), "[T, C]"));
    }
    return branch;
  }

  DiagramBranch mlp() const {
    const Index inner = *plan_.mlp_width;
    const std::string sizes = matrix(Part::mlp_in, config_.n_embd, inner);
    const std::string activation(name_of(config_.activation));
    DiagramBranch branch;
    if (plan_.norm == NormPosition::pre && !plan_.shared_norm) {
      branch.push_back(row(norm(Part::mlp_norm), "[T, C]"));
    }
    const DiagramBox in_box{"MLP W_in: C × I", sizes, of(Part::mlp_in)};
    if (config_.gated_mlp) {
      branch.push_back({.boxes = {{"MLP W_gate: C × I", sizes, of(Part::mlp_gate)}, in_box},
                        .shapes = {"[T, I]", "[T, I]"}});
      branch.push_back(row({activation + "(gate) × in", "", 0}, "[T, I]"));
    } else {
      branch.push_back(row(in_box, "[T, I]"));
      branch.push_back(row({activation, "", 0}, "[T, I]"));
    }
    branch.push_back(
        row({"MLP W_out: I × C", matrix(Part::mlp_out, inner, config_.n_embd), of(Part::mlp_out)},
            "[T, C]"));
    if (config_.has_output_norms()) {
      branch.push_back(row(norm(Part::mlp_output_norm), "[T, C]"));
    }
    return branch;
  }

  const GptConfig& config_;
  Language language_;
  Index layer_;
  BlockPlan plan_;
  std::map<Part, PartParameters> parameters_;
};

// "h.3.attn.c_attn.weight" as {"h.", ".attn.c_attn.weight"} around the layer.
std::string without_layer(const Weight& weight) {
  const std::string prefix = "h." + std::to_string(weight.layer);
  return weight.layer == kNoLayer ? weight.name : weight.name.substr(prefix.size());
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const Index size : shape) {
    text += (text.empty() ? "" : " × ") + grouped(size);
  }
  return text;
}

}  // namespace

DiagramParts diagram_parts(const GptConfig& config, Language language) {
  return PartsBuilder(config, language).build();
}

std::vector<MatrixRow> matrix_rows(const GptConfig& config) {
  std::vector<MatrixRow> rows;
  std::vector<std::vector<Index>> layers;  // of each row
  std::map<std::pair<std::string, std::string>, std::size_t> row_indices;
  for (const Weight& weight : weights_of(config)) {
    const std::string name = without_layer(weight);
    const std::string shape = shape_text(weight.shape);
    const auto [found, is_new] = row_indices.try_emplace({name, shape}, rows.size());
    if (is_new) {
      Index each = 1;
      for (const Index size : weight.shape) {
        each *= size;
      }
      rows.push_back({name, shape, each, 0});
      layers.emplace_back();
    }
    rows[found->second].count += 1;
    layers[found->second].push_back(weight.layer);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (layers[i].front() == kNoLayer) {
      continue;
    }
    std::string numbers = "*";
    if (rows[i].count < config.n_layer) {
      numbers = std::to_string(layers[i].front());
      for (std::size_t k = 1; k < layers[i].size(); ++k) {
        numbers += "," + std::to_string(layers[i][k]);
      }
    }
    rows[i].name = "h." + numbers + rows[i].name;
  }
  return rows;
}

}  // namespace headlight
