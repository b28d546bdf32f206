#include "headlight/interpret/directions/head_directions.h"

#include <numeric>

#include "headlight/interpret/head_set.h"
#include "headlight/ops/layout.h"
#include "headlight/show/plot/line_plot.h"
#include "questions/question.h"
#include "questions/text_parameters.h"
#include "show/report/parts/token_columns.h"

namespace headlight {
namespace {

constexpr const char* kSvdDetails =
    "Singular value decomposition of a head's weights, with the tokens along the singular vectors "
    "(Millidge and Black 2022). ov is W_V W_O: what the head reads at the attended token, and what "
    "it then writes. qk is W_Q W_K^T: what it seeks at its own token, and what attracts it at "
    "others. The gain of the norm before attention counts, and that of the last norm for written "
    "tokens; biases, positions and norms of queries and keys do not.\n\n"
    "Each component has two sides. On side + the tokens furthest along the vectors are read and "
    "written together, on side - those furthest against them.\n\n"
    "The arrays are head [K], the names of the K heads, values [K, D], all their singular values, "
    "from and to [K, N, C], the vectors of the N components: read and written, or of queries and "
    "keys.";

// One side of a component of a head.
struct SvdRow {
  HeadId head;
  Index component = 0;
  double value = 0;
  double share = 0;  // of the sum of all squared values
  std::string side;
};

// Draws all singular values [1, D] of each head.
std::string values_svg(const std::vector<Tensor>& values, const std::vector<std::string>& names) {
  LinePlot plot{.title = "Singular values", .x_label = "component", .y_label = "value"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    PlotSeries series{.name = names[i], .y = values[i].to_vector(), .points = true};
    series.x.resize(series.y.size());
    std::iota(series.x.begin(), series.x.end(), 0.0);
    plot.series.push_back(std::move(series));
  }
  return line_plot_svg(plot);
}

// The components of several heads.
class SvdReport {
 public:
  SvdReport(const Asker& asker, const Arguments& arguments)
      : asker_(asker),
        circuit_(arguments.chosen<HeadCircuit>("matrix")),
        count_(std::min(arguments.integer("components"), asker.model.heads().head_width)),
        top_k_(arguments.integer("top_k")) {}

  Index components() const { return count_; }  // of each head

  void add(const HeadId& head) {
    const HeadDirections found = head_directions(asker_.model, head, circuit_);
    const double squares =
        std::inner_product(found.values.begin(), found.values.end(), found.values.begin(), 0.0);
    for (Index i = 0; i < count_; ++i) {
      const double value = found.values[static_cast<std::size_t>(i)];
      for (const char* side : {"+", "-"}) {
        rows_.push_back({head, i, value, squares > 0 ? value * value / squares : 0, side});
      }
    }
    names_.push_back(head_name(head));
    values_.push_back(Tensor::from(found.values, {1, std::ssize(found.values)}));
    add(from_, found.from, TokenSide::read);
    add(to_, found.to, is_ov() ? TokenSide::written : TokenSide::read);
  }

  QuestionResult result() const {
    const ColumnsOf of_rows{rows_};
    const auto layer = [](const SvdRow& row) { return row.head.layer; };
    ResultTable table{
        .columns = {of_rows("head", &SvdRow::head, "head"), of_rows("layer", layer),
                    of_rows("component", &SvdRow::component, "component"),
                    of_rows("value", &SvdRow::value, "value").as(NumberForm::plain, 3),
                    of_rows("share", &SvdRow::share, "share").as(NumberForm::plain, 3),
                    of_rows("side", &SvdRow::side, "side")}};
    add_tokens(table, is_ov() ? "reads" : "queries", from_.tokens, asker_.tokenizer);
    add_tokens(table, is_ov() ? "writes" : "keys", to_.tokens, asker_.tokenizer);
    return {.title = "Singular vectors of heads",
            .facts = {{"matrix", name_of(circuit_)}},
            .tables = {std::move(table)},
            .curve = [values = values_, names = names_] { return values_svg(values, names); },
            .arrays = {.tensors = {{"values", concat(values_, 0)},
                                   {"from", concat(from_.vectors, 0)},
                                   {"to", concat(to_.vectors, 0)}},
                       .texts = {{"head", names_}}}};
  }

 private:
  // One end of the components.
  struct End {
    std::vector<Tensor> vectors;                    // of the heads, [1, N, C]
    std::vector<std::vector<TokenProduct>> tokens;  // of the rows
  };

  bool is_ov() const { return circuit_ == HeadCircuit::ov; }
  void add(End& end, const Tensor& vectors, TokenSide side) const {
    const Tensor first = slice(vectors, 0, 0, count_);
    end.vectors.push_back(reshape(first, {1, count_, first.size(1)}));
    for (const DirectionTokensFound& one :
         tokens_along(asker_.model, first, side, top_k_, [&] { asker_.progress(0); })) {
      end.tokens.insert(end.tokens.end(), {one.most, one.least});
    }
  }

  const Asker& asker_;
  HeadCircuit circuit_;
  Index count_;
  Index top_k_;
  std::vector<SvdRow> rows_;
  std::vector<std::string> names_;  // of the heads
  std::vector<Tensor> values_;
  End from_;
  End to_;
};

QuestionResult svd(const Asker& asker, const Arguments& arguments) {
  const HeadSet heads = HeadSet::parse(arguments.text("heads"));
  heads.require_in(asker.model.heads());
  SvdReport report(asker, arguments);
  const auto count = static_cast<Index>(heads.size());
  asker.require_room(4 * count * report.components(), arguments.integer("top_k"));
  asker.begin(count * (8 + 2 * report.components()));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    report.add(heads[i]);
    asker.progress(static_cast<double>(i + 1) / static_cast<double>(heads.size()));
  }
  return report.result();
}

std::vector<Parameter> svd_parameters() {
  Parameter heads = heads_parameter();
  heads.is_required = true;
  return {heads,
          {.name = "matrix",
           .help = "Product of the head's matrices: ov (values and outputs) or qk (queries and "
                   "keys)",
           .kind = ValueKind::name,
           .fallback = name_of(HeadCircuit::ov),
           .choices = choices_of<HeadCircuit>(),
           .is_basic = true},
          {.name = "components",
           .help = "Report the N largest singular values",
           .kind = ValueKind::integer,
           .fallback = 5,
           .least = 1,
           .is_basic = true},
          top_k_parameter()};
}

}  // namespace

const Question& svd_question() {
  static const Question question{
      .name = "svd",
      .group = QuestionGroup::look,
      .summary = "Show the tokens along the singular vectors of a head's weights.",
      .details = kSvdDetails,
      .examples = {"headlight svd runs/toy --heads 1.0",
                   "headlight svd runs/toy --heads 1.0,1.1 --matrix qk --npz vectors.npz"},
      .parameters = svd_parameters(),
      .facts = {{"matrix", "ov or qk"}},
      .rows = "components",
      .columns = {{"head, layer, component, side", "the component, and its side + or -"},
                  {"value, share", "singular value, and its share of all squared values"},
                  {"reads, writes", "of ov: [{id, token, product}]"},
                  {"queries, keys", "of qk: [{id, token, product}]"}},
      .has_ranked_rows = false,
      .positional = {"heads"},
      .answer = svd};
  return question;
}

}  // namespace headlight
