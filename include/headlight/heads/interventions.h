#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/heads/attention_maps.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"
#include "headlight/text/tokenizer.h"

// Changes of what a model computes, as users write them: "off 5.1, mlp.3; scale 7.2 0.5".
namespace headlight {

enum class ChangeKind {
  off,       // zeros
  scale,     // times a factor
  add,       // plus a vector, times a factor: steering
  mean,      // the mean over a text
  freeze,    // what it is at the same position of another text; behind its end nothing changes
  resample,  // the same, and a text that ends begins again
};

template <>
inline constexpr auto kChoices<ChangeKind> =
    std::to_array<Choice<ChangeKind>>({{"off", ChangeKind::off},
                                       {"scale", ChangeKind::scale},
                                       {"add", ChangeKind::add},
                                       {"mean", ChangeKind::mean},
                                       {"freeze", ChangeKind::freeze},
                                       {"resample", ChangeKind::resample}});

// Where the values of a change come from: an array of an .npz, a text, a file with one, or, of add,
// the value at the end of `text` less that at the end of `less`.
struct ChangeSource {
  std::string text = {};
  std::string less = {};
  std::filesystem::path file = {};  // empty: the text
  std::string array = {};           // of the file; empty: the file is a text
  // Of freeze: the token of the text whose values are taken, wherever they are put; none: the one
  // at the same position.
  std::optional<Index> token = {};
};

struct Change {
  ChangeKind kind = ChangeKind::off;
  std::vector<PointRange> targets = {};
  std::vector<std::string> classes = {};  // of heads, "induction": targets too
  double factor = 1;
  ChangeSource source = {};
  NumberRange positions = {};  // of tokens in their sequences
};

// Changes separated by ; or new lines, in the order in which they are made:
//
//   off TARGETS              scale TARGETS FACTOR
//   add TARGETS FILE.npz:ARRAY[*FACTOR]
//   add TARGETS "TEXT" - "TEXT"[*FACTOR]
//   mean|freeze|resample TARGETS from "TEXT"|FILE
//   freeze TARGETS from "TEXT"|FILE at TOKEN
//
// where quotation marks are " or ', and one inside a text stands twice or is the other;
// each with positions behind it, "@5", "@3-7" or "@10-". TARGETS are points as parse_point() takes
// them, separated by commas: heads "5.1", "mlp.3", "neuron.3.17", "resid_post.6", "pattern.5.1";
// "layer.3", attention and MLP of a layer; and classes of heads, "induction".
// Throws Error about "intervene", one line that quotes the change.
std::vector<Change> parse_changes(std::string_view text);

// The same, or those of the key `intervene` (a text or a list of texts) of a file that ends in
// .toml.
std::vector<Change> read_changes(const std::string& text_or_file);

// TARGETS alone, with positions behind them or none: a change of kind off. Throws Error about
// `about`.
Change parse_targets(std::string_view about, std::string_view text);

// Puts the heads of a change's classes among its targets. Throws Error about `about` for a class
// that no head of the scores has.
Change with_heads_of_classes(Change change, const std::map<HeadId, HeadScore>& scores,
                             std::string_view about);

// Mean rows [F] at a point and its layer (0 for points of no layer), F the elements of a row: H D
// of heads, the width otherwise.
using PointMeans = std::map<std::pair<Point, Index>, Tensor>;

// Makes the changes in every pass that it is attached to or given to: Gpt::attach(),
// ForwardContext::hook, GenerateOptions::hook. It computes what they need from their texts once.
// What a change replaces has no gradient; what it scales has that of the product.
class Interventions final : public ForwardHook {
 public:
  struct Options {
    // For texts of changes, which it reads as generate reads prompts; null: there are none.
    const Tokenizer* tokenizer = nullptr;
    // For classes; see read_head_scores().
    std::map<HeadId, HeadScore> scores = {};
    // For changes to a mean without a source, in the place of a text; read by the constructor
    // alone.
    const PointMeans* means = nullptr;
    // What errors about targets are about.
    std::string about = "intervene";
    // Names of special tokens in texts become those tokens, also where the tokenizer does not
    // reads_special().
    bool special_tokens = false;
  };

  // The model must outlive it. Throws Error about "intervene" (Options::about) for targets that the
  // model does not have or come by, arrays of another length, texts longer than the block (freeze),
  // tokens that they do not have, and classes that no head has.
  Interventions(const Gpt& model, const std::vector<Change>& changes, const Options& options);
  ~Interventions() override;

  void begin(const PassRows& rows) override;
  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& value) override;

 private:
  struct Resolved;

  std::vector<Resolved> changes_;
  HeadLayout layout_;
  PassRows rows_;
};

}  // namespace headlight
