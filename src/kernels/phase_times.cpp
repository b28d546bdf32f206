#include "kernels/phase_times.h"

namespace headlight::kernels {
namespace {

thread_local PhaseTimes* current_phase_times = nullptr;

}  // namespace

PhaseTimes::PhaseTimes() { current_phase_times = this; }

PhaseTimes::~PhaseTimes() { current_phase_times = nullptr; }

PhaseTimes* PhaseTimes::current() { return current_phase_times; }

void PhaseTimes::add_product(const PhaseTime& product, double after) {
  products_.seconds += product.seconds;
  products_.flops += product.flops;
  products_.bytes += product.bytes;
  after_ += after;
}

void PhaseTimes::end(std::string_view name, bool is_backward) {
  phases_[{name, is_backward}].seconds += clock_.lap() - products_.seconds;
  if (products_.flops > 0) {
    PhaseTime& products = phases_[{name, is_backward, PhaseKind::products}];
    products.seconds += products_.seconds - after_;
    products.flops += products_.flops;
    products.bytes += products_.bytes;
  }
  if (after_ > 0) {
    phases_[{name, is_backward, PhaseKind::after}].seconds += after_;
  }
  products_ = {};
  after_ = 0;
}

}  // namespace headlight::kernels
