#include <chrono>
#include <cstdio>
#include <filesystem>

#include "acts.h"
#include "progress.h"

namespace mergedb::demo {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kAcknowledgeEvery = 1024;

// In the child: puts every record, reports acknowledged records to the parent, waits for the background work.
Status IndexHere(const IndexRequest& request, const Reporter& reporter) {
  Message message;
  const uint64_t device_bytes_before = DeviceBytesWritten();
  const Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, request.kind.open(request.directory));
  Status status;
  uint64_t number = 0;
  ForEachRecord(*request.corpus, [&](std::string_view key, std::string_view value, uint64_t text_bytes) {
    if (number++ < request.first) return true;
    status = engine->Put(key, value);
    if (!status.ok()) return false;
    message.user_bytes += key.size() + value.size();
    message.records = number;
    message.text_bytes = text_bytes;
    if (number % kAcknowledgeEvery == 0) reporter.Send(message);
    return true;
  });
  RETURN_IF_ERROR(status);
  message.load_seconds = SecondsSince(start);
  double idle_seconds = 0;
  RETURN_IF_ERROR(engine->Drain(&idle_seconds));
  message.total_seconds = SecondsSince(start) - idle_seconds;
  RETURN_IF_ERROR(engine->Close());
  message.kind = Message::Kind::kDone;
  message.text_bytes = request.corpus->bytes;
  message.device_bytes = DeviceBytesWritten() - device_bytes_before;
  reporter.Send(message);
  return Status::Ok();
}

void PrintRow(const char* name, const Message& done, const DiskBytes& disk) {
  char amplification[32] = "n/a";
  if (done.device_bytes > 0) {
    std::snprintf(amplification, sizeof amplification, "%.1f",
                  static_cast<double>(done.device_bytes) / static_cast<double>(done.user_bytes));
  }
  std::printf("  %-8s %8.1f s %11.1f s %10.2f us %8.0f MB %8.0f MB %13s\n", name, done.load_seconds, done.total_seconds,
              done.load_seconds * 1e6 / static_cast<double>(done.records), static_cast<double>(disk.tables) / 1e6,
              static_cast<double>(disk.rest) / 1e6, amplification);
}

}  // namespace

std::string StoreDirectory(const std::string& directory, const EngineKind& kind) { return directory + "/" + kind.name; }

DiskBytes MeasureDisk(const std::string& directory) {
  DiskBytes bytes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::error_code ignored;
    const uint64_t size = entry.file_size(ignored);
    if (ignored) continue;
    const std::string ending = entry.path().extension().string();
    (ending == ".tbl" || ending == ".ldb" ? bytes.tables : bytes.rest) += size;
  }
  return bytes;
}

Message Index(const IndexRequest& request) {
  Progress progress(request.kind.name, request.corpus->bytes);
  Worker worker([&](const Reporter& reporter) { return IndexHere(request, reporter); });
  Message last, message;
  bool is_killed = false;
  while (worker.Receive(&message)) {
    last = message;
    if (request.kill_at && message.text_bytes >= *request.kill_at && !is_killed) {
      worker.Kill();
      is_killed = true;  // read on: the messages in the pipe were acknowledged before the kill
    }
    progress.Show(message.text_bytes, message.records - request.first);
  }
  progress.Clear();
  if (last.kind == Message::Kind::kProgress && !is_killed) {
    last.kind = Message::Kind::kFailed;
    std::snprintf(last.text, sizeof last.text, "the child process ended without a result");
  }
  return last;
}

bool RunRace(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory) {
  std::vector<Message> done;
  for (const EngineKind& kind : kinds) {
    done.push_back(Index({.kind = kind, .corpus = &corpus, .directory = StoreDirectory(directory, kind)}));
    if (done.back().kind != Message::Kind::kDone) {
      std::printf("  %s failed: %s\n", kind.name, done.back().text);
      return false;
    }
  }
  std::printf("  %-8s %10s %13s %13s %11s %11s %13s\n", "", "load", "load+compact", "per word", "tables", "WAL",
              "written/put");
  for (size_t i = 0; i < kinds.size(); ++i) {
    PrintRow(kinds[i].name, done[i], MeasureDisk(StoreDirectory(directory, kinds[i])));
  }
  std::printf(
      "  load+compact: until no background work is left. WAL: on disk, kept for recycling. written/put: bytes\n"
      "  written to storage (write_bytes of /proc/self/io) for each byte of keys put, the WAL included; n/a on file\n"
      "  systems in memory.\n");
  if (done.size() == 2) {
    std::printf("  mergedb loads %.1f times as fast, with compactions %.1f times.\n",
                done[1].load_seconds / done[0].load_seconds, done[1].total_seconds / done[0].total_seconds);
  }
  return true;
}

}  // namespace mergedb::demo
