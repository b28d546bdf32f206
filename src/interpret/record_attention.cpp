#include "headlight/interpret/record_attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/transformed.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/causal_self_attention.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "interpret/layer_maps.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Truncates documents that have ids and text, and groups their tokens.
std::vector<RecordedDocument> prepared(std::vector<RecordedDocument> documents,
                                       const LanguageModel& model, const Tokenizer& tokenizer,
                                       const RecordAttentionOptions& options) {
  const Index max_tokens = options.max_tokens;
  require(!documents.empty(), "[record_attention] expected at least one document, got none");
  require_value(max_tokens >= 0, "max_tokens", "expected a number from 0, got ", max_tokens);
  require_value(!options.value_weighted || !options.vectors, "value_weighted",
                "cannot be combined with queries and keys, which give the weights themselves");
  require(!options.vectors || options.unit == TextUnit::token,
          "[record_attention] queries and keys belong to tokens: record them with unit = token");
  const Index block = model.block_size();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    RecordedDocument& document = documents[i];
    if (max_tokens > 0 && std::ssize(document.ids) > max_tokens) {
      document.ids.resize(static_cast<std::size_t>(max_tokens));
      document.text = tokenizer.decode(document.ids);
    }
    document.cells = token_cells(tokenizer, document.ids, options.unit);
    const Index length = std::ssize(document.ids);
    const std::string name = documents.size() == 1 ? "the text" : concat_text("document ", i + 1);
    require(length > 0, name, " is empty, expected at least one token");
    require(length <= block, name, " has ", length, " tokens, more than the ", block,
            " tokens of the context length: cut it with max_tokens ", block,
            ", or raise window up to block_size");
  }
  return documents;
}

// Bytes of the recorded weights plus the padded copy of the chosen heads. Uses doubles because they
// do not overflow.
double bytes_needed(const LanguageModel& model, const HeadSet& chosen,
                    const RecordedAttention& recorded, bool vectors) {
  double squares = 0;
  for (const RecordedDocument& document : recorded.documents) {
    const auto length = static_cast<double>(document.ids.size());
    squares += length * length;
  }
  squares *= static_cast<double>(element_size(model.dtype()));
  const auto longest = static_cast<double>(recorded.longest());
  const double padded =
      longest * longest * static_cast<double>(recorded.documents.size()) * sizeof(float);
  // Bytes of one projection row, 0 without `vectors`. A layer stores queries, keys and values of
  // all heads, and padded queries and keys of the chosen heads.
  const double width = vectors ? static_cast<double>(model.heads().head_width) * sizeof(float) : 0;
  const double rows = longest * static_cast<double>(recorded.documents.size());
  double bytes = 0;
  for (const Index layer : chosen.layers()) {
    const auto all = static_cast<double>(model.heads().count(layer));
    const auto some = static_cast<double>(chosen.of_layer(layer).size());
    bytes += squares * all + padded * some + rows * width * (3 * all + 2 * some);
  }
  return bytes;
}

void require_memory(double bytes, const RecordedAttention& recorded, Index max_bytes) {
  require(bytes <= static_cast<double>(max_bytes), "[record_attention] the maps of ",
          recorded.documents.size(), " documents of up to ", recorded.longest(), " tokens take ",
          static_cast<Index>(bytes / (Index{1} << 20)), " MiB, more than ",
          max_bytes / (Index{1} << 20), " MiB: choose fewer documents, layers or tokens");
}

// Hook that shows the progress of a pass.
class PassProgress final : public ForwardHook {
 public:
  PassProgress(const std::function<void(double share)>& show, Index layers)
      : show_(show), layers_(static_cast<double>(layers)) {}

  bool wants(Point point, Index /*layer*/) const override { return point == Point::resid_post; }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    show_(static_cast<double>(site.layer + 1) / layers_);
    return value;
  }

 private:
  const std::function<void(double share)>& show_;
  double layers_;
};

// Runs the model with a recorder. `hook` may be null.
Recorder run_model(const LanguageModel& model, const std::vector<RecordedDocument>& documents,
                   const HeadSet& chosen, ForwardHook* hook,
                   const RecordAttentionOptions& options) {
  std::vector<std::vector<std::int32_t>> sequences;
  for (const RecordedDocument& document : documents) {
    sequences.push_back(document.ids);
  }
  Recorder recorder(chosen.layers());
  ForwardContext context;
  context.recorder = &recorder;
  context.hook = hook;
  const NoGrad no_grad;
  const Batch batch = make_batch(sequences);
  const bool is_kept = options.kept != nullptr && options.kept->keeps(batch);
  const Tensor hidden = is_kept ? options.kept->keep(record_pass(model, batch, context))->ends
                                : model.hidden(batch, context);  // a model may have no head
  if (options.take_hidden) {
    options.take_hidden(hidden);
  }
  return recorder;
}

// Copies the heads at `indices` of all sequences [H, t, t] to [B, H, T, T], with zero padding.
Tensor padded_heads(const std::vector<Tensor>& sequences, const std::vector<Index>& indices,
                    Index longest) {
  const auto count = static_cast<Index>(indices.size());
  Tensor result = Tensor::zeros({static_cast<Index>(sequences.size()), count, longest, longest});
  Index offset = 0;
  for (const Tensor& weights : sequences) {
    const Index length = weights.size(1);
    for (const Index index : indices) {
      result.strided_view({length, length}, {longest, 1}, offset)
          .copy_from(weights.strided_view({length, length}, {length, 1}, index * length * length));
      offset += longest * longest;
    }
  }
  return result;
}

// Copies vectors [N, H or G, D] of the heads at `indices` to [B, T, heads, D], with zero padding.
Tensor padded_vectors(const Tensor& vectors, const std::vector<Index>& indices,
                      const RecordedAttention& recorded) {
  const Index width = vectors.size(2);
  const Index row = vectors.size(1) * width;
  const auto count = static_cast<Index>(indices.size());
  const Index longest = recorded.longest();
  Tensor result =
      Tensor::zeros({static_cast<Index>(recorded.documents.size()), longest, count, width});
  Index token = 0;  // index in the batch
  Index target = 0;
  for (const RecordedDocument& document : recorded.documents) {
    const auto length = static_cast<Index>(document.ids.size());
    for (Index h = 0; h < count; ++h) {
      const Index source = token * row + indices[static_cast<std::size_t>(h)] * width;
      result.strided_view({length, width}, {count * width, 1}, target + h * width)
          .copy_from(vectors.strided_view({length, width}, {row, 1}, source));
    }
    token += length;
    target += longest * count * width;
  }
  return result;
}

// Adds queries [N, H, D] and keys [N, G, D] as the scores use them, the score scale and the window.
void add_vectors(RecordedLayer& layer, const PointValues& values, const LanguageModel& model,
                 const std::vector<Index>& indices, const RecordedAttention& recorded) {
  layer.rotated = values.contains({Point::rot_q, layer.layer});  // or normalised
  const auto queries = values.find({layer.rotated ? Point::rot_q : Point::q, layer.layer});
  const auto keys = values.find({layer.rotated ? Point::rot_k : Point::k, layer.layer});
  require(queries != values.end() && keys != values.end(), "a model of type '", model.model_type(),
          "' does not pass to ForwardHook the queries and keys of layer ", layer.layer);
  const HeadLayout layout = model.heads();
  std::vector<Index> key_indices;
  for (const Index index : indices) {
    key_indices.push_back(layout.key_index(layer.layer, index));
  }
  layer.queries = padded_vectors(queries->second, indices, recorded);
  layer.keys = padded_vectors(keys->second, key_indices, recorded);
  const CausalSelfAttention* attention = model.attention(layer.layer);
  const AttentionPlan plan = attention == nullptr ? AttentionPlan() : attention->plan();
  layer.scale =
      plan.scale > 0 ? plan.scale : 1 / std::sqrt(static_cast<double>(layer.queries.size(-1)));
  layer.cap = plan.cap;
  layer.window = plan.window;
}

// Returns the norms of the vectors v W_O [T] of the head at `index`, divided by the largest.
// `output` is the output matrix of its layer, [C, H D].
std::vector<double> relative_norms(const CausalSelfAttention& attention, const Tensor& values,
                                   Index index, const Tensor& output) {
  const AttentionPlan& plan = attention.plan();
  const Tensor own = convert(select(values, 1, plan.key_head(index)), DType::float32);
  const Tensor matrix = convert(
      slice(output, 1, index * plan.head_width, (index + 1) * plan.head_width), DType::float32);
  const Tensor written = linear(attention.limited(own), matrix);
  std::vector<double> norms = sqrt(sum(written * written, {.axes = {1}})).to_vector();
  const double largest = std::ranges::max(norms);
  for (double& norm : norms) {
    norm = largest > 0 ? norm / largest : 0;
  }
  return norms;
}

// Multiplies the weights [H, t, t] of all heads at `indices` in one sequence by the norms of the
// values [t, G, D]. `output` is attention.output_matrix(), which may take long.
Tensor carried_weights(const CausalSelfAttention& attention, const Tensor& output,
                       const std::vector<Index>& indices, const Tensor& weights,
                       const Tensor& values) {
  Tensor result = convert(to_contiguous(weights), DType::float32).clone();
  const Index length = weights.size(1);
  for (const Index index : indices) {
    const std::vector<double> norms = relative_norms(attention, values, index, output);
    float* row = result.data<float>() + index * length * length;
    for (Index query = 0; query < length; ++query, row += length) {
      for (Index token = 0; token < length; ++token) {
        row[token] *= static_cast<float>(norms[static_cast<std::size_t>(token)]);
      }
    }
  }
  return result;
}

// Multiplies the weights [H, t, t] of the heads at `indices` in all sequences as
// RecordAttentionOptions::value_weighted describes; `values` holds Point::v [N, G, D]. Throws Error
// about "value_weighted" for models without LanguageModel::attention().
void weight_by_values(const LanguageModel& model, const PointValues& values, Index layer,
                      const std::vector<Index>& indices, std::vector<Tensor>& sequences) {
  const CausalSelfAttention* attention = model.attention(layer);
  const auto found = values.find({Point::v, layer});
  require_value(attention != nullptr && found != values.end(), "value_weighted",
                "a model of type '", model.model_type(), "' has no values of heads");
  const NoGrad no_grad;
  const Tensor output = attention->output_matrix();
  Index token = 0;  // index in the batch
  for (Tensor& weights : sequences) {
    const Index length = weights.size(1);
    weights = carried_weights(*attention, output, indices, weights,
                              slice(found->second, 0, token, token + length));
    token += length;
  }
}

void require_numbers(const RecordedLayer& layer, const LanguageModel& model) {
  const float* weights = layer.weights.data<float>();
  const bool good = std::all_of(weights, weights + layer.weights.numel(),
                                [](float weight) { return std::isfinite(weight); });
  require(good, "[record_attention] layer ", layer.layer, " gives weights that are not numbers: ",
          model.is_changed() ? "an intervention may make values too large"
                             : "the model may be damaged");
}

RecordedAttention record_documents(const LanguageModel& model, const Tokenizer& tokenizer,
                                   std::vector<RecordedDocument> documents,
                                   const RecordAttentionOptions& options) {
  const HeadLayout layout = heads_of(model);
  const HeadSet chosen = options.heads.or_all(layout);
  RecordedAttention recorded;
  recorded.unit = options.unit;
  recorded.value_weighted = options.value_weighted;
  recorded.documents = prepared(std::move(documents), model, tokenizer, options);
  require_memory(bytes_needed(model, chosen, recorded, options.vectors), recorded,
                 options.max_bytes);
  KeepValues kept([&](Point point, Index layer) {
    const bool is_wanted =
        point == Point::q || point == Point::k || point == Point::rot_q || point == Point::rot_k;
    return (options.vectors ? is_wanted : options.value_weighted && point == Point::v) &&
           !chosen.of_layer(layer).empty();
  });
  PassProgress progress(options.progress, layout.layers());
  HookPair hooks(&kept, options.progress == nullptr ? nullptr : &progress);
  Recorder recorder = run_model(model, recorded.documents, chosen, &hooks, options);
  for (const Index layer : chosen.layers()) {
    std::vector<Index> heads;
    std::vector<Index> indices;
    for (const HeadId& id : chosen.of_layer(layer)) {
      heads.push_back(id.head);
      indices.push_back(head_index(id, layout));
    }
    // Moved out of the recorder, so that only one layer at a time exists twice.
    std::vector<Tensor> sequences = std::exchange(recorded_weights(recorder, layer, model), {});
    if (options.value_weighted) {
      weight_by_values(model, kept.values, layer, indices, sequences);
    }
    for (std::size_t i = 0; options.unit != TextUnit::token && i < sequences.size(); ++i) {
      sequences[i] =
          merged_weights(convert(sequences[i], DType::float32), recorded.documents[i].cells);
    }
    recorded.layers.push_back({layer, heads, padded_heads(sequences, indices, recorded.longest())});
    require_numbers(recorded.layers.back(), model);
    if (options.vectors) {
      add_vectors(recorded.layers.back(), kept.values, model, indices, recorded);
    }
  }
  return recorded;
}

// Unit of a document's cells: if no characters were joined, they are tokens.
TextUnit unit_of(TextUnit unit, const RecordedDocument& document) {
  const bool is_joined = document.cells.size() < document.ids.size();
  return unit == TextUnit::character && !is_joined ? TextUnit::token : unit;
}

}  // namespace

std::vector<std::string> RecordedDocument::labels() const {
  return transformed(cells, &TokenCell::label);
}

Index RecordedAttention::longest() const {
  std::size_t longest = 0;
  for (const RecordedDocument& document : documents) {
    longest = std::max(longest, document.cells.size());
  }
  return static_cast<Index>(longest);
}

Index RecordedAttention::token_count() const {
  std::size_t count = 0;
  for (const RecordedDocument& document : documents) {
    count += document.ids.size();
  }
  return static_cast<Index>(count);
}

Index RecordedAttention::head_count() const {
  std::size_t count = 0;
  for (const RecordedLayer& layer : layers) {
    count += layer.heads.size();
  }
  return static_cast<Index>(count);
}

AttentionMaps RecordedAttention::maps(Index document, std::string title) const {
  const auto count = static_cast<Index>(documents.size());
  require(document >= 0 && document < count,
          "[RecordedAttention::maps] expected a document from 0 to ", count - 1, ", got ",
          document);
  const RecordedDocument& one = documents[static_cast<std::size_t>(document)];
  const Index length = std::ssize(one.cells);
  AttentionMaps maps{std::move(title), one.labels(), {}};
  maps.unit = unit_of(unit, one);
  maps.value_weighted = value_weighted;
  for (const RecordedLayer& layer : layers) {
    const Index width = layer.weights.size(-1);
    const auto heads = static_cast<Index>(layer.heads.size());
    const Tensor weights = layer.weights.strided_view(
        {heads, length, length}, {width * width, width, 1}, document * heads * width * width);
    maps.layers.push_back({layer.layer, layer.heads, to_contiguous(weights)});
    if (layer.queries.defined()) {
      const Index size = layer.queries.size(-1);
      const auto heads_first = [&](const Tensor& vectors) {
        return to_contiguous(vectors.strided_view({heads, length, size}, {size, heads * size, 1},
                                                  document * width * heads * size));
      };
      maps.layers.back().queries = heads_first(layer.queries);
      maps.layers.back().keys = heads_first(layer.keys);
      maps.layers.back().scale = layer.scale;
      maps.layers.back().cap = layer.cap;
      maps.layers.back().window = layer.window;
    }
  }
  return maps;
}

AttentionMaps RecordedAttention::whole_maps(Index document, const Tokenizer& tokenizer,
                                            std::string title) const {
  AttentionMaps result = maps(document, std::move(title));
  if (unit != TextUnit::token || layers.empty() || layers.front().queries.defined()) {
    return result;
  }
  RecordedDocument whole = documents[static_cast<std::size_t>(document)];
  whole.cells = token_cells(tokenizer, whole.ids, TextUnit::character);
  result.unit = unit_of(TextUnit::character, whole);
  if (result.unit != TextUnit::token) {
    result.tokens = whole.labels();
    for (LayerAttention& layer : result.layers) {
      layer.weights = merged_weights(layer.weights, whole.cells);
    }
  }
  return result;
}

RecordedAttention record_attention_batch(const LanguageModel& model, const Tokenizer& tokenizer,
                                         const std::vector<std::string>& documents,
                                         const RecordAttentionOptions& options) {
  std::vector<RecordedDocument> encoded;
  for (const std::string& text : documents) {
    encoded.push_back({tokenizer.encode_prompt(text), {}, text});
  }
  return record_documents(model, tokenizer, std::move(encoded), options);
}

RecordedAttention record_attention_of_ids(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const std::vector<std::vector<std::int32_t>>& documents,
                                          const RecordAttentionOptions& options) {
  std::vector<RecordedDocument> decoded;
  for (const std::vector<std::int32_t>& ids : documents) {
    decoded.push_back({ids, {}, tokenizer.decode(ids)});
  }
  return record_documents(model, tokenizer, std::move(decoded), options);
}

AttentionMaps record_attention(const LanguageModel& model, const Tokenizer& tokenizer,
                               std::string_view text, const RecordAttentionOptions& options) {
  return record_attention_batch(model, tokenizer, {std::string(text)}, options).maps(0);
}

}  // namespace headlight
