#include "common/http/http_server.h"

#include <fcntl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"
#include "common/status.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// Descriptors or memory are used up: the next connection is taken so much
// later, and not at once again and again.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

absl::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

HttpAnswer Refusal(int status, std::string text) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(text);
  return answer;
}

HttpAnswer TooLarge() {
  return Refusal(413, "the request's body is too large\n");
}

bool IsOfHttp(const error_code& error) {
  static const error_code kOne = http::error::bad_method;
  return error.category() == kOne.category();
}

// A header that comes twice is none: two readers could take two of them.
std::string OnlyValue(const http::fields& fields, http::field name) {
  const auto [first, last] = fields.equal_range(name);
  if (first == last || std::next(first) != last) return "";
  return std::string(View(first->value()));
}

bool AcceptsGzip(const http::fields& request) {
  const http::ext_list encodings(request[http::field::accept_encoding]);
  for (const auto& [name, parameters] : encodings) {
    if (!absl::EqualsIgnoreCase(View(name), "gzip")) continue;
    double weight = 1;
    for (const auto& [key, value] : parameters) {
      if (absl::EqualsIgnoreCase(View(key), "q") &&
          !absl::SimpleAtod(View(value), &weight)) {
        return false;
      }
    }
    return weight > 0;
  }
  return false;
}

// Whether the machine has IPv6 at all.
bool HasIpv6(asio::io_context& io) {
  tcp::socket probe(io);
  error_code error;
  probe.open(tcp::v6(), error);
  return !error;
}

// An IP address where the host is one, else what its name stands for.
absl::StatusOr<tcp::endpoint> Resolve(asio::io_context& io,
                                      const std::string& host, uint16_t port) {
  if (host.empty() || host == "*") {
    return tcp::endpoint(HasIpv6(io) ? tcp::v6() : tcp::v4(), port);
  }
  error_code error;
  const auto ip = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(ip, port);
  const auto found = tcp::resolver(io).resolve(
      host, absl::StrCat(port), tcp::resolver::numeric_service, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("its host cannot be looked up: ", error.message()));
  }
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  }
  return found.begin()->endpoint();
}

// Processes that this one starts do not get it: they would hold the port, and
// keep connections open.
void KeepFromChildren(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

absl::StatusOr<tcp::acceptor> Bind(asio::io_context& io,
                                   const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor(io);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    KeepFromChildren(acceptor.native_handle());
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error && endpoint.address().is_v6()) {
    // "::" is IPv4's addresses too, whatever the machine's default is.
    acceptor.set_option(asio::ip::v6_only(false), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (error) return absl::UnavailableError(error.message());
  return acceptor;
}

}  // namespace

// All of it is touched by the server's thread alone, while that runs.
class HttpServer::Connections
    : public std::enable_shared_from_this<HttpServer::Connections> {
 public:
  Connections(Handler handler, const Limits& limits)
      : handler_(std::move(handler)), limits_(limits) {}

  // Its port.
  absl::StatusOr<int> Listen(const std::string& address) {
    PACELINE_RETURN_IF_ERROR(CheckPort(address));
    const HostPort parts = SplitHostPort(address);
    const std::optional<uint16_t> port = ParsePort(parts.port.value_or(""));
    if (!port.has_value()) {
      return absl::InvalidArgumentError("want HOST:PORT");
    }
    PACELINE_ASSIGN_OR_RETURN(const tcp::endpoint endpoint,
                              Resolve(io_, parts.host, *port));
    PACELINE_ASSIGN_OR_RETURN(acceptor_, Bind(io_, endpoint));
    error_code error;
    const int chosen = acceptor_.local_endpoint(error).port();
    if (error) return absl::UnavailableError(error.message());
    return chosen;
  }

  void Start() {
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  void Stop() {
    io_.stop();
    thread_.join();
    // Answers that are still to come keep all this alive, and no client waits
    // for them.
    error_code ignored;
    acceptor_.close(ignored);
    while (!open_.empty()) EndOldest();
  }

 private:
  class Connection;

  // Waits for a connection before it takes one: without a free descriptor
  // taking fails also where there is none to take.
  void Accept() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
      if (error) return Pause();
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (!error) {
        KeepFromChildren(socket.native_handle());
        Begin(std::move(socket));
        return Accept();
      }
      if (error == asio::error::would_block ||
          error == asio::error::connection_aborted) {
        return Accept();  // It has gone.
      }
      // The oldest has what this one would need.
      if (!open_.empty()) EndOldest();
      Pause();
    });
  }
  void Pause() {
    pause_.expires_after(absl::ToChronoMilliseconds(kAcceptPause));
    pause_.async_wait([this](error_code) { Accept(); });
  }

  void Begin(tcp::socket socket);
  void EndOldest();

  const Handler handler_;
  const Limits limits_;
  // Everything below belongs to it.
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::list<std::shared_ptr<Connection>> open_;  // The oldest first.
  std::list<Connection*> answering_;             // Likewise.
  std::thread thread_;
};

// One request and its answer.
class HttpServer::Connections::Connection
    : public std::enable_shared_from_this<Connection> {
 public:
  using Place = std::list<std::shared_ptr<Connection>>::iterator;

  Connection(Connections* all, tcp::socket socket)
      : all_(*all), socket_(std::move(socket)), timer_(all->io_) {}

  void Begin(Place place) {
    place_ = place;
    parser_.header_limit(static_cast<uint32_t>(all_.limits_.header_bytes));
    if (all_.limits_.body_bytes > 0) {
      parser_.body_limit(all_.limits_.body_bytes);
    }
    SetDeadline(all_.limits_.request);
    http::async_read_header(
        socket_, buffer_, parser_,
        [self = shared_from_this()](error_code error, size_t) {
          self->OnRequest(error);
        });
  }

  // Nothing is sent or read any more. The last copy of the pointer may go.
  void End() {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);  // What was written is still delivered.
    if (answers_.has_value()) all_.answering_.erase(*answers_);
    all_.open_.erase(place_);
  }

 private:
  void SetDeadline(absl::Duration time) {
    timer_.expires_after(absl::ToChronoNanoseconds(time));
    timer_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      // An earlier deadline may be told of when there is a later one already.
      if (self == nullptr || error ||
          self->timer_.expiry() > std::chrono::steady_clock::now()) {
        return;
      }
      self->End();
    });
  }

  void OnRequest(error_code error) {
    if (ended_) return;
    SetDeadline(all_.limits_.answer);
    if (error == http::error::end_of_stream ||
        error == http::error::partial_message || (error && !IsOfHttp(error))) {
      return End();  // It has gone.
    }
    if (error == http::error::header_limit ||
        error == http::error::buffer_overflow) {
      return Send(Refusal(431, "the request's headers are too large\n"));
    }
    if (error == http::error::body_limit) return Send(TooLarge());
    if (error) return Send(Refusal(400, "this is no request of HTTP\n"));
    const auto& message = parser_.get();
    version_ = message.version();
    head_ = message.method() == http::verb::head;
    if (message.method() == http::verb::post && all_.limits_.body_bytes > 0) {
      return ReadBody();
    }
    if (!head_ && message.method() != http::verb::get) {
      return Send(
          Refusal(405, absl::StrCat("only ", Methods(), " are answered\n")));
    }
    // The body of any other request stays unread.
    Ask(message, "");
  }

  // Within the time that the request has.
  void ReadBody() {
    SetDeadline(all_.limits_.request);
    body_.emplace(std::move(parser_));
    http::async_read(socket_, buffer_, *body_,
                     [self = shared_from_this()](error_code error, size_t) {
                       self->OnBody(error);
                     });
  }

  void OnBody(error_code error) {
    if (ended_) return;
    SetDeadline(all_.limits_.answer);
    // Of one that comes in chunks.
    if (error == http::error::body_limit) return Send(TooLarge());
    if (error) return End();  // It has gone.
    Ask(body_->get(), std::move(body_->get().body()));
  }

  template <class Message>
  void Ask(const Message& message, std::string body) {
    HttpRequest request;
    request.post = message.method() == http::verb::post;
    const absl::string_view target = View(message.target());
    request.path = std::string(target.substr(0, target.find('?')));
    request.accepts_gzip = AcceptsGzip(message);
    request.host = OnlyValue(message, http::field::host);
    request.origin = OnlyValue(message, http::field::origin);
    request.content_type = OnlyValue(message, http::field::content_type);
    request.authorization = OnlyValue(message, http::field::authorization);
    request.body = std::move(body);
    all_.handler_(
        request, [all = all_.shared_from_this(),
                  weak = weak_from_this()](HttpAnswer answer) mutable {
          asio::post(all->io_, [weak = std::move(weak),
                                answer = std::move(answer)]() mutable {
            const auto self = weak.lock();
            if (self != nullptr) self->Send(std::move(answer));
          });
        });
  }

  absl::string_view Methods() const {
    return all_.limits_.body_bytes > 0 ? "GET, HEAD and POST" : "GET and HEAD";
  }

  void Send(HttpAnswer answer) {
    if (ended_) return;
    answers_ = all_.answering_.insert(all_.answering_.end(), this);
    if (all_.answering_.size() > all_.limits_.answers) {
      all_.answering_.front()->End();
      if (ended_) return;  // No answers are allowed at all.
    }
    const unsigned status = static_cast<unsigned>(answer.status);
    answer_.result(status);
    answer_.version(version_ == 10 ? 10 : 11);
    answer_.keep_alive(false);
    answer_.set(http::field::content_type, answer.content_type);
    if (answer.gzipped) answer_.set(http::field::content_encoding, "gzip");
    if (status == 405) {
      answer_.set(http::field::allow, all_.limits_.body_bytes > 0
                                          ? "GET, HEAD, POST"
                                          : "GET, HEAD");
    }
    for (const auto& [name, value] : answer.headers) answer_.set(name, value);
    answer_.content_length(answer.body.size());
    if (!head_) answer_.body() = std::move(answer.body);
    // Of a HEAD: the length of what a GET would get, and nothing of it.
    http::async_write(
        socket_, answer_,
        [self = shared_from_this()](error_code, size_t) { self->End(); });
  }

  Connections& all_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  std::optional<http::request_parser<http::string_body>> body_;  // Of a POST.
  http::response<http::string_body> answer_;
  unsigned version_ = 11;
  bool head_ = false;
  bool ended_ = false;
  Place place_;  // Among the open ones.
  // Among those whose answers are on their way.
  std::optional<std::list<Connection*>::iterator> answers_;
};

void HttpServer::Connections::Begin(tcp::socket socket) {
  open_.push_back(std::make_shared<Connection>(this, std::move(socket)));
  const auto place = std::prev(open_.end());
  (*place)->Begin(place);
  if (open_.size() > limits_.connections) EndOldest();
}

void HttpServer::Connections::EndOldest() {
  const std::shared_ptr<Connection> oldest = open_.front();
  oldest->End();
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const std::string& address, Handler handler, const Limits& limits) {
  const auto connections =
      std::make_shared<Connections>(std::move(handler), limits);
  PACELINE_ASSIGN_OR_RETURN(
      const int port, Annotate(connections->Listen(address),
                               absl::StrCat("cannot listen on ", address)));
  connections->Start();
  return std::unique_ptr<HttpServer>(new HttpServer(connections, port));
}

HttpServer::HttpServer(std::shared_ptr<Connections> connections, int port)
    : connections_(std::move(connections)), port_(port) {}

HttpServer::~HttpServer() { connections_->Stop(); }

}  // namespace paceline
