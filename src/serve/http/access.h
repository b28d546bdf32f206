#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/http/http.h"

namespace headlight::serve {

// Access control. Browsers send requests for any page that they show, and a host name can be
// rebound to this machine. So names and origins are checked even on loopback.
class Access {
 public:
  // `port`: of the server. `open_paths`: paths that need no key.
  Access(ServeOptions options, Index port, std::vector<std::string> open_paths = {});

  Admission check(const HttpRequest& head) const;
  // Returns a 401 that is sent one second late, so that guessing keys is slow.
  static HttpResponse wrong_key(std::string_view message, std::string_view about = {});
  // Whether `text` is the key. The time does not depend on `text`.
  bool is_key(std::string_view text) const;
  // Returns "name=value; ..." of a cookie that replaces the key until the server ends.
  std::string session_cookie() const;

 private:
  bool is_host_allowed(std::string_view host) const;
  bool has_key(const HttpRequest& head) const;
  std::string cookie_name() const;

  ServeOptions options_;
  Index port_;
  std::vector<std::string> open_paths_;
  std::string session_;  // random value of the cookie
};

// Returns the security headers of every answer.
HttpHeaders protective_headers();

// Whether `host` is localhost or a loopback address.
bool is_loopback(std::string_view host);

}  // namespace headlight::serve
