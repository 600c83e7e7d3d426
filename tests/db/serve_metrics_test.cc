// Goal: `mergedb metrics` prints the metrics, and `mergedb serve-metrics` serves them over HTTP, refuses requests that
// it does not understand, survives silent and vanishing clients, and ends with SIGTERM. Method: the built program as a
// child process; requests over a socket, byte by byte as the test says.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "testing/temp_directory.h"

namespace mergedb::serve_metrics_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ServeMetricsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Run("$M put $D apple green"), 0); }
  void TearDown() override {
    if (server_ > 0) Stop(SIGKILL);
  }

  // Runs a line of the shell, in which $M is the program and $D the database; out_ has what it printed.
  int Run(const std::string& line) {
    const std::string out = home_ + "/out";
    const std::string command = "(M='" MERGEDB_COMMAND "'; D='" + database_ + "'; " + line + ") > " + out + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream in(out, std::ios::binary);
    out_.assign(std::istreambuf_iterator<char>(in), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void StartServer(const char* timeout = "60") {
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    server_ = fork();
    if (server_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      execl(MERGEDB_COMMAND, MERGEDB_COMMAND, "serve-metrics", "--listen", "127.0.0.1:0", database_.c_str(),
            "--timeout", timeout, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(out[1]);
    std::string line;
    for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    close(out[0]);
    ASSERT_THAT(line, StartsWith("listening on http://127.0.0.1:"));
    ASSERT_THAT(line, EndsWith("/metrics"));
    port_ = std::stoi(line.substr(line.rfind(':') + 1));
  }
  int Stop(int signal) {
    if (server_ <= 0) return -1;  // WHY: kill(-1) would signal every process
    kill(server_, signal);
    int status = 0;
    EXPECT_EQ(waitpid(server_, &status, 0), server_);
    server_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int Connect() const {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return descriptor;
  }
  // The whole answer to `request`.
  std::string Ask(const std::string& request) const {
    const int descriptor = Connect();
    EXPECT_EQ(send(descriptor, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    return Take(descriptor);
  }
  static std::string Take(int descriptor) {
    std::string answer;
    char buffer[4096];
    for (ssize_t count; (count = recv(descriptor, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<size_t>(count));
    close(descriptor);
    return answer;
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string database_ = home_ + "/db";
  std::string out_;
  pid_t server_ = -1;
  int port_ = 0;
};

TEST_F(ServeMetricsTest, MetricsPrintsThreeForms) {
  ASSERT_EQ(Run("$M metrics $D"), 0);
  EXPECT_THAT(out_, HasSubstr("\nsequence                    1 count\n"));
  ASSERT_EQ(Run("$M metrics $D --json"), 0);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["database"], database_);
  EXPECT_EQ(json["sequence"], 1);
  ASSERT_EQ(Run("$M metrics $D --prometheus"), 0);
  EXPECT_THAT(out_, HasSubstr("\n# TYPE mergedb_sequence gauge\nmergedb_sequence{database=\"" + database_ + "\"} 1\n"));
  EXPECT_EQ(Run("$M metrics $D --prometheus --json"), 2);
  EXPECT_EQ(Run("$M metrics $D/absent"), 3);
  ASSERT_EQ(Run("$M metrics --help"), 0);
  EXPECT_THAT(out_, HasSubstr("Examples:\n  mergedb metrics /srv/data\n"));
}

TEST_F(ServeMetricsTest, ServesThePresentMetrics) {
  StartServer();
  const std::string first = Ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  const size_t body = first.find("\r\n\r\n") + 4;
  EXPECT_THAT(first, HasSubstr("\r\nContent-Length: " + std::to_string(first.size() - body) + "\r\n"));
  EXPECT_THAT(first, HasSubstr("mergedb_sequence{database=\"" + database_ + "\"} 1\n"));
  ASSERT_EQ(Run("$M metrics $D --prometheus"), 0);
  EXPECT_EQ(first.substr(body), out_);
  ASSERT_EQ(Run("$M put $D pear yellow"), 0);
  EXPECT_THAT(Ask("GET /metrics?x=1 HTTP/1.0\r\n\r\n"),
              HasSubstr("mergedb_sequence{database=\"" + database_ + "\"} 2\n"));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServeMetricsTest, AnswersHeadAndTheAbsoluteForm) {
  StartServer();
  const std::string got = Ask("GET http://localhost:1/metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string head = Ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(head, got.substr(0, got.find("\r\n\r\n") + 4)) << "the lines of GET without the body";
  EXPECT_THAT(Ask("GET http://localhost HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\n\r\n"), EndsWith("the metrics are at /metrics\n"));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

// The silent clients have an hour; if one of them had the server for itself, the test would hang.
TEST_F(ServeMetricsTest, AnswersBesideSilentClients) {
  StartServer("3600");
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Connect());
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Stop(SIGTERM), 0);
  for (const int each : silent) EXPECT_EQ(Take(each), "");
}

TEST_F(ServeMetricsTest, RefusesOtherRequests) {
  StartServer();
  const std::pair<std::string, std::string> kCases[] = {
      {"GET / HTTP/1.1\r\n\r\n", "404 Not Found"},
      {"GET /metrics/ HTTP/1.1\r\n\r\n", "404 Not Found"},
      {"POST /other HTTP/1.1\r\n\r\n", "404 Not Found"},
      {"POST /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", "405 Method Not Allowed"},
      {"GET /metrics\r\n\r\n", "400 Bad Request"},
      {"GET /metrics HTTP/2\r\n\r\n", "400 Bad Request"},
      {"GET /metrics x HTTP/1.1\r\n\r\n", "400 Bad Request"},
      {" /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"},
      {"\r\n\r\n", "400 Bad Request"},
      {"GET /metrics HTTP/1.1\r\nX: " + std::string(20000, 'x'), "431 Request Header Fields Too Large"},
  };
  for (const auto& [request, answer] : kCases)
    EXPECT_THAT(Ask(request), StartsWith("HTTP/1.1 " + answer + "\r\n")) << request;
  ASSERT_EQ(Run("$M destroy $D --yes"), 0);
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_EQ(Stop(SIGINT), 0);
}

TEST_F(ServeMetricsTest, SurvivesSilentAndVanishingClients) {
  StartServer("1");
  const int silent = Connect();
  for (const char* begun : {"", "GET /met", "GET /metrics HTTP/1.1\r\n\r\n"}) {
    const int vanishing = Connect();
    EXPECT_GE(send(vanishing, begun, std::string_view(begun).size(), MSG_NOSIGNAL), 0);
    close(vanishing);
  }
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Take(silent), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServeMetricsTest, StopsWhileAClientIsSilent) {
  StartServer("3600");
  const int silent = Connect();
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_EQ(Take(silent), "");
}

TEST_F(ServeMetricsTest, RefusesWrongArguments) {
  for (const char* address :
       {"9090", ":9090", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "localhost:9090", "1.2.3:99999"})
    EXPECT_EQ(Run(std::string("$M serve-metrics $D --listen ") + address), 2) << address << out_;
  EXPECT_EQ(Run("$M serve-metrics $D"), 2);
  EXPECT_EQ(Run("$M serve-metrics $D --listen 127.0.0.1:0 --timeout 0"), 2);
  EXPECT_EQ(Run("$M serve-metrics $D/absent --listen 127.0.0.1:0"), 3);
}

}  // namespace
}  // namespace mergedb::serve_metrics_test
