// A small HTTP/1.1 server for one page: one request for each connection, a thread for each of up to kConnectionsMax
// connections.
//
// A request may have kRequestBytesMax bytes, and its client may take `timeout_seconds` to send it, and as long again to
// take the answer. Slow clients delay others only if there are kConnectionsMax of them, and by that time at most; a
// slow page() delays all. There is no TLS and no authentication.
//
// Test, from outside of the program: tests/db/serve_metrics_test.cc.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "mergedb/result.h"

namespace mergedb::tool {

inline constexpr size_t kRequestBytesMax = 8192;
inline constexpr size_t kConnectionsMax = 32;

struct HttpAnswer {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  // Listens on a numeric address and a port: "127.0.0.1:9090" or "[::1]:9090". The system chooses port 0. Blocks SIGINT
  // and SIGTERM for the process: Serve waits for them. Errors: InvalidArgument, IOError.
  static Result<HttpServer> Listen(const std::string& address);
  ~HttpServer();
  HttpServer(HttpServer&& other) noexcept;
  HttpServer& operator=(HttpServer&&) = delete;

  const std::string& address() const { return address_; }  // with the port that the system chose

  // Answers GET and HEAD of `path` with page(), another path with 404, and another method with 405. Calls page() on
  // threads of its own, one call at a time. Returns after SIGINT or SIGTERM; a request that is not answered then gets
  // no answer. Errors: IOError.
  Status Serve(const std::string& path, int timeout_seconds, const std::function<HttpAnswer()>& page);

 private:
  HttpServer(int listener, int signals, std::string address)
      : listener_(listener), signals_(signals), address_(std::move(address)) {}

  int listener_;
  int signals_;  // readable after SIGINT or SIGTERM
  std::string address_;
};

}  // namespace mergedb::tool
