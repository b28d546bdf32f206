#pragma once

#include <string_view>

namespace headlight::serve {

// Whether `host` is an IPv4 or IPv6 address, with or without brackets.
bool is_address(std::string_view host);
// Whether `host` is localhost or a loopback address.
bool is_loopback(std::string_view host);

}  // namespace headlight::serve
