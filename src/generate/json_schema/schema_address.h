#pragma once

#include <string>
#include <string_view>

namespace headlight {

// Returns the address that a reference has from another address (RFC 3986, section 5).
std::string joined_address(std::string_view base, std::string_view reference);

}  // namespace headlight
