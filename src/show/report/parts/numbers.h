#pragma once

#include <string>

#include "headlight/tensor/shape.h"

// Numbers formatted for display.
namespace headlight {

// "0.0123", independent of the locale
std::string fixed_number(double value, int decimals);
// "+0.0123"
std::string signed_number(double value, int decimals);
// "124,439,808"
std::string grouped(Index value);
// "1 head", "2,000 heads"
std::string counted(Index count, const std::string& noun);
// "497.8 MB"
std::string bytes_text(double bytes);
// "0:42", "1:05:09"
std::string duration_text(double seconds);

}  // namespace headlight
