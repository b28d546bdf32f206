#include "support/programs/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

HttpClient::HttpClient(long port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval wait{.tv_sec = 30, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close();
    throw std::runtime_error("cannot connect");
  }
}

void HttpClient::close() {
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

bool HttpClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool HttpClient::fill() {
  char bytes[16384];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  ended_ = ended_ || count <= 0;
  buffer_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

std::string HttpClient::take(std::size_t count) {
  while (buffer_.size() < count && fill()) {
  }
  const std::string taken = buffer_.substr(0, count);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string HttpClient::take_line() {
  std::size_t end = buffer_.find("\r\n");
  while (end == std::string::npos && fill()) {
    end = buffer_.find("\r\n");
  }
  const std::string line = take(std::min(end, buffer_.size()));
  take(end == std::string::npos ? 0 : 2);
  return line;
}

HttpClient::Answer HttpClient::receive() {
  Answer answer;
  const std::string status = take_line();
  if (status.size() < 12) {
    return answer;
  }
  answer.status = std::stoi(status.substr(9, 3));
  for (std::string line = take_line(); !line.empty(); line = take_line()) {
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = line.substr(std::min(line.size(), name.size() + 2));
  }
  if (answer.headers.count("content-length") > 0) {
    answer.body = take(std::stoul(answer.headers["content-length"]));
  } else if (answer.headers["transfer-encoding"] == "chunked") {
    while (true) {
      const std::size_t size = std::stoul("0" + take_line(), nullptr, 16);
      answer.body += take(size);
      take_line();
      if (size == 0) {
        break;
      }
    }
  }
  return answer;
}

std::string HttpClient::receive_some() {
  if (buffer_.empty()) {
    fill();
  }
  return take(buffer_.size());
}

std::string request_head(const std::string& method, const std::string& path, std::size_t length,
                         const std::string& more_headers) {
  std::string head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more_headers;
  if (method == "POST") {
    head += "Content-Type: application/json\r\nContent-Length: " + std::to_string(length) + "\r\n";
  }
  return head + "\r\n";
}

HttpClient::Answer HttpClient::get(const std::string& path) {
  send(request_head("GET", path, 0));
  return receive();
}

HttpClient::Answer HttpClient::post(const std::string& path, const std::string& body) {
  send(request_head("POST", path, body.size()) + body);
  return receive();
}
