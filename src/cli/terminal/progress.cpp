#include "cli/terminal/progress.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "cli/terminal/log.h"
#include "cli/terminal/terminal.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/runs/config_source.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLeastShare = 0.01;  // of work that predicts the remaining time
constexpr double kSmoothing = 0.95;   // smoothing of the displayed loss

std::string memory_text(const MemoryPlan& plan) {
  return "memory: about " + bytes_text(plan.total()) +
         (plan.available > 0 ? " of the " + bytes_text(plan.available) + " available" : "") +
         ": weights " + bytes_text(plan.weights) + ", gradients " + bytes_text(plan.gradients) +
         ", moments " + bytes_text(plan.moments) +
         (plan.snapshot > 0 ? ", copy for saving " + bytes_text(plan.snapshot) : "") +
         ", activations " + bytes_text(plan.activations) +
         (plan.data > 0 ? ", token ids " + bytes_text(plan.data)
                        : "; the token ids stay in their file");
}

}  // namespace

std::string evaluation_text(const Evaluation& validation) {
  if (validation.pairs > 0) {
    return fmt::format("validation loss {:.4f}, {:.1f} % of {} pairs preferred, margin {:.3f}",
                       validation.loss, 100 * validation.accuracy, validation.pairs,
                       validation.margin);
  }
  const std::string bits =
      validation.bytes > 0 ? fmt::format(", {:.3f} bits per byte", validation.bits_per_byte) : "";
  return fmt::format("validation loss {:.4f}, perplexity {:.2f}{}", validation.loss,
                     validation.perplexity, bits);
}

LiveLine::LiveLine() : terminal_(can_redraw(Stream::errors)) {}

bool LiveLine::is_due() const {
  return terminal_ && watch_.seconds() - drawn_at_ >= kRedrawSeconds;
}

void LiveLine::draw(const std::string& text) {
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
  drawn_at_ = watch_.seconds();
}

void LiveLine::clear() {
  if (shown_) {
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
  }
}

double TrainProgress::tokens_per_second() const {
  return static_cast<double>(tokens_) / std::max(watch_.seconds(), 1e-9);
}

void TrainProgress::on_start(const RunPlan& plan) {
  if (!note_.empty()) {
    log_info(note_);
  }
  first_iteration_ = plan.first_iteration;
  max_iters_ = plan.config.max_iters;
  log_interval_ = plan.config.log_interval;
  dropout_ = plan.config.dropout;
  if (is_terminal(Stream::errors)) {
    log_info("effective configuration:\n" + to_toml(plan.config));
  } else {
    for (const std::string& line : settings_in_short(plan.config)) {
      log_info(line);
    }
  }
  log_warnings(plan.warnings);
  for (const std::string& note : plan.notes) {
    log_info(note);
  }
  log_info("computing with " + machine_description());
  if (!machine_warning().empty()) {
    log_warning(machine_warning());
  }
  const GptConfig& model = plan.model.config();
  const Index all = plan.model.parameter_count();
  Index trained = 0;
  for (const auto& [name, tensor] : plan.model.trainable_parameters()) {
    trained += tensor.numel();
  }
  log_info(concat_text("model: ", model.n_layer, " layers, ", model.n_head, " heads, width ",
                       model.n_embd, ", block ", model.block_size, ", vocabulary ",
                       model.vocab_size, ": ", grouped(all), " parameters",
                       trained < all ? ", of which " + grouped(trained) + " are trained" : ""));
  log_info("data: " + grouped(plan.train.token_count) + " training tokens (" +
           grouped(plan.batches_per_epoch) + " batches per epoch), " +
           grouped(plan.validation.token_count) + " validation tokens");
  log_info(memory_text(plan.memory));
  watch_ = {};
}

void TrainProgress::on_step(const StepMetrics& metrics) {
  tokens_ += metrics.tokens;
  inputs_ += metrics.inputs;
  if (metrics.outcome != StepOutcome::updated) {
    on_warning("step " + std::to_string(metrics.iteration) + " is skipped: " + metrics.reason);
    return;
  }
  losses_.add(metrics.loss);
  last_iteration_ = metrics.iteration;
  const bool first = losses_.count() == 1;
  smooth_loss_ = first ? metrics.loss : kSmoothing * smooth_loss_ + (1 - kSmoothing) * metrics.loss;
  if (bar_.on_terminal()) {
    if (bar_.is_due() || metrics.iteration + 1 == max_iters_) {
      draw_bar(metrics);
    }
  } else if (metrics.iteration % log_interval_ == 0 || metrics.iteration + 1 == max_iters_) {
    show(metrics);
  }
}

void TrainProgress::show(const StepMetrics& metrics) {
  log_info(fmt::format("iter {}/{}: loss {:.4f}, lr {:.2e}, grad norm {:.3f}, {:.1f} ms, {}",
                       metrics.iteration + 1, max_iters_, metrics.loss, metrics.learning_rate,
                       metrics.gradient_norm, 1e3 * metrics.seconds, speed_text("tokens/s")));
}

void TrainProgress::draw_bar(const StepMetrics& metrics) {
  const auto done = static_cast<double>(metrics.iteration + 1 - first_iteration_);
  const auto left = static_cast<double>(max_iters_ - metrics.iteration - 1);
  const double share = static_cast<double>(metrics.iteration + 1) / static_cast<double>(max_iters_);
  // Narrow terminals cut the end, so the least important part is last.
  bar_.draw(
      progress_line(share,
                    {fmt::format("{:3.0f}% {}/{}", 100 * share, metrics.iteration + 1, max_iters_),
                     fmt::format("loss {:.3f}", smooth_loss_),
                     "ETA " + duration_text(watch_.seconds() / done * left), speed_text("tok/s"),
                     fmt::format("lr {:.1e}", metrics.learning_rate),
                     fmt::format("norm {:.2f}", metrics.gradient_norm)},
                    columns_of(Stream::errors)));
}

std::string TrainProgress::speed_text(const char* unit) const {
  const char* kind = tokens_ < inputs_ ? "learned " : "";  // conversations have context, too
  return concat_text(grouped(std::llround(tokens_per_second())), " ", kind, unit);
}

std::string TrainProgress::loss_curve() const {
  constexpr int kWidest = 60;
  constexpr int kHeight = 8;
  constexpr int kAxis = 11;  // columns of the labels and the axis
  const int width = std::clamp(columns_of(Stream::errors) - kAxis, 1, kWidest);
  const std::string steps = concat_text("loss, steps ", grouped(first_iteration_ + 1), " to ",
                                        grouped(last_iteration_ + 1));
  if (validation_.x.size() < 2) {
    return line_chart(losses_.points(), {.width = width, .x_label = "training " + steps});
  }
  ChartSeries training{.y = losses_.points(width), .mark = '.'};
  const double wide = static_cast<double>(losses_.count()) / static_cast<double>(training.y.size());
  for (std::size_t i = 0; i < training.y.size(); ++i) {
    training.x.push_back(static_cast<double>(first_iteration_) +
                         wide * (static_cast<double>(i) + 0.5));
  }
  return series_chart({training, validation_},
                      {.width = width,
                       .height = kHeight,
                       .colours = has_colours(Stream::errors),
                       .x_label = concat_text(steps, "; o: validation loss, line: training loss")});
}

// Returns a line of advice if the validation loss rose after its best step while the training loss
// fell; otherwise "".
std::string TrainProgress::overfitting(const RunResult& result) const {
  constexpr double kRise = 1.01;
  constexpr int kParts = 20;
  const double last = result.validation.loss;
  const std::vector<double> parts = losses_.points(kParts);
  if (validation_.x.size() < 2 || last < kRise * result.best_validation_loss || parts.empty()) {
    return "";
  }
  const double share = static_cast<double>(result.best_iteration - first_iteration_) /
                       static_cast<double>(std::max<Index>(1, losses_.count()));
  const auto best =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(parts.size() - 1));
  if (parts.back() > parts[best]) {
    return "";
  }
  return fmt::format(
      "over-fitting: since step {} the validation loss rose from {:.4f} to {:.4f}, while the "
      "training loss fell to {:.4f}. More data, or --dropout {}, helps; --patience 3 ends a run in "
      "time. {}/best has the model of step {}",
      grouped(result.best_iteration), result.best_validation_loss, last, parts.back(),
      dropout_ < 0.15 ? "0.2" : "above " + shortest_text(dropout_), shown(result.directory),
      grouped(result.best_iteration));
}

void TrainProgress::show_end(const RunResult& result) {
  if (const std::string curve = loss_curve(); !curve.empty()) {
    log_info("\n" + curve);
  }
  if (!validation_.x.empty() && result.best_iteration >= 0) {
    log_info(fmt::format("validation loss: best {:.4f} at step {}, last {:.4f} at step {:.0f}",
                         result.best_validation_loss, grouped(result.best_iteration),
                         validation_.y.back(), validation_.x.back()));
  }
  if (const std::string advice = overfitting(result); !advice.empty()) {
    log_warning(advice);
  }
}

void TrainProgress::on_evaluation(const EvaluationMetrics& metrics) {
  bar_.clear();
  validation_.x.push_back(static_cast<double>(metrics.iteration));
  validation_.y.push_back(metrics.validation.loss);
  if (logs_evaluations_) {
    log_info("iter " + std::to_string(metrics.iteration) + ": " +
             evaluation_text(metrics.validation) + (metrics.best ? " (best)" : ""));
  }
}

void TrainProgress::on_checkpoint(const std::filesystem::path& path) {
  bar_.clear();
  log_info("saved " + shown(path));
}

void TrainProgress::on_rollback(const RollbackMetrics& metrics) {
  on_warning("step " + std::to_string(metrics.from) + " failed: " + metrics.reason +
             "; returning to the checkpoint of step " + std::to_string(metrics.iteration) +
             " and continuing with other data");
}

void TrainProgress::on_warning(const std::string& text) {
  bar_.clear();
  log_warning(text);
}

std::function<void(double)> progress_bar(const std::string& label) {
  return [label, watch = Stopwatch(), bar = std::make_shared<LiveLine>()](double share) {
    if (share >= 1) {
      bar->clear();
    } else if (bar->is_due()) {
      std::vector<std::string> parts{fixed_number(100 * share, 0) + "%", label};
      if (share >= kLeastShare) {
        const double seconds = watch.seconds();
        parts.push_back("ETA " + duration_text(seconds / share - seconds));
      }
      bar->draw(progress_line(share, parts, columns_of(Stream::errors)));
    }
  };
}

std::function<void(double)> loading_bar() { return progress_bar("loading the model"); }

}  // namespace headlight::cli
