#include "serve/http/http.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>

#include "headlight/base/error.h"
#include "serve/http/http_session.h"

namespace headlight::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

std::string_view message_of(int status) {
  switch (status) {
    case 413:
      return "the body is larger than the server allows";
    case 431:
      return "the header of the request is larger than the server allows";
    case 500:
      return "the request was not answered";
    case 501:
      return "expected a body with Content-Length, or Transfer-Encoding: chunked alone";
    case 503:
      return "the server is busy or shutting down";
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

// Raises the limit of open files: every connection is one.
void allow_open_files(Index count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const auto wanted = static_cast<rlim_t>(count) + 100;
    limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, wanted));
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

HttpResponse HttpListener::refusal(int status) const {
  return options.refusal(status, message_of(status));
}

void HttpListener::listen() {
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
  port = acceptor.local_endpoint().port();
  accept();
}

void HttpListener::accept() {
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
      const auto session = std::make_shared<HttpSession>(*this, std::move(socket));
      sessions.insert(session);
      count = std::ssize(sessions);
      session->read_head();
    }
    accept();
  });
}

void HttpListener::wait_for_signal() {
  signals.async_wait([this](const ErrorCode& error, int signal) {
    if (!error) {
      options.on_signal(signal);
      wait_for_signal();
    }
  });
}

void HttpListener::give_up(bool (*is_over)(const HttpSession& session)) {
  const auto all = sessions;  // each removes itself
  for (const std::shared_ptr<HttpSession>& session : all) {
    if (is_over(*session)) {
      session->give_up(", the server stops");
    }
  }
}

void HttpListener::end_if_idle() {
  if (closing && sessions.empty()) {
    context.stop();
  }
}

HttpServer::HttpServer(HttpOptions options)
    : listener_(std::make_unique<HttpListener>(std::move(options))) {
  allow_open_files(listener_->options.limits.connections);
  listener_->listen();
  if (listener_->options.on_signal) {
    listener_->signals.add(SIGTERM);
    listener_->signals.add(SIGINT);
    if (struct sigaction present{};
        ::sigaction(SIGHUP, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) {
      listener_->signals.add(SIGHUP);  // nohup ignores it
    }
    listener_->wait_for_signal();
  }
}

HttpServer::~HttpServer() = default;

Index HttpServer::port() const { return listener_->port; }
Index HttpServer::connections() const { return listener_->count; }

void HttpServer::run() {
  const auto work = asio::make_work_guard(listener_->context);
  while (!listener_->context.stopped()) {
    try {
      listener_->context.run();
    } catch (const std::exception&) {  // in one request, such as out of memory
    }
  }
}

void HttpServer::close(int seconds) {
  asio::post(listener_->context, [this, seconds] {
    HttpListener& listener = *listener_;
    listener.closing = true;
    ErrorCode ignored;
    listener.acceptor.close(ignored);
    listener.give_up([](const HttpSession& session) { return session.is_idle(); });
    listener.deadline.expires_after(std::chrono::seconds(seconds));
    listener.deadline.async_wait([&listener](const ErrorCode& error) {
      if (!error) {  // clients must not wait for the threads that still compute their answers
        listener.give_up([](const HttpSession&) { return true; });
        listener.context.stop();
      }
    });
    listener.end_if_idle();
  });
}

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

}  // namespace headlight::serve
