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

// What most tests include. Every one includes what it needs all the same: this header is seen only
// where headers are precompiled.
extern template class nlohmann::basic_json<>;  // json.cpp
