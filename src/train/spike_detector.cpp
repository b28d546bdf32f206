#include "train/spike_detector.h"

#include <cmath>

namespace headlight {

double spike_score(const std::vector<double>& recent, double loss) {
  if (recent.size() < kSpikeWindow) {
    return 0;
  }
  const auto count = static_cast<double>(recent.size());
  double mean = 0;
  for (const double value : recent) {
    mean += value / count;
  }
  double variance = 0;
  for (const double value : recent) {
    variance += (value - mean) * (value - mean) / count;
  }
  return variance > 0 ? (loss - mean) / std::sqrt(variance) : 0;
}

void remember_loss(std::vector<double>& recent, double loss) {
  recent.push_back(loss);
  if (recent.size() > kSpikeWindow) {
    recent.erase(recent.begin());
  }
}

}  // namespace headlight
