#pragma once

#include "headlight/base/error.h"
#include "serve/http/http.h"

namespace headlight::serve {

// Error with its own HTTP status and code. Any other Error gives status 400.
class ApiError : public Error {
 public:
  ApiError(int status, std::string code, const std::string& message, std::string_view about = {},
           HttpHeaders headers = {})
      : Error(message, about),
        status_(status),
        code_(std::move(code)),
        headers_(std::move(headers)) {}

  int status() const { return status_; }
  const std::string& code() const { return code_; }
  const HttpHeaders& headers() const { return headers_; }

 private:
  int status_;
  std::string code_;
  HttpHeaders headers_;  // added to those of every error
};

// OpenAI's error code for requests that exceed the context length.
inline constexpr const char* kContextExceeded = "context_length_exceeded";

// Returns an error in OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
HttpResponse error_response(int status, std::string_view message, std::string_view about = {},
                            std::string_view code = {});
// Returns the error response for the exception being handled.
HttpResponse current_error_response();

}  // namespace headlight::serve
