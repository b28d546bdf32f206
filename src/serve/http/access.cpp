#include "serve/http/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>

#include "base/strings/hex_text.h"
#include "base/strings/lower_case.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"
#include "serve/api_error.h"

namespace headlight::serve {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Compares every byte of `secret`, so that the time does not reveal the first difference.
bool equals_secret(std::string_view text, std::string_view secret) {
  unsigned difference = text.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char other = i < text.size() ? text[i] : '\0';
    difference |= static_cast<unsigned char>(secret[i] ^ other);
  }
  return difference == 0;
}

std::string random_secret() {
  unsigned char bytes[32];
  require(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "the system has no random numbers");
  return hex_text(bytes);
}

// Parses an address of `family` into `address`. inet_pton() would stop at a NUL byte.
bool read_address(std::string_view text, int family, void* address) {
  return text.find('\0') == std::string_view::npos &&
         inet_pton(family, std::string(text).c_str(), address) == 1;
}

// Whether `host` is an IPv4 or IPv6 address, with or without brackets.
bool is_address(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  in6_addr address{};  // large enough for both families
  return read_address(host, AF_INET, &address) || read_address(host, AF_INET6, &address);
}

// Returns "localhost" for "localhost:8080", "[::1]" for "[::1]:8080".
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

// Returns the value of a cookie in "a=1; b=2", or "" if it is missing.
std::string_view cookie_of(std::string_view cookies, const std::string& name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view pair = trimmed(cookies.substr(0, end));
    if (pair.starts_with(name + "=")) {
      return pair.substr(name.size() + 1);
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

// Whether a page of another server sends the request.
bool is_foreign(const HttpRequest& head, std::string_view host) {
  if (const std::string* origin = head.header("origin")) {
    const std::size_t end = origin->find("://");
    const std::string scheme = origin->substr(0, end);
    const bool is_own = (scheme == "http" || scheme == "https") && end != std::string::npos &&
                        lower_case(origin->substr(end + 3)) == lower_case(host);
    return !is_own;
  }
  const std::string* site = head.header("sec-fetch-site");
  return site != nullptr && head.path != "/" && *site != "same-origin" && *site != "none";
}

HttpHeaders sharing_headers(const std::string& origin) {
  return {{"Access-Control-Allow-Origin", origin},
          {"Vary", "Origin"},
          // Clients send headers of their own, such as X-Stainless-OS. * excludes Authorization.
          {"Access-Control-Allow-Headers", "Authorization, Content-Type, *"},
          {"Access-Control-Allow-Methods", "GET, POST"},
          {"Access-Control-Max-Age", "600"}};
}

}  // namespace

Access::Access(ServeOptions options, Index port, std::vector<std::string> open_paths)
    : options_(std::move(options)),
      port_(port),
      open_paths_(std::move(open_paths)),
      session_(random_secret()) {
  for (std::string& host : options_.allowed_hosts) {
    host = lower_case(host);
  }
}

HttpResponse Access::wrong_key(std::string_view message, std::string_view about) {
  HttpResponse response = error_response(401, message, about, "invalid_api_key");
  response.seconds_held_back = 1;
  return response;
}

bool Access::is_key(std::string_view text) const { return equals_secret(text, options_.api_key); }

std::string Access::cookie_name() const { return "headlight_" + std::to_string(port_); }

std::string Access::session_cookie() const {
  return cookie_name() + "=" + session_ + "; HttpOnly; SameSite=Strict; Path=/";
}

// A name can be rebound to another machine; an address cannot. Names are case-insensitive.
bool Access::is_host_allowed(std::string_view host) const {
  const std::string name = lower_case(without_port(host));
  return name == "localhost" || is_address(name) || contains(options_.allowed_hosts, name);
}

bool Access::has_key(const HttpRequest& head) const {
  if (options_.api_key.empty() || contains(open_paths_, head.path)) {
    return true;
  }
  constexpr std::string_view kBearer = "bearer ";  // schemes are case-insensitive
  // Anthropic's clients have a header of their own.
  if (const std::string* key = head.header("x-api-key"); key != nullptr && is_key(*key)) {
    return true;
  }
  const std::string* authorization = head.header("authorization");
  if (authorization != nullptr && lower_case(*authorization).starts_with(kBearer)) {
    return is_key(std::string_view(*authorization).substr(kBearer.size()));
  }
  const std::string* cookies = head.header("cookie");
  return cookies != nullptr && equals_secret(cookie_of(*cookies, cookie_name()), session_);
}

Admission Access::check(const HttpRequest& head) const {
  const std::string* host = head.header("host");
  if (host == nullptr || !is_host_allowed(*host)) {
    return {.refusal = error_response(403,
                                      "unknown host name: expected localhost, an "
                                      "address or a name of --allow_host")};
  }
  const std::string* origin = head.header("origin");
  const bool is_shared = origin != nullptr && contains(options_.allowed_origins, *origin);
  if (!is_shared && is_foreign(head, *host)) {
    return {.refusal = error_response(403, "requests from pages of other servers are not allowed")};
  }
  Admission admission;
  if (is_shared) {
    admission.headers = sharing_headers(*origin);
  }
  if (is_shared && head.method == "OPTIONS") {
    admission.refusal = HttpResponse{.status = 204};
  } else if (!has_key(head)) {
    admission.refusal = wrong_key("expected the server's key: Authorization: Bearer KEY");
    if (head.header("authorization") == nullptr && head.header("x-api-key") == nullptr) {
      // No key was tried.
      admission.refusal->seconds_held_back = 0;
    }
  }
  return admission;
}

HttpHeaders protective_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

bool is_loopback(std::string_view host) {
  in_addr v4{};
  in6_addr v6{};
  return host == "localhost" ||
         (read_address(host, AF_INET, &v4) && ntohl(v4.s_addr) >> 24U == 127) ||
         (read_address(host, AF_INET6, &v6) && IN6_IS_ADDR_LOOPBACK(&v6));
}

}  // namespace headlight::serve
