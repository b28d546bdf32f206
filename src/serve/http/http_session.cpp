#include "serve/http/http_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <cstdio>

#include "base/strings/lower_case.h"

namespace headlight::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// Reads the target "/path?query" or "http://host/path?query", which replaces `host`.
void read_target(std::string_view target, std::string& host, std::string& path) {
  const std::size_t scheme = target.find("://");
  const std::string name = lower_case(target.substr(0, scheme));
  const bool is_whole = scheme != std::string_view::npos && (name == "http" || name == "https");
  if (is_whole) {
    target.remove_prefix(scheme + 3);
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    host = target.substr(0, end);
    target.remove_prefix(end);
  }
  path = target.substr(0, target.find('?'));
  if (is_whole && path.empty()) {
    path = "/";
  }
}

std::string address_of(const tcp::socket& socket) {
  ErrorCode ignored;
  const asio::ip::address address = socket.local_endpoint(ignored).address();
  return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

// `address`: local address that the client connected to.
HttpRequest request_of(const http::request<http::string_body>& message,
                       const std::string& address) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  if (request.method == "HEAD") {
    request.method = "GET";
  }
  const bool has_host = message.count(http::field::host) > 0;
  std::string host = has_host ? std::string(message[http::field::host]) : address;
  read_target(std::string(message.target()), host, request.path);
  request.headers.emplace_back("host", host);
  for (const auto& field : message) {
    if (field.name() != http::field::host) {
      request.headers.emplace_back(lower_case(std::string(field.name_string())),
                                   std::string(field.value()));
    }
  }
  return request;
}

// Returns the status that refuses a malformed head, or 0.
int refusal_of(const http::request<http::string_body>& head) {
  const auto length = head[http::field::content_length];  // some parsers accept "2, 2" as a number
  const bool is_number = length.find_first_not_of("0123456789") == length.npos;
  const bool is_old = head.version() < 11;
  const std::size_t hosts = head.count(http::field::host);
  const std::size_t lengths = head.count(http::field::content_length);
  const std::size_t encodings = head.count(http::field::transfer_encoding);
  if (!is_number || lengths > 1 || head.count(http::field::origin) > 1 || hosts > 1 ||
      (hosts == 0 && !is_old) || (encodings > 0 && (lengths > 0 || is_old))) {
    return 400;
  }
  const bool is_chunked =
      encodings == 1 && beast::iequals(head[http::field::transfer_encoding], "chunked");
  return encodings == 0 || is_chunked ? 0 : 501;
}

int status_of(const ErrorCode& error) {
  if (error == http::error::body_limit) {
    return 413;
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return 431;
  }
  return 400;
}

// Calls a method on the server's thread, unless request `number` is over.
template <class... Values>
void hand(std::shared_ptr<HttpSession> session, std::uint64_t number,
          void (HttpSession::*method)(Values...), Values... values) {
  asio::io_context& context = session->context();
  asio::post(context, [session = std::move(session), number, method,
                       ... held = std::move(values)]() mutable {
    if (session->answers(number)) {
      (session.get()->*method)(std::move(held)...);
    }
  });
}

// Exchange over a connection. Destruction without an answer sends a 500; a stream without end()
// closes the connection. The functions of on_gone() run on the server's thread.
class SessionExchange final : public HttpExchange {
 public:
  SessionExchange(std::shared_ptr<HttpSession> session, std::uint64_t number,
                  std::shared_ptr<std::atomic<bool>> disconnected)
      : session_(std::move(session)), number_(number), disconnected_(std::move(disconnected)) {}
  // Gives the session away: the server's thread must also destroy it.
  ~SessionExchange() override { hand(std::move(session_), number_, &HttpSession::abandon); }

  void send(HttpResponse response) override {
    hand(session_, number_, &HttpSession::send, std::move(response));
  }
  void await_stream(HttpResponse head, std::string comment) override {
    hand(session_, number_, &HttpSession::await_stream, std::move(head), std::move(comment));
  }
  void begin(HttpResponse head) override {
    hand(session_, number_, &HttpSession::begin, std::move(head));
  }
  void write(std::string piece) override {
    hand(session_, number_, &HttpSession::write, std::move(piece));
  }
  void end() override { hand(session_, number_, &HttpSession::end); }
  // Also true for a client that reads too slowly.
  bool disconnected() const override { return disconnected_->load(); }
  void on_disconnect(std::function<void()> call) override {
    hand(session_, number_, &HttpSession::on_disconnect, std::move(call));
  }

 private:
  std::shared_ptr<HttpSession> session_;
  std::uint64_t number_;  // of the request on its connection
  std::shared_ptr<std::atomic<bool>> disconnected_;
};

}  // namespace

void HttpSession::read_head() {
  phase_ = Phase::reading;
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(server_.options.limits.header_bytes));
  parser_->body_limit(static_cast<std::uint64_t>(server_.options.limits.body_bytes));
  ++number_;
  headers_.clear();
  request_ = {};
  status_ = 0;
  awaited_.reset();
  keep_alive_ = complete_ = is_head_ = false;
  stream_.expires_after(server_.limit());
  skip_empty_lines();
}

// Skips empty lines before a request: some clients send one after a body.
void HttpSession::skip_empty_lines() {
  const auto begins_with = [&](std::string_view text) {
    return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size())
        .starts_with(text);
  };
  while (begins_with("\r\n")) {
    buffer_.consume(2);
  }
  if (buffer_.size() > 1 || (buffer_.size() == 1 && !begins_with("\r"))) {
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](ErrorCode error, std::size_t) { self->take_head(error); });
    return;
  }
  constexpr std::size_t kFirstBytes = 1024;
  stream_.async_read_some(buffer_.prepare(kFirstBytes), [self = shared_from_this()](
                                                            ErrorCode error, std::size_t count) {
    self->buffer_.commit(count);
    error || self->phase_ != Phase::reading ? self->take_head(error) : self->skip_empty_lines();
  });
}

void HttpSession::take_head(const ErrorCode& error) {
  if (phase_ != Phase::reading) {
    return;
  }
  if (error) {
    if (error == http::error::body_limit) {  // the head has been read
      request_.path = request_of(parser_->get(), "").path;
    }
    fail(error);
    return;
  }
  const auto& head = parser_->get();
  has_old_version_ = head.version() < 11;
  is_head_ = head.method() == http::verb::head;
  request_ = request_of(head, address_of(stream_.socket()));
  const auto& aliases = server_.options.aliases;
  if (const auto alias = aliases.find(request_.path); alias != aliases.end()) {
    request_.path = alias->second;
  }
  watch_ = Stopwatch();
  if (const int status = refusal_of(head)) {
    answer_alone(server_.refusal(status));
    return;
  }
  Admission admission = server_.options.gate(request_);
  headers_ = std::move(admission.headers);
  if (admission.refusal) {
    keep_alive_ = head.keep_alive() && parser_->is_done();
    answer_alone(std::move(*admission.refusal));
    return;
  }
  read_body();
}

// Reserves room for the body. A chunked body counts as the largest allowed.
void HttpSession::read_body() {
  const Index length = parser_->chunked()
                           ? server_.options.limits.body_bytes
                           : static_cast<Index>(parser_->content_length().value_or(0));
  if (server_.body_bytes + length > server_.options.limits.all_body_bytes) {
    answer_alone(server_.refusal(503));
    return;
  }
  reserved_body_ = length;
  server_.body_bytes += length;
  stream_.expires_after(server_.limit());
  if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    expect_body();
    return;
  }
  static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = shared_from_this()](ErrorCode error, std::size_t) {
                      error ? self->take_body(error) : self->expect_body();
                    });
}

void HttpSession::expect_body() {
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](ErrorCode error, std::size_t) { self->take_body(error); });
}

void HttpSession::take_body(const ErrorCode& error) {
  if (phase_ != Phase::reading) {
    give_back_body_bytes();
    return;
  }
  if (error) {
    fail(error);
    return;
  }
  phase_ = Phase::waiting;
  keep_alive_ = parser_->get().keep_alive() && !server_.closing;
  HttpRequest request = request_;  // without trailers
  request.body = std::move(parser_->get().body());
  disconnected_ = std::make_shared<std::atomic<bool>>(false);
  const auto exchange =
      std::make_shared<SessionExchange>(shared_from_this(), number_, disconnected_);
  watch();
  server_.options.handler(std::move(request), exchange);
}

void HttpSession::give_back_body_bytes() {
  server_.body_bytes -= reserved_body_;
  reserved_body_ = 0;
}

// Answers without the handler.
void HttpSession::answer_alone(HttpResponse response) {
  phase_ = Phase::waiting;
  send(std::move(response));
}

void HttpSession::fail(const ErrorCode& error) {
  // After a timeout Boost has already closed the stream.
  const bool is_over = error == beast::error::timeout || error == http::error::end_of_stream ||
                       error == asio::error::eof || error == asio::error::connection_reset ||
                       error == http::error::partial_message;
  if (is_over || phase_ == Phase::closed) {
    give_up();
    return;
  }
  answer_alone(server_.refusal(status_of(error)));
}

// Detects a client that closes while its answer is computed. Closing only its sending direction
// counts as well.
void HttpSession::watch() {
  if (watching_) {
    return;
  }
  watching_ = true;
  stream_.socket().async_wait(
      tcp::socket::wait_read, [self = shared_from_this()](const ErrorCode& error) {
        self->watching_ = false;
        if (!error && (self->phase_ == Phase::waiting || self->phase_ == Phase::sending)) {
          self->read_ahead() ? self->watch() : self->give_up();
        }
      });
}

// Reads early bytes of the next requests, which would hide the end of the connection. Returns false
// when the client has closed or sent more than the buffer holds.
bool HttpSession::read_ahead() {
  const std::size_t room = buffer_.max_size() - buffer_.size();
  if (room == 0) {
    return false;
  }
  const asio::mutable_buffer free = buffer_.prepare(room);
  const ssize_t count =
      recv(stream_.socket().native_handle(), free.data(), free.size(), MSG_DONTWAIT);
  if (count < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  buffer_.commit(static_cast<std::size_t>(count));
  return count > 0;
}

void HttpSession::send(HttpResponse response) {
  if (phase_ == Phase::sending && awaited_) {  // after a comment
    write(std::move(response.event));
    end();
    return;
  }
  if (phase_ != Phase::waiting) {
    return;
  }
  if (const int seconds = std::exchange(response.seconds_held_back, 0); seconds > 0) {
    hold_back(seconds, std::move(response));
    return;
  }
  const Index waiting = server_.unsent_bytes;
  if (waiting > 0 &&
      waiting + std::ssize(response.body) > server_.options.limits.all_unsent_bytes) {
    response = server_.refusal(503);
  }
  if (response.status >= 400 && server_.options.shape_error) {
    server_.options.shape_error(request_, response);
  }
  put_head(response, true);
  put_piece(std::move(response.body));
  complete_ = true;
  send_next();
}

// Delays an answer by a timer: no thread blocks, and a client that goes is detected.
void HttpSession::hold_back(int seconds, HttpResponse response) {
  held_ = std::move(response);
  delay_.expires_after(std::chrono::seconds(seconds));
  delay_.async_wait([self = shared_from_this()](const ErrorCode&) {
    if (self->held_) {
      self->send(*std::exchange(self->held_, std::nullopt));
    }
  });
}

void HttpSession::await_stream(HttpResponse head, std::string comment) {
  if (phase_ == Phase::waiting) {
    awaited_ = std::move(head);
    comment_ = std::move(comment);
    written_at_ = std::chrono::steady_clock::now();
    break_silence();
  }
}

// Writes the comment whenever nothing has been written for a time. Writing does not set the timer
// anew: a stream writes at every token.
void HttpSession::break_silence() {
  delay_.expires_at(written_at_ + server_.options.limits.silence);
  delay_.async_wait([self = shared_from_this(), number = number_](const ErrorCode& error) {
    if (error || !self->awaited_ || !self->answers(number) || self->complete_) {
      return;
    }
    const auto silence = std::chrono::steady_clock::now() - self->written_at_;
    if (silence >= self->server_.options.limits.silence) {
      if (self->phase_ == Phase::waiting) {
        self->put_head(*self->awaited_, false);
      }
      self->write(self->comment_);
    }
    if (self->phase_ == Phase::sending || self->phase_ == Phase::waiting) {
      self->break_silence();
    }
  });
}

void HttpSession::begin(HttpResponse head) {
  if (phase_ == Phase::waiting) {
    put_head(head, false);
  }
  write(std::move(head.body));
}

void HttpSession::write(std::string piece) {
  if (phase_ != Phase::sending || complete_) {
    return;
  }
  put_piece(std::move(piece));
  written_at_ = std::chrono::steady_clock::now();
  const HttpLimits& limits = server_.options.limits;
  if (unsent_.bytes() > limits.unsent_bytes || server_.unsent_bytes > limits.all_unsent_bytes) {
    give_up();
    return;
  }
  send_next();
}

void HttpSession::end() {
  if (phase_ != Phase::sending || complete_) {
    return;
  }
  if (framing_ == BodyFraming::chunks && !is_head_) {
    unsent_.push(body_chunk(""));
  }
  complete_ = true;
  send_next();
}

void HttpSession::abandon() {
  if (held_) {
    return;  // its answer is delayed
  }
  if (phase_ == Phase::waiting) {
    send(server_.refusal(500));
  } else if (phase_ == Phase::sending && !complete_) {
    keep_alive_ = false;  // closing marks the stream as incomplete
    complete_ = true;
    send_next();
  }
}

void HttpSession::on_disconnect(std::function<void()> call) {
  if (disconnected_ && disconnected_->load()) {
    call();
  } else if (phase_ != Phase::reading && !complete_) {
    calls_when_gone_.push_back(std::move(call));
  }
}

void HttpSession::put_head(const HttpResponse& response, bool is_whole) {
  phase_ = Phase::sending;
  status_ = response.status;
  keep_alive_ = keep_alive_ && !server_.closing && (is_whole || !has_old_version_);
  framing_ = is_whole           ? BodyFraming::length
             : has_old_version_ ? BodyFraming::until_end
                                : BodyFraming::chunks;
  unsent_.push(answer_head(response, {server_.options.headers, headers_}, framing_, keep_alive_));
}

void HttpSession::put_piece(std::string piece) {
  if (piece.empty() || is_head_) {
    return;
  }
  unsent_.push(framing_ == BodyFraming::chunks ? body_chunk(piece) : std::move(piece));
}

void HttpSession::send_next() {
  if (sending_ || phase_ != Phase::sending) {
    return;
  }
  if (unsent_.empty()) {
    if (complete_) {
      finish();
    }
    return;
  }
  sending_ = true;
  const std::string_view first = unsent_.front(kHttpSlice);
  stream_.expires_after(server_.limit());
  asio::async_write(stream_, asio::buffer(first.data(), first.size()),
                    [self = shared_from_this()](ErrorCode error, std::size_t count) {
                      self->take_sent(error, count);
                    });
}

void HttpSession::take_sent(const ErrorCode& error, std::size_t count) {
  sending_ = false;
  if (error || phase_ == Phase::closed) {
    give_up();
    return;
  }
  stream_.expires_never();
  unsent_.pop(count);
  send_next();
}

void HttpSession::finish() {
  log_request("");
  give_back_body_bytes();
  calls_when_gone_.clear();
  disconnected_.reset();
  delay_.cancel();
  if (keep_alive_ && !server_.closing) {
    read_head();
    return;
  }
  phase_ = Phase::lingering;
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  linger(0);
}

// Logs no queries and no headers, which may hold keys and texts.
void HttpSession::log_request(std::string_view end) {
  if (!server_.options.log) {
    return;
  }
  constexpr std::size_t kMostOfAPath = 200;
  char result[48];
  std::snprintf(result, sizeof result, " %d %.3f s", status_, watch_.seconds());
  const std::string method = is_head_ ? "HEAD" : request_.method;
  server_.options.log((method.empty() ? "no request" : method + " ") +
                      request_.path.substr(0, kMostOfAPath) + result + std::string(end));
}

// Reads until the client closes: closing with unread bytes would lose the answer.
void HttpSession::linger(std::size_t discarded) {
  constexpr std::size_t kMost = 4 << 20;
  buffer_.clear();
  if (discarded > kMost) {
    give_up();
    return;
  }
  stream_.async_read_some(buffer_.prepare(kHttpSlice),
                          [self = shared_from_this(), discarded](ErrorCode error, std::size_t n) {
                            if (error) {
                              self->give_up();
                            } else {
                              self->linger(discarded + n);
                            }
                          });
}

void HttpSession::give_up(std::string_view why) {
  if (phase_ == Phase::closed) {
    return;
  }
  if (phase_ != Phase::lingering && !request_.method.empty()) {
    log_request(why);
  }
  phase_ = Phase::closed;
  held_.reset();
  delay_.cancel();
  give_back_body_bytes();
  if (disconnected_) {
    disconnected_->store(true);
  }
  ErrorCode ignored;
  stream_.socket().close(ignored);
  for (const std::function<void()>& call : std::exchange(calls_when_gone_, {})) {
    call();
  }
  if (!sending_) {  // else async_write() still reads them
    unsent_.clear();
  }
  server_.sessions.erase(shared_from_this());
  server_.count = std::ssize(server_.sessions);
  server_.end_if_idle();
}

}  // namespace headlight::serve
