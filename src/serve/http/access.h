#pragma once

#include <string>
#include <vector>

#include "serve/http/http.h"

namespace headlight::serve {

// Who may ask. Browsers send requests for any page that they show, and what a name means is up to
// whoever owns it; so names and origins are checked even where only this machine can connect.
class Access {
 public:
  struct Options {
    std::string api_key = {};  // empty: none is asked for
    Index port = 0;
    std::vector<std::string> allowed_hosts = {};
    std::vector<std::string> allowed_origins = {};
    // Paths that need no key.
    std::vector<std::string> open_paths = {};
  };

  explicit Access(Options options);

  Admission check(const HttpRequest& head) const;
  // Refuses a wrong key, one second late, so that keys cannot be tried quickly.
  static HttpResponse wrong_key(std::string_view message, std::string_view about = {});
  // Whether that is the key. Takes as long for every text.
  bool is_key(std::string_view text) const;
  // "name=value; ..." of a cookie that stands for the key until the server ends.
  std::string session_cookie() const;

 private:
  bool is_host_allowed(std::string_view host) const;
  bool is_own_origin(std::string_view origin, std::string_view host) const;
  bool has_key(const HttpRequest& head) const;
  std::string cookie_name() const;

  Options options_;
  std::string session_;  // random
};

// Security headers of every answer.
HttpHeaders protective_headers();

}  // namespace headlight::serve
