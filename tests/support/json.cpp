#include <nlohmann/json.hpp>

// The only instantiation in all tests; see test.h.
template class nlohmann::basic_json<>;
