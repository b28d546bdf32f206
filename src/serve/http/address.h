#pragma once

#include <string_view>

namespace headlight::serve {

// Whether that is an address, IPv4 or IPv6, and no name; IPv6 ones may stand in brackets.
bool is_address(std::string_view host);
// Whether only programs of this machine reach that host.
bool is_loopback(std::string_view host);

}  // namespace headlight::serve
