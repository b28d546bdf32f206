#pragma once

#include <cstddef>
#include <vector>

namespace headlight {

inline constexpr std::size_t kSpikeWindow = 128;  // losses

// Returns by how many standard deviations a loss exceeds the mean of the recent losses, as in
// llm.c's outlier detector; 0 for fewer than kSpikeWindow recent losses.
double spike_score(const std::vector<double>& recent, double loss);

// Adds a loss and drops the oldest beyond kSpikeWindow.
void remember_loss(std::vector<double>& recent, double loss);

}  // namespace headlight
