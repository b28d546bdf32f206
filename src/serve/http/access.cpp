#include "serve/http/access.h"

#include <sys/random.h>

#include <algorithm>

#include "base/hex_text.h"
#include "headlight/base/error.h"
#include "serve/api_error.h"
#include "serve/http/address.h"
#include "serve/http/header_text.h"

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

constexpr std::string_view kBearer = "bearer ";

// Authorization schemes are case-insensitive.
bool has_bearer_scheme(std::string_view authorization) {
  return lower_case(authorization.substr(0, kBearer.size())) == kBearer;
}

std::string random_secret() {
  unsigned char bytes[32];
  require(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "the system has no random numbers");
  return hex_text(bytes);
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
std::string_view cookie_of(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view pair = trimmed(cookies.substr(0, end));
    const std::size_t sign = pair.find('=');
    if (sign != std::string_view::npos && pair.substr(0, sign) == name) {
      return pair.substr(sign + 1);
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
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

Access::Access(Options options) : options_(std::move(options)), session_(random_secret()) {
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

std::string Access::cookie_name() const { return "headlight_" + std::to_string(options_.port); }

std::string Access::session_cookie() const {
  return cookie_name() + "=" + session_ + "; HttpOnly; SameSite=Strict; Path=/";
}

// A name can be rebound to another machine; an address cannot. Names are case-insensitive.
bool Access::is_host_allowed(std::string_view host) const {
  const std::string name = lower_case(without_port(host));
  return name == "localhost" || is_address(name) || contains(options_.allowed_hosts, name);
}

bool Access::is_own_origin(std::string_view origin, std::string_view host) const {
  const std::size_t end = origin.find("://");
  const std::string_view scheme = origin.substr(0, end);
  return (scheme == "http" || scheme == "https") && end != std::string_view::npos &&
         lower_case(origin.substr(end + 3)) == lower_case(host);
}

bool Access::has_key(const HttpRequest& head) const {
  if (options_.api_key.empty() || contains(options_.open_paths, head.path)) {
    return true;
  }
  const std::string* authorization = head.header("authorization");
  if (authorization != nullptr && has_bearer_scheme(*authorization)) {
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
  HttpHeaders headers;
  if (const std::string* origin = head.header("origin")) {
    if (contains(options_.allowed_origins, *origin)) {
      headers = sharing_headers(*origin);
    } else if (!is_own_origin(*origin, *host)) {
      return {.refusal =
                  error_response(403, "requests from pages of other servers are not allowed")};
    }
    if (head.method == "OPTIONS" && !headers.empty()) {
      return {.refusal = HttpResponse{.status = 204}, .headers = std::move(headers)};
    }
  } else if (const std::string* site = head.header("sec-fetch-site");
             site != nullptr && head.path != "/" && *site != "same-origin" && *site != "none") {
    return {.refusal = error_response(403, "requests from pages of other servers are not allowed")};
  }
  if (!has_key(head)) {
    HttpResponse refusal = wrong_key("expected the server's key: Authorization: Bearer KEY");
    if (head.header("authorization") == nullptr) {  // no key was tried
      refusal.seconds_held_back = 0;
    }
    return {.refusal = std::move(refusal), .headers = std::move(headers)};
  }
  return {.headers = std::move(headers)};
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

}  // namespace headlight::serve
