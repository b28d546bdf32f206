#include "serve/http.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <csignal>
#include <deque>
#include <set>

#include "headlight/base/error.h"

namespace headlight::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

constexpr std::size_t kSlice = 64 << 10;  // bytes that a client must take within the limit

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

HttpRequest request_of(const http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  if (request.method == "HEAD") {
    request.method = "GET";
  }
  const std::string target(message.target());
  request.path = target.substr(0, target.find('?'));
  for (const auto& field : message) {
    request.headers.emplace_back(lower_case(std::string(field.name_string())),
                                 std::string(field.value()));
  }
  return request;
}

// Why the head of a request is refused before anything else looks at it; 0: it is not.
int refusal_of(const http::request<http::string_body>& head) {
  const auto length = head[http::field::content_length];  // "2, 2" is a number for some
  const bool is_number = std::all_of(length.begin(), length.end(), is_digit);
  if (!is_number || head.count(http::field::content_length) > 1 ||
      head.count(http::field::origin) > 1 || head.count(http::field::host) != 1) {
    return 400;
  }
  // Bodies of unknown length, and what two programs could read in two ways.
  return head.count(http::field::transfer_encoding) > 0 ? 411 : 0;
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

std::string_view message_of(int status) {
  switch (status) {
    case 411:
      return "expected Content-Length: a body of unknown length is not read";
    case 413:
      return "the body is larger than the server allows";
    case 431:
      return "the head of the request is larger than the server allows";
    case 500:
      return "the request was not answered";
    case 503:
      return "the server is busy or ends";
    default:
      return "expected an HTTP/1.1 request";
  }
}

tcp::endpoint endpoint_of(const HttpOptions& options) {
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  require_value(!error, "host", "expected an address such as 127.0.0.1 or ::1, got '", host, "'");
  require_value(options.port >= 0 && options.port <= 65535, "port", "expected 0 to 65535, got ",
                options.port);
  return {address, static_cast<std::uint16_t>(options.port)};
}

// Every connection is an open file.
void allow_open_files(Index count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const auto wanted = static_cast<rlim_t>(count) + 100;
    limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, wanted));
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

class Session;

// What all connections share.
struct Listener {
  explicit Listener(HttpOptions given)
      : options(std::move(given)), acceptor(context), deadline(context), signals(context) {}

  void listen();
  void accept();
  void wait_for_signal();
  void end_if_idle();
  HttpResponse refusal(int status) const {
    return options.refusal ? options.refusal(status, message_of(status))
                           : HttpResponse{.status = status, .body = std::string()};
  }
  std::chrono::seconds limit() const { return std::chrono::seconds(options.limits.seconds); }

  HttpOptions options;
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::steady_timer deadline;
  asio::signal_set signals;
  std::set<std::shared_ptr<Session>> sessions;
  std::atomic<Index> count{0};
  Index body_bytes = 0;    // that are being read
  Index unsent_bytes = 0;  // of answers
  bool closing = false;
};

// One connection. Everything happens on the thread that runs the server.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Listener& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {}

  void read_head();
  // Between two requests.
  bool is_idle() const { return phase_ == Phase::reading; }
  void shut();

  // For the request of this number; nothing where its answer is complete or its client gone.
  void send(std::uint64_t number, HttpResponse response);
  void begin(std::uint64_t number, const HttpResponse& head);
  void write(std::uint64_t number, std::string piece);
  void end(std::uint64_t number);
  // Nobody will answer any more, or go on with an answer.
  void abandon(std::uint64_t number);
  void on_gone(std::uint64_t number, std::function<void()> call);
  asio::io_context& context() { return server_.context; }

 private:
  // Reading a request, waiting for its answer, sending that, waiting for the client to close, over.
  enum class Phase { reading, waiting, sending, lingering, closed };

  void take_head(const ErrorCode& error);
  void read_body();
  void expect_body();
  void take_body(const ErrorCode& error);
  void give_back_body_bytes();
  void answer_alone(HttpResponse response);
  void fail(const ErrorCode& error);
  void hand_over();
  void watch();
  void look();
  bool read_ahead();
  void put_head(const HttpResponse& response, bool is_whole);
  void put_chunk(std::string piece);
  void put(std::string bytes);
  void count_unsent(Index change);
  void send_next();
  void take_sent(const ErrorCode& error, std::size_t count);
  void finish();
  void linger(std::size_t discarded);
  void give_up();
  bool is_for(std::uint64_t number, Phase phase) const {
    return number == number_ && phase == phase_;
  }

  Listener& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kSlice};
  std::unique_ptr<Parser> parser_;
  Phase phase_ = Phase::reading;
  std::uint64_t number_ = 0;  // of the request on this connection
  std::shared_ptr<std::atomic<bool>> gone_;
  std::vector<std::function<void()>> calls_when_gone_;
  HttpHeaders headers_;  // for the answer
  bool watching_ = false;
  bool keep_alive_ = false;
  bool has_old_version_ = false;  // HTTP/1.0, which knows no chunks
  bool is_head_ = false;
  bool chunked_ = false;
  bool complete_ = false;  // the answer
  Index reserved_body_ = 0;
  std::deque<std::string> unsent_;
  Index unsent_bytes_ = 0;
  std::size_t offset_ = 0;  // in the first piece
  bool sending_ = false;
};

class Exchange : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Session> session, std::uint64_t number,
           std::shared_ptr<std::atomic<bool>> gone)
      : session_(std::move(session)), number_(number), gone_(std::move(gone)) {}
  ~Exchange() override {
    hand([](Session& session, std::uint64_t number) { session.abandon(number); });
  }

  void send(HttpResponse response) override {
    hand([response = std::move(response)](Session& session, std::uint64_t number) mutable {
      session.send(number, std::move(response));
    });
  }
  void begin(HttpResponse head) override {
    hand([head = std::move(head)](Session& session, std::uint64_t number) {
      session.begin(number, head);
    });
  }
  void write(std::string piece) override {
    hand([piece = std::move(piece)](Session& session, std::uint64_t number) mutable {
      session.write(number, std::move(piece));
    });
  }
  void end() override {
    hand([](Session& session, std::uint64_t number) { session.end(number); });
  }
  bool gone() const override { return gone_->load(); }
  void on_gone(std::function<void()> call) override {
    hand([call = std::move(call)](Session& session, std::uint64_t number) mutable {
      session.on_gone(number, std::move(call));
    });
  }

 private:
  template <class Work>
  void hand(Work work) {
    asio::post(session_->context(), [session = session_, number = number_,
                                     work = std::move(work)]() mutable { work(*session, number); });
  }

  std::shared_ptr<Session> session_;
  std::uint64_t number_;
  std::shared_ptr<std::atomic<bool>> gone_;
};

void Session::read_head() {
  phase_ = Phase::reading;
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(server_.options.limits.header_bytes));
  parser_->body_limit(static_cast<std::uint64_t>(server_.options.limits.body_bytes));
  ++number_;
  headers_.clear();
  keep_alive_ = chunked_ = complete_ = is_head_ = false;
  stream_.expires_after(server_.limit());
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](ErrorCode error, std::size_t) { self->take_head(error); });
}

void Session::take_head(const ErrorCode& error) {
  if (phase_ != Phase::reading) {
    return;
  }
  if (error) {
    fail(error);
    return;
  }
  const auto& head = parser_->get();
  has_old_version_ = head.version() < 11;
  is_head_ = head.method() == http::verb::head;
  if (const int status = refusal_of(head)) {
    answer_alone(server_.refusal(status));
    return;
  }
  if (server_.options.gate) {
    Admission admission = server_.options.gate(request_of(head));
    headers_ = std::move(admission.headers);
    if (admission.refusal) {
      keep_alive_ = head.keep_alive() && parser_->is_done();
      answer_alone(std::move(*admission.refusal));
      return;
    }
  }
  read_body();
}

void Session::read_body() {
  const auto length = static_cast<Index>(parser_->content_length().value_or(0));
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

void Session::expect_body() {
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](ErrorCode error, std::size_t) { self->take_body(error); });
}

void Session::take_body(const ErrorCode& error) {
  if (phase_ != Phase::reading) {
    give_back_body_bytes();
    return;
  }
  if (error) {
    fail(error);
    return;
  }
  hand_over();
}

void Session::give_back_body_bytes() {
  server_.body_bytes -= reserved_body_;
  reserved_body_ = 0;
}

// Without the handler.
void Session::answer_alone(HttpResponse response) {
  phase_ = Phase::waiting;
  send(number_, std::move(response));
}

void Session::fail(const ErrorCode& error) {
  // A stream whose time is up has been closed by its library.
  const bool is_over = error == beast::error::timeout || error == http::error::end_of_stream ||
                       error == asio::error::eof || error == asio::error::connection_reset ||
                       error == http::error::partial_message;
  if (is_over || phase_ == Phase::closed) {
    give_up();
    return;
  }
  answer_alone(server_.refusal(status_of(error)));
}

void Session::hand_over() {
  phase_ = Phase::waiting;
  keep_alive_ = parser_->get().keep_alive() && !server_.closing;
  HttpRequest request = request_of(parser_->get());
  request.body = std::move(parser_->get().body());
  gone_ = std::make_shared<std::atomic<bool>>(false);
  const auto exchange = std::make_shared<Exchange>(shared_from_this(), number_, gone_);
  watch();
  server_.options.handler(std::move(request), exchange);
}

// Sees the client close while its answer is made. A client that closes its own direction alone is
// taken for gone as well.
void Session::watch() {
  if (watching_) {
    return;
  }
  watching_ = true;
  stream_.socket().async_wait(tcp::socket::wait_read,
                              [self = shared_from_this()](const ErrorCode& error) {
                                self->watching_ = false;
                                if (!error) {
                                  self->look();
                                }
                              });
}

void Session::look() {
  if (phase_ == Phase::waiting || phase_ == Phase::sending) {
    read_ahead() ? watch() : give_up();
  }
}

// Takes what has come of the next requests, behind which the end of the connection would not be
// seen. False: the client has closed, or sends more than it may before it is answered.
bool Session::read_ahead() {
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

void Session::send(std::uint64_t number, HttpResponse response) {
  if (!is_for(number, Phase::waiting)) {
    return;
  }
  put_head(response, true);
  if (!is_head_) {
    put(std::move(response.body));
  }
  complete_ = true;
  send_next();
}

void Session::begin(std::uint64_t number, const HttpResponse& head) {
  if (!is_for(number, Phase::waiting)) {
    return;
  }
  put_head(head, false);
  put_chunk(head.body);
  send_next();
}

void Session::write(std::uint64_t number, std::string piece) {
  if (!is_for(number, Phase::sending) || complete_) {
    return;
  }
  put_chunk(std::move(piece));
  const HttpLimits& limits = server_.options.limits;
  if (unsent_bytes_ > limits.unsent_bytes || server_.unsent_bytes > limits.all_unsent_bytes) {
    give_up();
    return;
  }
  send_next();
}

void Session::end(std::uint64_t number) {
  if (!is_for(number, Phase::sending) || complete_) {
    return;
  }
  if (chunked_ && !is_head_) {
    put("0\r\n\r\n");
  }
  complete_ = true;
  send_next();
}

void Session::abandon(std::uint64_t number) {
  if (is_for(number, Phase::waiting)) {
    send(number, server_.refusal(500));
  } else if (is_for(number, Phase::sending) && !complete_) {
    keep_alive_ = false;  // the stream ends without its end
    complete_ = true;
    send_next();
  }
}

void Session::on_gone(std::uint64_t number, std::function<void()> call) {
  if (number == number_ && gone_ && gone_->load()) {
    call();
  } else if (number == number_ && phase_ != Phase::reading && !complete_) {
    calls_when_gone_.push_back(std::move(call));
  }
}

void Session::put_head(const HttpResponse& response, bool is_whole) {
  phase_ = Phase::sending;
  keep_alive_ = keep_alive_ && !server_.closing && (is_whole || !has_old_version_);
  chunked_ = !is_whole && !has_old_version_;
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string(status_name(response.status)) + "\r\n";
  const HttpHeaders& usual = server_.options.headers;
  for (const HttpHeaders* headers : {&response.headers, &usual, &std::as_const(headers_)}) {
    for (const auto& [name, value] : *headers) {
      head += name + ": " + value + "\r\n";
    }
  }
  if (is_whole) {
    head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  } else if (chunked_) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  head += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  put(std::move(head));
}

void Session::put_chunk(std::string piece) {
  if (piece.empty() || is_head_) {
    return;
  }
  if (!chunked_) {
    put(std::move(piece));
    return;
  }
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  put(size + piece + "\r\n");
}

void Session::put(std::string bytes) {
  if (!bytes.empty()) {
    count_unsent(std::ssize(bytes));
    unsent_.push_back(std::move(bytes));
  }
}

void Session::count_unsent(Index change) {
  unsent_bytes_ += change;
  server_.unsent_bytes += change;
}

void Session::send_next() {
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
  const std::string& first = unsent_.front();
  stream_.expires_after(server_.limit());
  asio::async_write(stream_,
                    asio::buffer(first.data() + offset_, std::min(kSlice, first.size() - offset_)),
                    [self = shared_from_this()](ErrorCode error, std::size_t count) {
                      self->take_sent(error, count);
                    });
}

void Session::take_sent(const ErrorCode& error, std::size_t count) {
  sending_ = false;
  if (error || phase_ == Phase::closed) {
    give_up();
    return;
  }
  stream_.expires_never();
  offset_ += count;
  count_unsent(-static_cast<Index>(count));
  if (offset_ == unsent_.front().size()) {
    unsent_.pop_front();
    offset_ = 0;
  }
  send_next();
}

void Session::finish() {
  give_back_body_bytes();
  calls_when_gone_.clear();
  gone_.reset();
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

// Closing with bytes that nobody read would make the client lose the answer.
void Session::linger(std::size_t discarded) {
  constexpr std::size_t kMost = 4 << 20;
  buffer_.clear();
  if (discarded > kMost) {
    give_up();
    return;
  }
  stream_.async_read_some(buffer_.prepare(kSlice),
                          [self = shared_from_this(), discarded](ErrorCode error, std::size_t n) {
                            if (error) {
                              self->give_up();
                            } else {
                              self->linger(discarded + n);
                            }
                          });
}

void Session::shut() { give_up(); }

void Session::give_up() {
  if (phase_ == Phase::closed) {
    return;
  }
  phase_ = Phase::closed;
  give_back_body_bytes();
  count_unsent(-unsent_bytes_);
  if (gone_) {
    gone_->store(true);
  }
  ErrorCode ignored;
  stream_.socket().close(ignored);
  for (const std::function<void()>& call : std::exchange(calls_when_gone_, {})) {
    call();
  }
  if (!sending_) {
    unsent_.clear();
  }
  server_.sessions.erase(shared_from_this());
  server_.count = std::ssize(server_.sessions);
  server_.end_if_idle();
}

void Listener::listen() {
  const tcp::endpoint endpoint = endpoint_of(options);
  ErrorCode error;
  const auto check = [&](const char* what) {
    require_value(!error, "port", what, " port ", options.port, " of ", options.host, ": ",
                  error.message());
  };
  acceptor.open(endpoint.protocol(), error);
  check("cannot open");
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.bind(endpoint, error);
  check("cannot use");
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  check("cannot listen on");
  accept();
}

void Listener::accept() {
  acceptor.async_accept([this](const ErrorCode& error, tcp::socket socket) {
    if (closing || error == asio::error::operation_aborted) {
      return;
    }
    if (error) {  // mostly too many open files
      deadline.expires_after(std::chrono::milliseconds(100));
      deadline.async_wait([this](const ErrorCode& stopped) {
        if (!stopped) {
          accept();
        }
      });
      return;
    }
    if (std::ssize(sessions) < options.limits.connections) {
      ErrorCode ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      socket.set_option(asio::socket_base::keep_alive(true), ignored);
      const auto session = std::make_shared<Session>(*this, std::move(socket));
      sessions.insert(session);
      count = std::ssize(sessions);
      session->read_head();
    }
    accept();
  });
}

void Listener::wait_for_signal() {
  signals.async_wait([this](const ErrorCode& error, int signal) {
    if (!error) {
      options.on_signal(signal);
      wait_for_signal();
    }
  });
}

void Listener::end_if_idle() {
  if (closing && sessions.empty()) {
    context.stop();
  }
}

}  // namespace

struct HttpServer::State : Listener {
  using Listener::Listener;
};

HttpServer::HttpServer(HttpOptions options) : state_(std::make_unique<State>(std::move(options))) {
  allow_open_files(state_->options.limits.connections);
  state_->listen();
  if (state_->options.on_signal) {
    state_->signals.add(SIGTERM);
    state_->signals.add(SIGINT);
    state_->wait_for_signal();
  }
}

HttpServer::~HttpServer() = default;

Index HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }
Index HttpServer::connections() const { return state_->count; }

void HttpServer::run() {
  const auto work = asio::make_work_guard(state_->context);
  while (!state_->context.stopped()) {
    try {
      state_->context.run();
    } catch (const std::exception&) {  // of one request, such as no memory for it
    }
  }
}

void HttpServer::close(int seconds) {
  asio::post(state_->context, [this, seconds] {
    State& state = *state_;
    state.closing = true;
    ErrorCode ignored;
    state.acceptor.close(ignored);
    const std::vector<std::shared_ptr<Session>> all(state.sessions.begin(), state.sessions.end());
    for (const std::shared_ptr<Session>& session : all) {
      if (session->is_idle()) {
        session->shut();
      }
    }
    state.deadline.expires_after(std::chrono::seconds(seconds));
    state.deadline.async_wait([&state](const ErrorCode& error) {
      if (!error) {
        state.context.stop();
      }
    });
    state.end_if_idle();
  });
}

void HttpServer::stop() { state_->context.stop(); }

const std::string* HttpRequest::header(std::string_view name) const {
  const std::string* found = nullptr;
  for (const auto& [key, value] : headers) {
    if (key == name) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &value;
    }
  }
  return found;
}

std::string_view status_name(int status) {
  const auto name = http::obsolete_reason(static_cast<http::status>(status));
  return {name.data(), name.size()};
}

bool is_address(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  ErrorCode error;
  asio::ip::make_address(std::string(host), error);
  return !error;
}

bool is_loopback(std::string_view host) {
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(std::string(host), error);
  return host == "localhost" || (!error && address.is_loopback());
}

}  // namespace headlight::serve
