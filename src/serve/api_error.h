#pragma once

#include "base/json.h"
#include "headlight/base/error.h"
#include "serve/http/exchange.h"

namespace headlight::serve {

// Returns an error in OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
HttpResponse error_response(int status, std::string_view message, std::string_view about = {},
                            std::string_view code = {});
// Returns an error of such a response in the shape of Anthropic's API.
Json anthropic_error(int status, const Json& error);
// Returns the error response for the exception being handled.
HttpResponse current_error_response();

// Error with its own HTTP status and code. Any other Error gives status 400.
class ApiError : public Error {
 public:
  // The message begins with `about`. `headers` are added to every error's headers.
  ApiError(int status, std::string_view code, const std::string& message,
           std::string_view about = {}, const HttpHeaders& headers = {});

  const HttpResponse& response() const { return response_; }

 private:
  HttpResponse response_;
};

// Returns the error 404 about a path that the server lacks.
ApiError unknown_path(std::string_view path);

// OpenAI's error code for requests that exceed the context length.
inline constexpr const char* kContextExceeded = "context_length_exceeded";

}  // namespace headlight::serve
