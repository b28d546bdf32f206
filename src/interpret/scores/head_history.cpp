#include "interpret/scores/head_history.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/formats/run_layout.h"
#include "headlight/interpret/bootstrap.h"

namespace headlight {
namespace {

constexpr double kLargestNumber = 1e15;  // limit for steps, layers and heads
constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

double number_of(const Json& json, const std::string& key) {
  const Json* found = json.find(key);  // nullptr for values that are not objects
  return found != nullptr && found->is_number() ? found->number() : kNotMeasured;
}

// Calls visit(json) for each complete object of a JSON lines file; holds one in memory at a time.
template <class Visit>
void for_each_line(const std::filesystem::path& path, const Visit& visit) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const Json json = try_parse_json(line).value_or(Json());
    const double iteration = number_of(json, "iteration");
    if (iteration >= 0 && iteration <= kLargestNumber) {
      visit(json);
    }
  }
}

std::vector<HeadId> heads_of(const Json& line, const std::string& where) {
  std::vector<HeadId> heads;
  const Json* found = line.find("heads");
  require(found != nullptr && found->is_array(), where, ": expected a list 'heads' in every line");
  for (const Json& head : *found) {
    for (const char* key : {"layer", "index"}) {
      const double number = number_of(head, key);
      require(number >= 0 && number <= kLargestNumber, where, ": expected '", key,
              "' of every head");
    }
    heads.push_back({static_cast<Index>(number_of(head, "layer")),
                     static_cast<Index>(number_of(head, "index"))});
  }
  return heads;
}

void add_scores(const Json& line, HeadHistory& history) {
  for (std::size_t head = 0; head < history.heads.size(); ++head) {
    for (const auto& [key, value] : line["heads"][head].members()) {
      if ((value.is_number() || value.is_null()) && key != "layer" && key != "index") {
        auto& curves = history.scores[key];
        curves.resize(history.heads.size());
        curves[head].resize(history.iterations.size() - 1, kNotMeasured);
        curves[head].push_back(value.is_number() ? value.number() : kNotMeasured);
      }
    }
  }
}

// Mean training loss between one time and the next. At time 0 it is the loss of the first step,
// which is computed before the weights change.
void take_losses(const std::filesystem::path& path, HeadHistory& history) {
  const std::vector<double>& times = history.iterations;
  std::vector<double> sums(times.size());
  std::vector<double> counts(times.size());
  for_each_line(path, [&](const Json& line) {
    const double iteration = number_of(line, "iteration");
    const double loss = number_of(line, "loss");
    if (!std::isfinite(loss)) {
      return;  // evaluation line
    }
    const auto time = static_cast<std::size_t>(
        std::upper_bound(times.begin(), times.end(), iteration) - times.begin());
    if (time < times.size()) {
      sums[time] += loss;
      counts[time] += 1;
    }
    if (iteration == 0 && times.front() == 0) {
      history.loss.front() = loss;
    }
  });
  for (std::size_t time = 0; time < times.size(); ++time) {
    if (counts[time] > 0) {
      history.loss[time] = sums[time] / counts[time];
    }
  }
}

}  // namespace

HeadHistory read_head_history(const std::filesystem::path& run) {
  const std::filesystem::path path = run / kRunHeads;
  require(std::filesystem::exists(path), path.string(),
          ": no such file; train with --track_heads N to have one");
  HeadHistory history;
  for_each_line(path, [&](const Json& line) {
    const std::vector<HeadId> heads = heads_of(line, path.string());
    if (history.iterations.empty()) {
      history.heads = heads;
    }
    require(heads == history.heads, path.string(), ": expected the same heads in every line");
    require(history.iterations.empty() || number_of(line, "iteration") > history.iterations.back(),
            path.string(), ": expected later iterations in later lines");
    history.iterations.push_back(number_of(line, "iteration"));
    history.loss.push_back(number_of(line, "loss"));
    history.first_copy.push_back(number_of(line, "first_copy_loss"));
    history.second_copy.push_back(number_of(line, "second_copy_loss"));
    history.in_context.push_back(number_of(line, "in_context"));
    history.text_positions = number_of(line, "text_places");
    history.repeat_positions = number_of(line, "repeat_places");
    add_scores(line, history);
  });
  require(!history.iterations.empty() && !history.heads.empty(), path.string(),
          ": expected at least one line with heads");
  for (auto& [score, curves] : history.scores) {
    for (std::vector<double>& curve : curves) {
      curve.resize(history.iterations.size(), kNotMeasured);
    }
  }
  take_losses(run / kRunMetrics, history);
  return history;
}

std::vector<HeadBirth> head_births(const HeadHistory& history, const std::string& score,
                                   double threshold) {
  std::vector<HeadBirth> births;
  const double positions = score == "induction" ? history.repeat_positions : history.text_positions;
  const auto& curves = history.scores.at(score);
  for (std::size_t head = 0; head < curves.size(); ++head) {
    const auto reached = std::find_if(curves[head].begin(), curves[head].end(),
                                      [&](double value) { return value >= threshold; });
    if (reached != curves[head].end()) {
      // NaN compares as smaller.
      const double most =
          *std::max_element(reached, curves[head].end(), [](double a, double b) { return a < b; });
      births.push_back({history.heads[head],
                        static_cast<std::size_t>(reached - curves[head].begin()),
                        std::isnan(positions) || bounded_mean(most, positions).low >= threshold});
    }
  }
  std::stable_sort(births.begin(), births.end(),
                   [](const HeadBirth& a, const HeadBirth& b) { return a.time < b.time; });
  return births;
}

std::vector<std::size_t> heads_by_last(const HeadHistory& history, const std::string& score) {
  const auto& curves = history.scores.at(score);
  const auto last = [&](std::size_t head) {
    const double value = curves[head].back();
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::vector<std::size_t> order(curves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return last(a) > last(b); });
  return order;
}

}  // namespace headlight
