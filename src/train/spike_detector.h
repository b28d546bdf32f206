#pragma once

#include <cstddef>
#include <vector>

namespace headlight {

inline constexpr std::size_t kSpikeWindow = 128;  // losses

// How many standard deviations a loss lies above the mean of the recent ones, as llm.c's outlier
// detector counts; 0 while there are fewer than kSpikeWindow of them.
double spike_score(const std::vector<double>& recent, double loss);

// Adds a loss and forgets the oldest beyond kSpikeWindow.
void remember_loss(std::vector<double>& recent, double loss);

}  // namespace headlight
