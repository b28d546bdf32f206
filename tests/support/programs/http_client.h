#pragma once

#include <map>
#include <string>
#include <string_view>

// HTTP client for tests, which may also misbehave.
class HttpClient {
 public:
  struct Answer {
    int status = 0;                                   // 0: the connection ended without an answer
    std::map<std::string, std::string> headers = {};  // names in lower case
    std::string body = {};
  };

  // Connects to this machine. Throws std::runtime_error without a listener.
  explicit HttpClient(long port);
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends bytes unchanged. Returns false after the server has closed the connection.
  bool send(std::string_view bytes) const;
  // Receives the next answer. Waits up to 30 seconds.
  Answer receive();
  // Receives the next bytes of a stream; "" at its end.
  std::string receive_some();
  void close();

  Answer get(const std::string& path);
  Answer post(const std::string& path, const std::string& body);

 private:
  bool fill();
  std::string take_line();
  std::string take(std::size_t count);

  int socket_;
  std::string buffer_;
  bool ended_ = false;
};

// Head of a request with its empty line, for a body of `length` bytes.
std::string request_head(const std::string& method, const std::string& path, std::size_t length,
                         const std::string& more_headers = "");
