#include <nlohmann/json.hpp>

// The only instantiation in all tests; see precompiled.h.
template class nlohmann::basic_json<>;
