#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "headlight/nn/gpt.h"
#include "support/catch.h"

// Common headers of the tests. Tests still include all that they need, because this header is
// active only with precompiled headers.
extern template class nlohmann::basic_json<>;  // json.cpp
