#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <set>

#include "base/stopwatch.h"
#include "serve/http/http.h"
#include "serve/http/http_answer.h"
#include "serve/http/send_queue.h"

// Internals of http.cpp and its sessions; other files do not include them.
namespace headlight::serve {

// Bytes that a client must receive within the limit, and that it may send ahead.
inline constexpr std::size_t kHttpSlice = 64 << 10;

// State shared by all connections.
struct HttpListener {
  explicit HttpListener(HttpOptions given)
      : options(std::move(given)), acceptor(context), deadline(context), signals(context) {}

  void listen();
  void accept();
  void wait_for_signal();
  void end_if_idle();
  void give_up(bool (*is_over)(const HttpSession& session));
  HttpResponse refusal(int status) const;
  std::chrono::seconds limit() const { return std::chrono::seconds(options.limits.seconds); }

  HttpOptions options;
  Index port = 0;          // that it listens on
  Index body_bytes = 0;    // bytes reserved for bodies of requests
  Index unsent_bytes = 0;  // bytes of answers; before `context`, whose sessions use it to the end
  boost::asio::io_context context{1};
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer deadline;
  boost::asio::signal_set signals;
  std::set<std::shared_ptr<HttpSession>> sessions;
  std::atomic<Index> count{0};
  bool closing = false;
};

// One connection. All methods run on the server's thread.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpListener& server, boost::asio::ip::tcp::socket socket)
      : server_(server), stream_(std::move(socket)) {}

  void read_head();
  // Whether no request is being answered.
  bool is_idle() const { return phase_ == Phase::reading; }
  // Closes the connection in any phase. `why`: for the log.
  void give_up(std::string_view why = ", the client has gone");

  // Whether request `number` is being answered, rather than an earlier one.
  bool answers(std::uint64_t number) const { return number == number_; }
  // Answer the current request. No effect if its answer is complete or its client has gone.
  void send(HttpResponse response);
  void await_stream(HttpResponse head, std::string comment);
  void begin(HttpResponse head);
  void write(std::string piece);
  void end();
  // Called when an exchange is destroyed: completes a missing or unfinished answer.
  void abandon();
  void on_disconnect(std::function<void()> call);
  boost::asio::io_context& context() { return server_.context; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  // Reading a request, waiting for its answer, sending it, waiting for the client to close, closed.
  enum class Phase { reading, waiting, sending, lingering, closed };

  void skip_empty_lines();
  void take_head(const boost::system::error_code& error);
  void read_body();
  void expect_body();
  void take_body(const boost::system::error_code& error);
  void give_back_body_bytes();
  void answer_alone(HttpResponse response);
  void fail(const boost::system::error_code& error);
  void watch();
  bool read_ahead();
  void hold_back(int seconds, HttpResponse response);
  void break_silence();
  void put_head(const HttpResponse& response, bool is_whole);
  void put_piece(std::string piece);
  void send_next();
  void take_sent(const boost::system::error_code& error, std::size_t count);
  void log_request(std::string_view end);
  void finish();
  void linger(std::size_t discarded);

  HttpListener& server_;
  boost::beast::tcp_stream stream_;
  std::optional<HttpResponse> held_;     // delayed answer
  std::optional<HttpResponse> awaited_;  // head of a stream that is announced
  std::string comment_;                  // in its silence
  std::chrono::steady_clock::time_point written_at_ = {};
  boost::asio::steady_timer delay_{stream_.get_executor()};
  boost::beast::flat_buffer buffer_{kHttpSlice};
  std::unique_ptr<Parser> parser_;
  Phase phase_ = Phase::reading;
  std::uint64_t number_ = 0;  // number of the current request
  std::shared_ptr<std::atomic<bool>> disconnected_;
  std::vector<std::function<void()>> calls_when_gone_;
  HttpRequest request_;  // head of the current request
  Stopwatch watch_;      // since the head was read
  HttpHeaders headers_;  // extra headers of the answer
  int status_ = 0;       // status of the answer; 0: none
  bool watching_ = false;
  bool keep_alive_ = false;
  bool has_old_version_ = false;  // HTTP/1.0, which has no chunks
  bool is_head_ = false;
  BodyFraming framing_ = BodyFraming::length;
  bool complete_ = false;  // the whole answer is queued
  Index reserved_body_ = 0;
  SendQueue unsent_{server_.unsent_bytes};
  bool sending_ = false;
};

}  // namespace headlight::serve
