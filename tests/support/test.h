#pragma once

// The header that every test includes. It has the public headers of the library's core, the readers
// of models, what tests share, and short names for all of them.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "headlight/formats/arrays/npz.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/headlight.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/lists.h"
#include "support/models.h"
#include "support/programs/commands.h"
#include "support/programs/program.h"
#include "support/runs.h"
#include "support/tensors.h"

extern template class nlohmann::basic_json<>;  // json.cpp

namespace fs = std::filesystem;
using namespace headlight;
using namespace headlight::test;
using nlohmann::json;
