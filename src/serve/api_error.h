#pragma once

#include "headlight/base/error.h"
#include "serve/http/http.h"

namespace headlight::serve {

// An answer with another status than the 400 that any Error gives.
class ApiError : public Error {
 public:
  ApiError(int status, std::string code, const std::string& message, std::string_view about = {})
      : Error(message, about), status_(status), code_(std::move(code)) {}

  int status() const { return status_; }
  const std::string& code() const { return code_; }

 private:
  int status_;
  std::string code_;
};

// In OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
HttpResponse error_response(int status, std::string_view message, std::string_view about = {},
                            std::string_view code = {});
// Of the exception that is being handled.
HttpResponse current_error_response();

}  // namespace headlight::serve
