#include "http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace mergedb::tool {

namespace {

using Time = std::chrono::steady_clock::time_point;

Time After(int milliseconds) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds); }

Status Failure(const std::string& what) { return Status::IOError(what + ": " + std::strerror(errno)); }

enum class Wait { kReady, kTimeout, kStopped };

// Waits until `descriptor` is ready for `events`, a signal asks to stop, or the deadline is over. A `descriptor` below
// 0 is never ready.
Wait WaitFor(int descriptor, short events, int signals, const Time* deadline) {
  for (;;) {
    pollfd polled[] = {{.fd = signals, .events = POLLIN, .revents = 0},
                       {.fd = descriptor, .events = events, .revents = 0}};
    int milliseconds = -1;
    if (deadline != nullptr) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
      milliseconds = static_cast<int>(std::max<int64_t>(rest.count(), 0));
    }
    const int ready = poll(polled, 2, milliseconds);
    if (ready < 0 && errno != EINTR) return Wait::kStopped;  // out of memory
    if (ready > 0 && polled[0].revents != 0) return Wait::kStopped;
    if (ready > 0) return Wait::kReady;
    if (ready == 0) return Wait::kTimeout;
  }
}

// One accepted connection.
class Connection {
 public:
  Connection(int descriptor, int signals, int timeout_seconds)
      : descriptor_(descriptor), signals_(signals), timeout_milliseconds_(timeout_seconds * 1000) {}
  ~Connection() { close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads up to the end of the headers. Returns 200 and the request, or the code of an error; 0 if there is nobody to
  // answer.
  int ReadRequest(std::string* request) {
    const Time deadline = After(timeout_milliseconds_);
    char buffer[1024];
    while (request->find("\r\n\r\n") == std::string::npos) {
      if (request->size() >= kRequestBytesMax) return 431;
      const Wait wait = WaitFor(descriptor_, POLLIN, signals_, &deadline);
      if (wait == Wait::kStopped) return 0;
      if (wait == Wait::kTimeout) return 408;
      const ssize_t count = recv(descriptor_, buffer, std::min(sizeof buffer, kRequestBytesMax - request->size()), 0);
      if (count == 0) return 0;
      if (count < 0 && errno != EAGAIN && errno != EINTR) return 0;
      if (count > 0) request->append(buffer, static_cast<size_t>(count));
    }
    return 200;
  }

  // False: the client did not take all bytes.
  bool Write(std::string_view bytes) {
    const Time deadline = After(timeout_milliseconds_);
    while (!bytes.empty()) {
      if (WaitFor(descriptor_, POLLOUT, signals_, &deadline) != Wait::kReady) return false;
      const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // WHY not close at once: if bytes of the client are unread, close sends a reset, and the client may lose the answer.
  void Finish() {
    shutdown(descriptor_, SHUT_WR);
    const Time deadline = After(kFinishMilliseconds);
    char buffer[1024];
    for (size_t taken = 0; taken < kFinishBytesMax;) {
      if (WaitFor(descriptor_, POLLIN, signals_, &deadline) != Wait::kReady) return;
      const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return;
      if (count > 0) taken += static_cast<size_t>(count);
    }
  }

 private:
  static constexpr int kFinishMilliseconds = 500;
  static constexpr size_t kFinishBytesMax = size_t{1} << 20;

  const int descriptor_;
  const int signals_;
  const int timeout_milliseconds_;
};

const char* ReasonOf(int code) {
  switch (code) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Error";
  }
}

HttpAnswer ErrorAnswer(int code) { return {.code = code, .body = std::string(ReasonOf(code)) + "\n"}; }

// "http://host:port/path?query" (the absolute form of RFC 9112, section 3.2.2) and "/path?query" as "/path".
std::string_view PathOf(std::string_view target) {
  if (target.starts_with("http://")) {
    const size_t slash = target.find('/', 7);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

// The answer to a request, which begins with "METHOD TARGET HTTP/1.x".
HttpAnswer AnswerTo(std::string_view request, const std::string& path, const std::function<HttpAnswer()>& page) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const size_t method_end = line.find(' ');
  const size_t target_end = line.rfind(' ');
  if (method_end == 0 || method_end == std::string_view::npos || target_end <= method_end + 1) return ErrorAnswer(400);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::string_view version = line.substr(target_end + 1);
  const bool is_valid = (version == "HTTP/1.1" || version == "HTTP/1.0") && target.find(' ') == std::string_view::npos;
  if (!is_valid) return ErrorAnswer(400);
  if (PathOf(target) != path) return {.code = 404, .body = "Not Found: the metrics are at " + path + "\n"};
  const std::string_view method = line.substr(0, method_end);
  if (method != "GET" && method != "HEAD") return ErrorAnswer(405);
  return page();
}

// The answer to HEAD is that to GET without its body.
std::string Encode(const HttpAnswer& answer, bool is_head) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.code) + " " + ReasonOf(answer.code) +
                     "\r\nContent-Type: " + answer.content_type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\nConnection: close\r\n";
  if (answer.code == 405) text += "Allow: GET, HEAD\r\n";
  return text + "\r\n" + (is_head ? "" : answer.body);
}

std::string AddressOf(int listener) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&storage), bytes, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return (storage.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

Result<int> OpenListener(const std::string& address) {
  const Status invalid = Status::InvalidArgument(
      "\"" + address + "\" is not a numeric address with a port, such as 127.0.0.1:9090 or [::1]:9090");
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return invalid;
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string port = address.substr(colon + 1);
  if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos || std::stoi(port) > 65535)
    return invalid;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return invalid;
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  const bool is_listening = listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                            bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 16) == 0;
  const Status failure = is_listening ? Status() : Failure("cannot listen on " + address);
  freeaddrinfo(found);
  if (is_listening) return listener;
  if (listener >= 0) close(listener);
  return failure;
}

}  // namespace

Result<HttpServer> HttpServer::Listen(const std::string& address) {
  ASSIGN_OR_RETURN(const int listener, OpenListener(address));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    const Status failure = Failure("cannot wait for signals");
    close(listener);
    return failure;
  }
  return HttpServer(listener, signals, AddressOf(listener));
}

HttpServer::HttpServer(HttpServer&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)),
      signals_(std::exchange(other.signals_, -1)),
      address_(std::move(other.address_)) {}

HttpServer::~HttpServer() {
  if (listener_ >= 0) close(listener_);
  if (signals_ >= 0) close(signals_);
}

namespace {

// Reads one request and answers it.
void Answer(int descriptor, int signals, const std::string& path, int timeout_seconds,
            const std::function<HttpAnswer()>& page) {
  Connection connection(descriptor, signals, timeout_seconds);
  std::string request;
  const int code = connection.ReadRequest(&request);
  if (code == 0) return;
  const HttpAnswer answer = code == 200 ? AnswerTo(request, path, page) : ErrorAnswer(code);
  if (connection.Write(Encode(answer, request.starts_with("HEAD ")))) connection.Finish();
}

// The threads of the connections. The destructor waits for all of them; a signal ends their waits.
class Threads {
 public:
  ~Threads() {
    for (Each& each : threads_) each.thread.join();
  }
  // False if kConnectionsMax threads run.
  bool HasRoom() {
    threads_.remove_if([](Each& each) {
      if (each.is_done) each.thread.join();
      return each.is_done.load();
    });
    return threads_.size() < kConnectionsMax;
  }
  // Runs `body` on a new thread, or on this one if none can be started.
  void Run(const std::function<void()>& body) {
    Each& each = threads_.emplace_back();
    try {
      each.thread = std::thread([&each, body] {
        body();
        each.is_done = true;
      });
    } catch (const std::system_error&) {
      threads_.pop_back();
      body();
    }
  }

 private:
  struct Each {
    std::thread thread;
    std::atomic<bool> is_done = false;
  };
  std::list<Each> threads_;
};

}  // namespace

Status HttpServer::Serve(const std::string& path, int timeout_seconds, const std::function<HttpAnswer()>& page) {
  std::mutex page_mutex;
  const auto one_page = [&] {
    const std::lock_guard lock(page_mutex);
    return page();
  };
  Threads threads;
  for (;;) {
    const bool has_room = threads.HasRoom();
    const Time deadline = After(10);
    const Wait wait = WaitFor(has_room ? listener_ : -1, POLLIN, signals_, has_room ? nullptr : &deadline);
    if (wait == Wait::kStopped) return {};
    if (!has_room) continue;
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
      if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) return Failure("cannot accept a connection");
      // The client has gone, or descriptors or memory are used up. WHY a pause: in the second case, the listener stays
      // ready.
      const Time pause = After(10);
      if (WaitFor(-1, 0, signals_, &pause) == Wait::kStopped) return {};
      continue;
    }
    threads.Run([=, this, &one_page] { Answer(descriptor, signals_, path, timeout_seconds, one_page); });
  }
}

}  // namespace mergedb::tool
