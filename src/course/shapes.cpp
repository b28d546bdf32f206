#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/strings/display_text.h"
#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/report/tensors.h"
#include "course/steps.h"
#include "course/text_batch.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/choices.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/compare.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/reduce.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {

namespace cli::lab {
enum class MaskKind { none, padding, causal, both };
}

template <>
inline constexpr auto kChoices<cli::lab::MaskKind> =
    std::to_array<Choice<cli::lab::MaskKind>>({{"none", cli::lab::MaskKind::none},
                                               {"padding", cli::lab::MaskKind::padding},
                                               {"causal", cli::lab::MaskKind::causal},
                                               {"both", cli::lab::MaskKind::both}});

}  // namespace headlight

namespace headlight::cli::lab {
namespace {

// PyTorch's code for the two conventions of a mask. PAD is replaced by the id of <pad>.
struct MaskCode {
  const char* hidden;      // makes a mask, true = hidden
  const char* use_hidden;  // applies it
  const char* keep;        // makes a mask, 1 = keep
  const char* use_keep;
};

constexpr MaskCode kPaddingCode{"mask = batch == PAD",
                                "scores.masked_fill(mask[:, None, None, :], float(\"-inf\"))",
                                "keep = (batch != PAD).int()",
                                "scores.masked_fill(keep[:, None, None, :] == 0, float(\"-inf\"))"};
constexpr MaskCode kCausalCode{
    "mask = torch.ones(L, L).triu(1).bool()", "scores.masked_fill(mask, float(\"-inf\"))",
    "keep = torch.ones(L, L).tril().int()", "scores.masked_fill(keep == 0, float(\"-inf\"))"};
constexpr MaskCode kBothCode{
    "mask = (batch == PAD)[:, None, :] | torch.ones(L, L).triu(1).bool()",
    "scores.masked_fill(mask[:, None], float(\"-inf\"))",
    "keep = ((batch != PAD)[:, None, :] & torch.ones(L, L).tril().bool()).int()",
    "scores.masked_fill(keep[:, None] == 0, float(\"-inf\"))"};

// A batch with and without a mask.
struct ShapeCase {
  TextBatch texts;
  PaddedBatch padded;
  std::int32_t pad_id = 0;
  MaskKind mask = MaskKind::padding;  // that of the second result, never `none`
  bool is_masked = true;              // the user asks for the mask
  Tensor shown_mask;                  // [B, T], [T, T] or [B, T, T]
  Tensor hidden;                      // the same for scores: [B, 1, 1, T], [T, T] or [B, 1, T, T]
  AttentionSteps plain;
  AttentionSteps masked;

  const AttentionSteps& main() const { return is_masked ? masked : plain; }
  Index length() const { return padded.tokens.size(1); }
  Index count() const { return padded.tokens.size(0); }
  Index length_of(Index sequence) const {
    return padded.lengths[static_cast<std::size_t>(sequence)];
  }
  bool has_pads() const {
    return std::ranges::any_of(padded.lengths, [&](Index one) { return one < length(); });
  }
  std::vector<std::string> labels(Index sequence) const {
    std::vector<std::string> all = texts.labels[static_cast<std::size_t>(sequence)];
    all.resize(static_cast<std::size_t>(length()), "<pad>");
    return all;
  }
};

void make_masks(ShapeCase& shown) {
  const Index batch = shown.count();
  const Index length = shown.length();
  const Tensor padding = reshape(shown.padded.padding_mask, {batch, 1, 1, length});
  if (shown.mask == MaskKind::padding) {
    shown.shown_mask = shown.padded.padding_mask;
    shown.hidden = padding;
  } else if (shown.mask == MaskKind::causal) {
    shown.shown_mask = shown.hidden = causal_mask(length);
  } else {
    shown.hidden = combine_masks(causal_mask(length), padding);
    shown.shown_mask = reshape(shown.hidden, {batch, length, length});
  }
}

Tensor tensor_of(const std::vector<Index>& lengths) {
  const std::vector<std::int32_t> values =
      transformed(lengths, [](Index length) { return static_cast<std::int32_t>(length); });
  return Tensor::from(values, {std::ssize(values)});
}

// 1 where a mask is false.
Tensor keep_of(const Tensor& hidden) { return convert(logical_not(hidden), DType::int32); }

// Weights of real queries on pads: `row` sums the weights of one query.
struct PadShare {
  double sum = 0;
  Index rows = 0;
  Index positions = 0;

  double together() const { return rows > 0 ? sum / static_cast<double>(rows) : 0; }
  double each() const { return positions > 0 ? sum / static_cast<double>(positions) : 0; }
};

// Adds the rows of one sequence's real queries. weights [B, H, T, T].
void add_share(const Tensor& weights, Index sequence, Index length, PadShare& share) {
  const Index side = weights.size(-1);
  if (length == side) {
    return;
  }
  const Tensor rows = slice(slice(weights, 0, sequence, sequence + 1), 2, 0, length);
  share.sum += sum(slice(rows, 3, length, side)).item();
  share.rows += weights.size(1) * length;
  share.positions += weights.size(1) * length * (side - length);
}

// Largest difference between the rows of a sequence's pads.
double spread_of_pad_rows(const Tensor& weights, Index sequence, Index length) {
  const Index side = weights.size(-1);
  const Tensor rows = slice(slice(weights, 0, sequence, sequence + 1), 2, length, side);
  const Tensor last = slice(rows, 2, side - length - 1, side - length);
  return max(sqrt(pow(sub(rows, last), 2))).item();
}

// Grid of ids, whose pads are dots; as PyTorch prints it if it is too wide.
std::string grid_of(const ShapeCase& shown) {
  const std::vector<double> ids = shown.padded.tokens.to_vector();
  const std::vector<double> pads = shown.padded.padding_mask.to_vector();
  const double largest = *std::ranges::max_element(ids);
  const Index cell = std::ssize(fixed_number(largest, 0)) + 1;
  if (cell * shown.length() > static_cast<Index>(kColumns)) {
    return named_tensor_text("batch", shown.padded.tokens);
  }
  std::string grid;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    grid += pad_left(pads[i] != 0 ? "·" : fixed_number(ids[i], 0), cell);
    grid += (i + 1) % static_cast<std::size_t>(shown.length()) == 0 ? "\n" : "";
  }
  return grid;
}

// "0  나는=1 밥을=2": a line for each sequence.
std::string sentences_of(const TextBatch& texts) {
  std::string text;
  for (std::size_t i = 0; i < texts.ids.size(); ++i) {
    std::string line = std::to_string(i) + " ";
    for (std::size_t t = 0; t < texts.ids[i].size(); ++t) {
      line += concat_text(" ", display_label(texts.labels[i][t]), "=", texts.ids[i][t]);
    }
    text += wrapped(line, kColumns, 3);
  }
  return text;
}

void show_batch(const ShapeCase& shown, Report& report) {
  const std::vector<Index>& lengths = shown.padded.lengths;
  const Index real = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  const Index positions = shown.padded.tokens.numel();
  report.values().update({{"longest", *std::ranges::max_element(lengths)},
                          {"shortest", *std::ranges::min_element(lengths)},
                          {"count", shown.count()},
                          {"pad_id", shown.pad_id},
                          {"real_tokens", real},
                          {"places", positions},
                          {"batch", shown.padded.tokens.to_vector()},
                          {"lengths", lengths},
                          {"labels", shown.texts.labels}});
  report.section("introduction");
  if (shown.texts.has_texts) {
    report.section("sentences", {{"sentences", sentences_of(shown.texts)}});
  }
  report.section("batch", {{"grid", grid_of(shown)},
                           {"lengths", named_tensor_text("lengths", tensor_of(lengths))},
                           {"percent", 100 * real / positions}});
}

// The code with the id of <pad>.
std::string code_of(const char* code, const ShapeCase& shown) {
  std::string text = code;
  const std::size_t offset = text.find("PAD");
  return offset == text.npos ? text : text.replace(offset, 3, std::to_string(shown.pad_id));
}

void show_case_mask(const ShapeCase& shown, Report& report) {
  const MaskCode& code = shown.mask == MaskKind::padding  ? kPaddingCode
                         : shown.mask == MaskKind::causal ? kCausalCode
                                                          : kBothCode;
  report.values()["mask"] = {{"kind", name_of(shown.mask)},
                             {"applied", shown.is_masked},
                             {"hidden", shown.shown_mask.to_vector()}};
  report.section(shown.is_masked ? "mask_applied" : "mask_compared");
  report.section("mask", {{"hidden", named_tensor_text("mask", shown.shown_mask)},
                          {"keep", named_tensor_text("keep", keep_of(shown.shown_mask))},
                          {"make_hidden", code_of(code.hidden, shown)},
                          {"use_hidden", code.use_hidden},
                          {"make_keep", code_of(code.keep, shown)},
                          {"use_keep", code.use_keep}});
}

void show_steps(const ShapeCase& shown, Report& report) {
  const AttentionSteps& steps = shown.main();
  const auto transposed =
      std::ranges::find(steps.steps, "attn_values.transpose(1, 2)", &Step::name);
  report.values().update(
      {{"steps", steps_json(steps.steps)}, {"largest_difference", steps.difference}});
  report.section("steps", {{"steps", shown_steps(steps.steps)}});
  report.section(transposed->value.is_contiguous() ? "view_without_copy" : "view_needs_copy",
                 {{"strides", concat_text(transposed->value.strides())}});
  report.section("values", {{"embedded", named_tensor_text("batch_emb", steps.steps.front().value)},
                            {"q", named_tensor_text("q", steps.query)},
                            {"k", named_tensor_text("k", steps.key)},
                            {"v", named_tensor_text("v", steps.value)},
                            {"scores", steps.masked.defined()
                                           ? named_tensor_text("masked_scores", steps.masked)
                                           : named_tensor_text("attn_scores", steps.scores)},
                            {"dists", named_tensor_text("attn_dists", steps.weights)},
                            {"output", named_tensor_text("outputs", steps.output)}});
}

// Largest change of a sequence's outputs, at its real tokens.
double change_by_mask(const ShapeCase& shown, Index sequence) {
  const auto real = [&](const AttentionSteps& steps) {
    return slice(slice(steps.output, 0, sequence, sequence + 1), 1, 0, shown.length_of(sequence));
  };
  return largest_difference(real(shown.plain), real(shown.masked));
}

// Rows {sequence, tokens, pads, without, with, change} for every sequence.
Json compare_sequences(const ShapeCase& shown) {
  Json rows = Json::array();
  for (Index b = 0; b < shown.count(); ++b) {
    PadShare without;
    PadShare with;
    add_share(shown.plain.weights, b, shown.length_of(b), without);
    add_share(shown.masked.weights, b, shown.length_of(b), with);
    rows.push_back({{"sequence", b},
                    {"tokens", shown.length_of(b)},
                    {"pads", shown.length() - shown.length_of(b)},
                    {"without", without.together()},
                    {"with", with.together()},
                    {"change", change_by_mask(shown, b)}});
  }
  return rows;
}

// Sequence to draw in the terminal: the first with as many pads as tokens, else the first.
Index drawn_sequence(const ShapeCase& shown) {
  const auto found = std::ranges::find_if(shown.padded.lengths,
                                          [&](Index one) { return 2 * one <= shown.length(); });
  return found == shown.padded.lengths.end() ? 0 : found - shown.padded.lengths.begin();
}

// Head 0 of a sequence without and with the mask, its tokens and its first pad as rows.
std::string draw_pair(const ShapeCase& shown, Index sequence, const Report& report) {
  const Index side = shown.length();
  const Index rows = std::min(shown.length_of(sequence) + 1, side);
  std::vector<std::string> labels = shown.labels(sequence);
  labels.resize(static_cast<std::size_t>(rows));
  std::vector<std::pair<std::string, std::string>> pictures;
  for (const AttentionSteps* steps : {&shown.plain, &shown.masked}) {
    const Tensor head = slice(slice(steps->weights, 0, sequence, sequence + 1), 1, 0, 1);
    pictures.emplace_back(
        report.entry("words", steps == &shown.plain ? "none" : name_of(shown.mask)),
        shades(slice(reshape(head, {side, side}), 0, 0, rows), transformed(labels, display_label)));
  }
  const Index wide = widest(transformed(labels, display_label)) + 1 + 2 * side;
  const bool fits = 2 * wide + 4 <= static_cast<Index>(kColumns);
  return fits ? side_by_side(pictures)
              : side_by_side({pictures[0]}) + "\n" + side_by_side({pictures[1]});
}

// Adds a figure of every sequence, without and with the mask.
void draw_sequences(const ShapeCase& shown, Report& report) {
  const Index side = shown.length();
  for (Index b = 0; b < shown.count(); ++b) {
    for (const AttentionSteps* steps : {&shown.plain, &shown.masked}) {
      const std::string_view mask = steps == &shown.plain ? "none" : name_of(shown.mask);
      const Tensor heads = slice(steps->weights, 0, b, b + 1);
      report.figure(
          concat_text("sequence_", b, "_mask_", mask, ".svg"),
          weights_svg(report.entry("titles", "sequence",
                                   {{"sequence", b}, {"mask", report.entry("words", mask)}}),
                      shown.labels(b), reshape(heads, {-1, side, side}), report.language()));
    }
  }
}

// Compares the results without and with the mask.
void show_effect(const ShapeCase& shown, Report& report) {
  std::array<PadShare, 2> shares;
  for (Index b = 0; b < shown.count(); ++b) {
    add_share(shown.plain.weights, b, shown.length_of(b), shares[0]);
    add_share(shown.masked.weights, b, shown.length_of(b), shares[1]);
  }
  for (const bool with : {false, true}) {
    report.values()["pads"].push_back({{"masked", with},
                                       {"weight_on_pads", shares[with].together()},
                                       {"weight_on_each_pad", shares[with].each()}});
  }
  const Json rows = compare_sequences(shown);
  report.values()["sequences"] = rows;
  const Index drawn = drawn_sequence(shown);
  report.section("effect", {{"rows", rows},
                            {"plain", named_tensor_text("outputs_no_mask", shown.plain.output)},
                            {"masked", named_tensor_text("outputs_masked", shown.masked.output)},
                            {"sequence", drawn},
                            {"pictures", draw_pair(shown, drawn, report)}});
  if (shown.has_pads()) {
    report.section("pads");
    report.claim("pads_attract_attention", shares[0].together() > 0 && shares[1].together() == 0);
  }
}

void claim_equal_pads(const ShapeCase& shown, Report& report) {
  double spread = 0;
  bool is_comparable = false;
  for (Index b = 0; b < shown.count(); ++b) {
    if (shown.length_of(b) + 2 <= shown.length()) {
      is_comparable = true;
      spread = std::max(spread, spread_of_pad_rows(shown.plain.weights, b, shown.length_of(b)));
    }
  }
  if (is_comparable) {
    report.claim("pad_rows_are_equal", spread < 1e-6, {{"spread", spread}});
  }
}

NamedTensors all_arrays(const MultiHeadAttention& layer, const ShapeCase& shown) {
  NamedTensors arrays = step_arrays(layer, shown.main().steps.front().value, shown.main());
  arrays.emplace_back("batch", shown.padded.tokens);
  arrays.emplace_back("lengths", tensor_of(shown.padded.lengths));
  arrays.emplace_back("mask", shown.shown_mask);
  arrays.emplace_back("keep", keep_of(shown.shown_mask));
  arrays.emplace_back("attn_dists_no_mask", shown.plain.weights);
  arrays.emplace_back("output_no_mask", shown.plain.output);
  return arrays;
}

ShapeCase make_case(const Options& options) {
  ShapeCase shown;
  shown.pad_id = static_cast<std::int32_t>(
      count_option(options, "pad_id", 0, std::numeric_limits<std::int32_t>::max()));
  shown.mask = options.chosen<MaskKind>("mask");
  shown.is_masked = shown.mask != MaskKind::none;
  shown.mask = shown.is_masked ? shown.mask : MaskKind::padding;
  shown.texts = read_text_batch(options, shown.pad_id);
  shown.padded = pad_sequences(shown.texts.ids, shown.pad_id);
  make_masks(shown);
  return shown;
}

}  // namespace

void declare_shapes(Options& options) {
  declare_layer(options.values("text", "Sentences of the batch, one for each --text")
                    .value("file", "Read the sentences from the lines of this file")
                    .value("ids_file", "Read token ids from this JSON file, a list of lists")
                    .value("tokenizer",
                           "Split sentences into char (characters), word (at blanks), or the "
                           "tokens of this run directory or tokenizer.json",
                           "word")
                    .base(),
                "512", "8")
      .value("pad_id", "Id of <pad>", "0")
      .choice("mask", "Hide pads, later tokens or both", kChoiceNames<MaskKind>, "padding");
  options.refused("sequences", "is now called --ids_file").paths({"file", "ids_file", "tokenizer"});
}

void run_shapes(const Settings& settings, Report& report) {
  const NoGrad no_grad;
  const Options& options = settings.options;
  ShapeCase shown = make_case(options);
  const Index width = options.integer("width");
  const Index heads = options.integer("heads");
  check_sizes({.source = shown.texts.source,
               .batch = shown.count(),
               .tokens = shown.length(),
               .width = width,
               .heads = heads});
  report.values().update({{"width", width}, {"heads", heads}, {"head_width", width / heads}});
  const RandomStream random{settings.seed, 0};
  const MultiHeadAttention layer({.width = width, .heads = heads}, random.fork(1));
  const Tensor embedded = reshape(embed(shown.padded.tokens, width, random.fork(0)),
                                  {shown.count(), shown.length(), width});
  shown.plain = attention_steps(layer, embedded, {}, "batch_emb");
  shown.masked = attention_steps(layer, embedded, shown.hidden, "batch_emb");
  show_batch(shown, report);
  show_case_mask(shown, report);
  show_steps(shown, report);
  show_effect(shown, report);
  draw_sequences(shown, report);
  claim_equal_pads(shown, report);
  const double difference = std::max(shown.plain.difference, shown.masked.difference);
  report.claim("steps_equal_module", difference < 1e-5, {{"difference", difference}});
  report.arrays("shapes.npz", all_arrays(layer, shown));
}

}  // namespace headlight::cli::lab
