#include "serve/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

namespace headlight::serve {
namespace {

// Parses an address of `family` into `address`. inet_pton() would stop at a NUL byte.
bool read_address(std::string_view text, int family, void* address) {
  return text.find('\0') == std::string_view::npos &&
         inet_pton(family, std::string(text).c_str(), address) == 1;
}

}  // namespace

bool is_address(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  in6_addr address{};  // large enough for both families
  return read_address(host, AF_INET, &address) || read_address(host, AF_INET6, &address);
}

bool is_loopback(std::string_view host) {
  in_addr v4{};
  in6_addr v6{};
  return host == "localhost" ||
         (read_address(host, AF_INET, &v4) && ntohl(v4.s_addr) >> 24U == 127) ||
         (read_address(host, AF_INET6, &v6) && IN6_IS_ADDR_LOOPBACK(&v6));
}

}  // namespace headlight::serve
