#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "headlight/ops/attention.h"
#include "kernels/attention/attention.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Description of a self-attention over qkv [N, (H + 2 G) D], from which backward can run it again.
struct Plan {
  RaggedAttentionOptions options;  // with key_heads and scale
  Index head_width;
  std::vector<kernels::AttentionSequence> sequences = {};

  Index width() const { return options.heads * head_width; }          // H D
  Index key_width() const { return options.key_heads * head_width; }  // G D
};

template <class T>
kernels::AttentionOperands<T> operands(const Plan& plan, const Tensor& qkv) {
  const RaggedAttentionOptions& options = plan.options;
  const T* start = qkv.data<T>();
  return {.query = start,
          .key = start + plan.width(),
          .value = start + plan.width() + plan.key_width(),
          .query_stride = plan.width() + 2 * plan.key_width(),
          .key_stride = plan.width() + 2 * plan.key_width(),
          .key_head_stride = plan.head_width,
          .heads = options.heads,
          .key_heads = options.key_heads,
          .key_ends = options.key_ends,
          .head_width = plan.head_width,
          .window = options.window,
          .causal = options.causal,
          .scale = static_cast<T>(options.scale),
          .cap = static_cast<T>(options.cap),
          .dropout = {.seed = options.random.seed,
                      .stream = options.random.stream,
                      .position = 0,
                      .probability = options.dropout},
          .sequences = plan.sequences,
          .precision = options.precision};
}

// Divides the queries of long causal sequences into parts, which threads compute apart: the heads
// of one sequence may not divide evenly among them. A part sees the keys up to its last query.
// Parts with many keys come first, so that the threads end at about the same time. No bit depends
// on the parts.
std::vector<kernels::AttentionSequence> query_parts(
    std::span<const kernels::AttentionSequence> sequences) {
  constexpr Index kPart = 448;  // a multiple of all query tiles
  std::vector<kernels::AttentionSequence> parts;
  for (const kernels::AttentionSequence& all : sequences) {
    for (Index last = all.query_count; last > 0;) {
      const Index first = last > 2 * kPart ? (last - 1) / kPart * kPart : 0;
      parts.push_back({all.query_begin + first, last - first, all.key_begin,
                       all.key_count - all.query_count + last});
      last = first;
    }
  }
  return parts;
}

void check_groups(Index heads, Index key_heads, const std::vector<Index>& key_ends,
                  std::string_view where) {
  require(heads > 0 && key_heads > 0 && (heads % key_heads == 0 || !key_ends.empty()), "[", where,
          "] ", heads, " heads cannot share ", key_heads, " key heads");
  const bool rises =
      std::adjacent_find(key_ends.begin(), key_ends.end(), std::greater_equal()) == key_ends.end();
  require(key_ends.empty() || (std::ssize(key_ends) == key_heads && rises && key_ends.front() > 0 &&
                               key_ends.back() == heads),
          "[", where, "] expected ", key_heads, " increasing key_ends up to ", heads);
}

void check_offsets(const std::vector<Index>& offsets, Index count, std::string_view where) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == count, "[", where,
          "] expected offsets from 0 to ", count);
}

Plan make_plan(const Tensor& qkv, const RaggedAttentionOptions& options) {
  const Index key_heads = options.key_heads == 0 ? options.heads : options.key_heads;
  require(qkv.defined() && qkv.rank() == 2, "[ragged_attention] expected qkv [N, (H + 2 G) D]");
  check_groups(options.heads, key_heads, options.key_ends, "ragged_attention");
  const Index all_heads = options.heads + 2 * key_heads;
  require(qkv.size(1) % all_heads == 0, "[ragged_attention] a width of ", qkv.size(1),
          " does not divide into queries of ", options.heads, " heads, and keys and values of ",
          key_heads);
  require(options.window >= 0 && (options.causal || options.window == 0),
          "[ragged_attention] expected a window from 0, and 0 without a causal mask, got ",
          options.window);
  require(options.dropout >= 0 && options.dropout < 1,
          "[ragged_attention] expected a dropout from 0 to below 1, got ", options.dropout);
  require_precision(options.precision);
  require_cap(options.cap, "ragged_attention");
  const std::vector<Index>& offsets = options.offsets;
  check_offsets(offsets, qkv.size(0), "ragged_attention");
  const Index head_width = qkv.size(1) / all_heads;
  Plan plan{.options = options, .head_width = head_width};
  plan.options.key_heads = key_heads;
  if (options.scale == 0) {
    plan.options.scale = 1.0 / std::sqrt(static_cast<double>(head_width));
  }
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const Index count = offsets[b + 1] - offsets[b];
    require(count >= 0, "[ragged_attention] offsets must not decrease");
    plan.sequences.push_back({offsets[b], count, offsets[b], count});
  }
  return plan;
}

KeptAttention run_forward(const Plan& plan, const Tensor& qkv, std::vector<Tensor>* recorded) {
  KeptAttention result{Tensor::empty({qkv.size(0), plan.width()}, qkv.dtype()),
                       Tensor::empty({qkv.size(0), plan.options.heads}, qkv.dtype())};
  dispatch_floating(qkv.dtype(), "ragged_attention", [&](auto zero) {
    using T = decltype(zero);
    std::vector<T*> pointers;
    for (std::size_t b = 0; recorded != nullptr && b < plan.sequences.size(); ++b) {
      const Index length = plan.sequences[b].query_count;
      recorded->push_back(Tensor::empty({plan.options.heads, length, length}, qkv.dtype()));
      pointers.push_back(recorded->back().data<T>());
    }
    kernels::AttentionOperands<T> in = operands<T>(plan, qkv);
    const bool is_divisible = in.causal && recorded == nullptr;
    const auto parts =
        is_divisible ? query_parts(plan.sequences) : std::vector<kernels::AttentionSequence>{};
    in.sequences = is_divisible ? parts : plan.sequences;
    kernels::attention_forward<T>(in, {.output = result.output.data<T>(),
                                       .log_sum_exp = result.log_sum_exp.data<T>(),
                                       .weights = pointers});
  });
  return result;
}

Tensor run_backward(const Plan& plan, const Tensor& qkv, const KeptAttention& forward,
                    const Tensor& output_grad) {
  Tensor qkv_grad = Tensor::empty(qkv.shape(), qkv.dtype());
  dispatch_floating(qkv.dtype(), "ragged_attention", [&](auto zero) {
    using T = decltype(zero);
    T* start = qkv_grad.data<T>();
    kernels::attention_backward<T>(operands<T>(plan, qkv),
                                   {.output = forward.output.data<T>(),
                                    .log_sum_exp = forward.log_sum_exp.data<T>(),
                                    .output_grad = output_grad.data<T>(),
                                    .query_grad = start,
                                    .key_grad = start + plan.width(),
                                    .value_grad = start + plan.width() + plan.key_width()});
  });
  return qkv_grad;
}

}  // namespace

Tensor ragged_attention(const Tensor& qkv, const RaggedAttentionOptions& options) {
  const auto plan = std::make_shared<const Plan>(make_plan(qkv, options));
  const bool is_known = options.kept != nullptr && options.kept->output.defined();
  const KeptAttention forward =
      is_known ? *options.kept : run_forward(*plan, to_contiguous(qkv.detach()), options.weights);
  if (options.kept != nullptr && !is_known) {
    *options.kept = {forward.output.detach(), forward.log_sum_exp};
  }
  const bool rounds = wants_gradient({qkv}) && is_rounded(qkv, options.precision);
  const Tensor kept =
      rounds ? converted_bfloat16(to_contiguous(qkv.detach()), DType::bfloat16) : qkv.detach();
  return record_shapes("ragged_attention", forward.output, {qkv},
                       [plan, input = SavedTensor("ragged_attention", "input", kept, 0),
                        output = SavedTensor("ragged_attention", "output", forward.output),
                        log_sum_exp = forward.log_sum_exp](auto, const Tensor& grad) {
                         const Tensor values = input.dtype() == DType::bfloat16
                                                   ? converted_bfloat16(input, DType::float32)
                                                   : to_contiguous(input.get());
                         return std::vector<Tensor>{run_backward(
                             *plan, values, {output, log_sum_exp}, to_contiguous(grad))};
                       });
}

namespace {

constexpr std::string_view kWhere = "cached_attention";

void check_cache(const Tensor& query, const Tensor& keys, const Tensor& values) {
  require(query.defined() && query.rank() == 2, "[", kWhere, "] expected a query [N, H D]");
  for (const Tensor& x : {keys, values}) {
    require(x.defined() && x.rank() == 3 && x.numel() > 0 && query.size(1) % x.size(2) == 0, "[",
            kWhere, "] expected keys and values [G, M, D] for query ", query.shape(), ", got ",
            x.defined() ? x.shape() : Shape{});
    require(x.strides()[2] == 1 && x.strides()[1] == x.size(2), "[", kWhere,
            "] expected contiguous rows of each head");
    require(x.shape() == keys.shape() && x.strides()[0] == keys.strides()[0], "[", kWhere,
            "] expected keys and values of one layout, got ", keys.shape(), " and ", x.shape());
    require_same_type(x, query, kWhere);
  }
}

std::vector<kernels::AttentionSequence> cached_sequences(const Tensor& query, const Tensor& keys,
                                                         const CachedAttentionOptions& options) {
  const auto all = [](const std::vector<Index>& offsets, Index count) {
    const std::vector<Index> known = offsets.empty() ? std::vector<Index>{0, count} : offsets;
    check_offsets(known, count, kWhere);
    return known;
  };
  const std::vector<Index> offsets = all(options.offsets, query.size(0));
  const std::vector<Index> key_offsets = all(options.key_offsets, keys.size(1));
  require(offsets.size() == key_offsets.size(), "[", kWhere, "] expected ", offsets.size(),
          " offsets of keys, got ", key_offsets.size());
  std::vector<kernels::AttentionSequence> sequences;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const Index queries = offsets[b + 1] - offsets[b];
    const Index count = key_offsets[b + 1] - key_offsets[b];
    require(queries >= 0 && count >= queries, "[", kWhere,
            "] expected at least as many keys as queries, got ", count, " for query ",
            Shape{queries, query.size(1)});
    sequences.push_back({offsets[b], queries, key_offsets[b], count});
  }
  return sequences;
}

template <class T>
kernels::AttentionOperands<T> operands(const Tensor& query, const Tensor& keys,
                                       const Tensor& values, const CachedAttentionOptions& options,
                                       std::span<const kernels::AttentionSequence> sequences) {
  const Index head_width = keys.size(2);
  const double default_scale = 1.0 / std::sqrt(static_cast<double>(head_width));
  return {.query = query.data<T>(),
          .key = keys.data<T>(),
          .value = values.data<T>(),
          .query_stride = query.strides()[0],
          .key_stride = head_width,
          .key_head_stride = keys.strides()[0],
          .heads = query.size(1) / head_width,
          .key_heads = keys.size(0),
          .key_ends = options.key_ends,
          .head_width = head_width,
          .window = options.window,
          .scale = static_cast<T>(options.scale != 0 ? options.scale : default_scale),
          .cap = static_cast<T>(options.cap),
          .dropout = {},
          .sequences = sequences,
          .precision = options.precision};
}

}  // namespace

Tensor cached_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                        const CachedAttentionOptions& options) {
  check_cache(query, keys, values);
  require_cap(options.cap, "cached_attention");
  require_precision(options.precision);
  check_groups(query.size(1) / keys.size(2), keys.size(0), options.key_ends, "cached_attention");
  std::vector<kernels::AttentionSequence> sequences = cached_sequences(query, keys, options);
  if (options.weights == nullptr) {
    sequences = query_parts(sequences);
  }
  const Tensor queries = query.strides()[1] == 1 ? query.detach() : to_contiguous(query.detach());
  Tensor output = Tensor::empty(query.shape(), query.dtype());
  dispatch_floating(query.dtype(), "cached_attention", [&](auto zero) {
    using T = decltype(zero);
    std::vector<T*> recorded;
    for (std::size_t b = 0; options.weights != nullptr && b < sequences.size(); ++b) {
      const Index heads = query.size(1) / keys.size(2);
      options.weights->push_back(
          Tensor::empty({heads, sequences[b].query_count, sequences[b].key_count}, query.dtype()));
      recorded.push_back(options.weights->back().data<T>());
    }
    kernels::attention_forward<T>(
        operands<T>(queries, keys, values, options, sequences),
        {.output = output.data<T>(), .log_sum_exp = nullptr, .weights = recorded});
  });
  return output;
}

}  // namespace headlight
