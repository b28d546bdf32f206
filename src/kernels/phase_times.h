#pragma once

#include <map>
#include <string_view>
#include <tuple>

#include "base/stopwatch.h"

// Measures where the time of a computation goes.
namespace headlight::kernels {

enum class PhaseKind {
  products,  // matrix products, without their `after`
  after,     // `after` of products: activations
  rest
};

// A part of a computation: an op of autograd ("linear") or a named phase ("optimizer").
struct PhaseKey {
  std::string_view name;  // a string literal
  bool is_backward = false;
  PhaseKind kind = PhaseKind::rest;

  bool operator<(const PhaseKey& other) const {
    return std::tie(name, is_backward, kind) < std::tie(other.name, other.is_backward, other.kind);
  }
};

struct PhaseTime {
  double seconds = 0;
  double flops = 0;  // of products
  double bytes = 0;  // of products: operands and results, each read or written once
};

// While it lives, times the ops and products that its thread starts.
class PhaseTimes {
 public:
  PhaseTimes();
  ~PhaseTimes();
  PhaseTimes(const PhaseTimes&) = delete;
  PhaseTimes& operator=(const PhaseTimes&) = delete;

  // Returns the measurement of this thread, or null.
  static PhaseTimes* current();

  // Adds a product to the phase that ends next; `after` is the part of its time for `after`.
  void add_product(const PhaseTime& product, double after);
  // Adds the time since the last phase ended.
  void end(std::string_view name, bool is_backward);

  const std::map<PhaseKey, PhaseTime>& phases() const { return phases_; }

 private:
  Stopwatch clock_;
  PhaseTime products_;  // since the last phase ended, `after` included
  double after_ = 0;
  std::map<PhaseKey, PhaseTime> phases_;
};

// Ends a phase of the measurement of this thread, if there is one.
inline void end_phase(std::string_view name, bool is_backward = false) {
  if (PhaseTimes* times = PhaseTimes::current()) {
    times->end(name, is_backward);
  }
}

}  // namespace headlight::kernels
