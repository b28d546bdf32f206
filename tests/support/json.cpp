#include <nlohmann/json.hpp>

// Here once for all tests; see precompiled.h.
template class nlohmann::basic_json<>;
