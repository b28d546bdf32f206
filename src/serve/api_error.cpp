#include "serve/api_error.h"

#include <exception>
#include <new>

#include "base/strings/printable.h"
#include "headlight/generate/sampler.h"

namespace headlight::serve {
namespace {

const char* type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

// https://docs.anthropic.com/en/api/errors
const char* anthropic_type_of(int status) {
  switch (status) {
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? type_of(status) : "api_error";
  }
}

}  // namespace

Json anthropic_error(int status, const Json& error) {
  return {{"type", "error"},
          {"error", {{"type", anthropic_type_of(status)}, {"message", error["message"]}}}};
}

HttpResponse error_response(int status, std::string_view message, std::string_view about,
                            std::string_view code) {
  const Json error{{"message", message},
                   {"type", type_of(status)},
                   {"param", about.empty() ? Json() : Json(about)},
                   {"code", code.empty() ? Json() : Json(code)}};
  HttpResponse response{.status = status,
                        .headers = {{"Content-Type", "application/json"}},
                        .body = Json{{"error", error}}.dump()};
  if (status == 429 || status == 503) {
    response.headers.emplace_back("Retry-After", "2");
  }
  if (status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

ApiError::ApiError(int status, std::string_view code, const std::string& message,
                   std::string_view about, const HttpHeaders& headers)
    : Error(about.empty() ? message : concat_text(about, ": ", message), about),
      response_(error_response(status, what(), about, code)) {
  response_.headers.insert(response_.headers.end(), headers.begin(), headers.end());
}

ApiError unknown_path(std::string_view path) {
  return {404, "",
          concat_text("unknown path ", in_quotes(path), "; headlight serve --help lists the API")};
}

HttpResponse current_error_response() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error.response();
  } catch (const OutOfMemory& error) {
    return error_response(503, error.what());
  } catch (const ModelFault& error) {
    return error_response(500, error.what());
  } catch (const Error& error) {
    return error_response(400, error.what(), error.about());
  } catch (const std::bad_alloc&) {
    return error_response(503, "out of memory");
  } catch (const std::exception& error) {
    return error_response(500, escaped(error.what()));
  }
}

}  // namespace headlight::serve
