#pragma once

#include "headlight/base/error.h"
#include "serve/http/http.h"

namespace headlight::serve {

// An answer with another status than the 400 that any Error gives.
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
  HttpHeaders headers_;  // of the answer, beside those of every error
};

// The code of what does not fit into the positions that there are; OpenAI's clients know it.
inline constexpr const char* kContextExceeded = "context_length_exceeded";

// In OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
HttpResponse error_response(int status, std::string_view message, std::string_view about = {},
                            std::string_view code = {});
// Of the exception that is being handled.
HttpResponse current_error_response();

}  // namespace headlight::serve
