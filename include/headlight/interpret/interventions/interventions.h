#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/attention_maps.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/language_model.h"
#include "headlight/tokenizers/tokenizer.h"

// Changes to a model's values in the syntax of users: "off 5.1, mlp.3; scale 7.2 0.5".
namespace headlight {

enum class ChangeKind {
  off,       // zeros
  scale,     // times a factor
  add,       // plus a vector, times a factor: steering
  mean,      // the mean over a text
  freeze,    // value at the same position of another text; no change after its end
  resample,  // as freeze, but a text that ends starts again
};

template <>
inline constexpr auto kChoices<ChangeKind> =
    std::to_array<Choice<ChangeKind>>({{"off", ChangeKind::off},
                                       {"scale", ChangeKind::scale},
                                       {"add", ChangeKind::add},
                                       {"mean", ChangeKind::mean},
                                       {"freeze", ChangeKind::freeze},
                                       {"resample", ChangeKind::resample}});

// Source of the values of a change: an array of an .npz, a text, or a text file. For add it can be
// the value at the last token of `text` minus that of `less`.
struct ChangeSource {
  std::string text = {};
  std::string less = {};
  std::filesystem::path file = {};  // empty: the text
  std::string array = {};           // array in the file; empty: the file is a text
  // For freeze: token of the text whose values all positions take. Unset: at the same position.
  std::optional<Index> token = {};
};

struct Change {
  ChangeKind kind = ChangeKind::off;
  std::vector<PointRange> targets = {};
  std::vector<std::string> classes = {};  // classes of heads ("induction") that are targets too
  double factor = 1;
  ChangeSource source = {};
  NumberRange positions = {};  // token positions in their sequences
};

// Parses changes separated by ; or new lines. They apply in this order:
//
//   off TARGETS              scale TARGETS FACTOR
//   add TARGETS FILE.npz:ARRAY[*FACTOR]
//   add TARGETS "TEXT" - "TEXT"[*FACTOR]
//   mean|freeze|resample TARGETS from "TEXT"|FILE
//   freeze TARGETS from "TEXT"|FILE at TOKEN
//
// Texts are quoted with " or '; a quotation mark inside a text is doubled or of the other kind.
// Each change can end with positions: "@5", "@3-7" or "@10-". TARGETS is a list, separated by
// commas, of points as in parse_point(): heads "5.1", "mlp.3", "neuron.3.17", "resid_post.6",
// "pattern.5.1". It also takes "layer.3" (attention and MLP of a layer) and classes of heads,
// "induction".
// Throws Error about "intervene", one line that quotes the change.
std::vector<Change> parse_changes(std::string_view text);

// Parses changes, or reads them from the key `intervene` (a text or a list) of a .toml file.
std::vector<Change> read_changes(const std::string& text_or_file);

// Reads the array of a source. Throws Error about `about` for a file without this array, with the
// names of those that it has.
Tensor read_vector(const ChangeSource& source, std::string_view about = "intervene");

// Parses TARGETS with optional positions into a change of kind off. Throws Error about `about`.
Change parse_targets(std::string_view about, std::string_view text);

// Adds the heads of a change's classes to its targets. Throws Error about `about` for a class
// without heads in `scores`.
Change with_heads_of_classes(Change change, const std::map<HeadId, HeadScore>& scores,
                             std::string_view about);

// Applies changes in every pass that uses the hook: Gpt::attach(), ForwardContext::hook,
// GenerateOptions::hook. Computes the values of source texts once, in the constructor. Replaced
// values have no gradient; scaled values have the gradient of the product. Your own model must call
// begin() of the hook in its pass; visit() throws Error otherwise.
class Interventions final : public ForwardHook {
 public:
  struct Options {
    // For source texts, encoded as prompts of generate. Null: no texts.
    const Tokenizer* tokenizer = nullptr;
    // For classes; see read_head_scores().
    std::map<HeadId, HeadScore> scores = {};
    // Mean rows [F] for mean changes without a source; F is the number of elements of a row: H D
    // for heads, otherwise the width. Read by the constructor only.
    const PointValues* means = nullptr;
    // Values [N, ...] of the rows of each pass, for resample changes without a source. Read in
    // every pass.
    const PointValues* rows = nullptr;
    // Parameter name in errors about targets.
    std::string about = "intervene";
    // Names of special tokens in texts become those tokens, even without reads_special().
    bool special_tokens = false;
    // Values of all targets in a pass of one token, in family units. Read by the constructor only.
    // Null: each change runs one.
    const PointValues* shapes = nullptr;
  };

  // The model must outlive it. Throws Error about "intervene" (Options::about) for targets that the
  // model does not have or compute, arrays of another length, freeze texts longer than the context,
  // token numbers outside the text, and classes without heads.
  Interventions(const LanguageModel& model, const std::vector<Change>& changes,
                const Options& options);
  ~Interventions() override;

  void begin(const Batch& rows) override;
  bool wants(Point point, Index layer) const override;
  bool in_family_units() const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  struct Resolved;

  std::vector<Resolved> changes_;
  HeadLayout layout_;
  std::vector<std::int32_t> positions_;  // of the rows of the pass, like offsets_
  std::vector<Index> offsets_;
};

}  // namespace headlight
