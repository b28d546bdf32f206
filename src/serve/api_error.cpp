#include "serve/api_error.h"

#include <exception>
#include <new>

#include "base/json.h"

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

// Removes the leading "about: " of a message, which error_body() adds again.
std::string_view without_name(std::string_view message, std::string_view about) {
  const bool has_name = !about.empty() && message.starts_with(about) &&
                        message.substr(about.size()).starts_with(": ");
  return has_name ? message.substr(about.size() + 2) : message;
}

std::string error_body(int status, std::string_view message, std::string_view about,
                       std::string_view code) {
  const std::string text =
      about.empty() ? std::string(message)
                    : std::string(about) + ": " + std::string(without_name(message, about));
  const Json error{{"message", text},
                   {"type", type_of(status)},
                   {"param", about.empty() ? Json() : Json(about)},
                   {"code", code.empty() ? Json() : Json(code)}};
  return Json{{"error", error}}.dump();
}

}  // namespace

HttpResponse error_response(int status, std::string_view message, std::string_view about,
                            std::string_view code) {
  HttpResponse response{.status = status,
                        .headers = {{"Content-Type", "application/json"}},
                        .body = error_body(status, message, about, code)};
  if (status == 429 || status == 503) {
    response.headers.emplace_back("Retry-After", "2");
  }
  if (status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

HttpResponse current_error_response() {
  try {
    throw;
  } catch (const ApiError& error) {
    HttpResponse response =
        error_response(error.status(), error.what(), error.about(), error.code());
    response.headers.insert(response.headers.end(), error.headers().begin(), error.headers().end());
    return response;
  } catch (const Error& error) {
    return error_response(400, error.what(), error.about());
  } catch (const std::bad_alloc&) {
    return error_response(503, "out of memory");
  } catch (const std::exception& error) {
    return error_response(500, escaped(error.what()));
  }
}

}  // namespace headlight::serve
