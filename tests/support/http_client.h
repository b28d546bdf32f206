#pragma once

#include <map>
#include <string>
#include <string_view>

// A client for tests, which may also misbehave.
class HttpClient {
 public:
  struct Answer {
    int status = 0;                                   // 0: the connection ended without one
    std::map<std::string, std::string> headers = {};  // names in lower case
    std::string body = {};
  };

  // Connects to this machine. Throws std::runtime_error when nobody listens.
  explicit HttpClient(long port);
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Bytes as they are; false once the server has closed.
  bool send(std::string_view bytes) const;
  // The next answer; waits up to half a minute.
  Answer receive();
  // What comes next of a stream, at least a byte; "": its end.
  std::string receive_some();
  void close();

  Answer get(const std::string& path);
  Answer post(const std::string& path, const std::string& json);

 private:
  bool fill();
  std::string take_line();
  std::string take(std::size_t count);

  int socket_;
  std::string buffer_;
  bool ended_ = false;
};

// The head of a request with its empty line, for a body of that length.
std::string request_head(const std::string& method, const std::string& path, std::size_t length,
                         const std::string& more_headers = "");
