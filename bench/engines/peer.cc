// fjall and Pebble through the C interface of peer_library.h. All settings are in the libraries
// (bench/peers/), except those that both share.
#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "bench/engines/engine.h"
#include "bench/engines/peer_library.h"
#include "bench/measure.h"

namespace mergedb::bench {
namespace {

PeerLibrary Load(const std::string& engine, const std::string& path) {
  if (path.empty()) Die(engine, "open", "--peer_library is missing; `./dev bench --peers " + engine + "` builds it");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) Die(engine, "open", dlerror());
  PeerLibrary calls;
#define X(result, name, parameters)                                                      \
  calls.name##_ = reinterpret_cast<result(*) parameters>(dlsym(library, "peer_" #name)); \
  if (!calls.name##_) Die(engine, "open", "the library lacks peer_" #name);
  MERGEDB_PEER_CALLS(X)
#undef X
  return calls;
}

// What all objects of an engine share.
struct Peer {
  const PeerLibrary& calls;
  const std::string name;
  PeerDb db = 0;

  void Check(char* error, std::string_view act) const {
    if (!error) return;
    const std::string reason = error;
    calls.free_(error);
    Die(name, act, reason);
  }
};

class PeerSingleWriter final : public Writer {
 public:
  PeerSingleWriter(const Peer& peer, bool is_synced) : peer_(peer), sync_(is_synced) {}
  void Put(std::string_view key, std::string_view value) override {
    char* error = nullptr;
    peer_.calls.put_(peer_.db, key.data(), key.size(), value.data(), value.size(), sync_, &error);
    peer_.Check(error, "put");
  }
  void Delete(std::string_view key) override {
    char* error = nullptr;
    peer_.calls.delete_(peer_.db, key.data(), key.size(), sync_, &error);
    peer_.Check(error, "delete");
  }
  void Commit() override {}

 private:
  const Peer& peer_;
  const int32_t sync_;
};

class PeerBatchWriter final : public Writer {
 public:
  PeerBatchWriter(const Peer& peer, bool is_synced)
      : peer_(peer), sync_(is_synced), batch_(peer.calls.batch_create_(peer.db)) {}
  ~PeerBatchWriter() override { peer_.calls.batch_destroy_(batch_); }
  void Put(std::string_view key, std::string_view value) override {
    peer_.calls.batch_put_(batch_, key.data(), key.size(), value.data(), value.size());
  }
  void Delete(std::string_view key) override { peer_.calls.batch_delete_(batch_, key.data(), key.size()); }
  void Commit() override {
    char* error = nullptr;
    peer_.calls.batch_commit_(batch_, sync_, &error);
    peer_.Check(error, "write");
  }

 private:
  const Peer& peer_;
  const int32_t sync_;
  const PeerBatch batch_;
};

class PeerReader final : public Reader {
 public:
  explicit PeerReader(const Peer& peer) : peer_(peer), buffer_(4096) {}
  bool Get(std::string_view key, std::string* value) override {
    for (;;) {
      char* error = nullptr;
      const int64_t found = peer_.calls.get_(peer_.db, key.data(), key.size(), buffer_.data(), buffer_.size(), &error);
      peer_.Check(error, "get");
      if (found < 0) return false;
      const auto bytes = static_cast<size_t>(found);
      if (bytes <= buffer_.size()) {
        value->assign(buffer_.data(), bytes);
        return true;
      }
      buffer_.resize(bytes);
    }
  }

 private:
  const Peer& peer_;
  std::vector<char> buffer_;
};

class PeerCursor final : public Cursor {
 public:
  explicit PeerCursor(const Peer& peer) : peer_(peer) {
    char* error = nullptr;
    iterator_ = peer.calls.iter_create_(peer.db, &error);
    peer_.Check(error, "iterate");
  }
  ~PeerCursor() override {
    char* error = nullptr;
    peer_.calls.iter_destroy_(iterator_, &error);
    peer_.Check(error, "iterate");
  }
  bool Valid() const override { return is_valid_; }
  void SeekToFirst() override { Move(kPeerFirst); }
  void SeekToLast() override { Move(kPeerLast); }
  void Seek(std::string_view target) override { Move(kPeerSeek, target); }
  void Next() override { Move(kPeerNext); }
  void Prev() override { Move(kPeerPrev); }
  std::string_view key() const override { return {entry_.key, entry_.key_bytes}; }
  std::string_view value() const override { return {entry_.value, entry_.value_bytes}; }

 private:
  void Move(PeerMovement movement, std::string_view target = {}) {
    char* error = nullptr;
    is_valid_ = peer_.calls.iter_move_(iterator_, movement, target.data(), target.size(), &entry_, &error) != 0;
    peer_.Check(error, "iterate");
  }

  const Peer& peer_;
  PeerIterator iterator_ = 0;
  PeerEntry entry_ = {};
  bool is_valid_ = false;
};

class PeerEngine final : public Engine {
 public:
  PeerEngine(const Flags& flags, const std::string& path)
      : peer_{.calls = LoadPeer(flags.engine, flags.peer_library), .name = flags.engine} {
    char* error = nullptr;
    peer_.db = peer_.calls.open_(path.c_str(), static_cast<uint64_t>(flags.write_buffer_size),
                                 static_cast<uint64_t>(flags.cache_bytes()), static_cast<uint64_t>(flags.block_size),
                                 flags.bloom_bits, flags.compression, static_cast<int32_t>(flags.open_files), &error);
    peer_.Check(error, "open");
  }
  ~PeerEngine() override {
    char* error = nullptr;
    peer_.calls.close_(peer_.db, &error);
    peer_.Check(error, "close");
  }
  std::string Version() const override { return peer_.calls.version_(); }

  std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) override {
    if (durability == Durability::kNoWal) Die(peer_.name, "write", "it has no writes without its WAL");
    const bool is_synced = durability == Durability::kSynced;
    if (is_batched) return std::make_unique<PeerBatchWriter>(peer_, is_synced);
    return std::make_unique<PeerSingleWriter>(peer_, is_synced);
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<PeerReader>(peer_); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<PeerCursor>(peer_); }

  // Both conditions: the engine's counters miss work that is about to begin, and a thread that waits for the
  // device uses no CPU.
  double WaitForCompaction() override {
    for (;;) {
      const double idle_seconds = WaitUntilIdle();
      if (!peer_.calls.is_busy_(peer_.db)) return idle_seconds;
    }
  }
  void Compact() override {
    char* error = nullptr;
    peer_.calls.compact_(peer_.db, &error);
    peer_.Check(error, "compact");
  }
  std::string Property(std::string_view name) override {
    char* const text = name == "stats" ? peer_.calls.stats_(peer_.db) : nullptr;
    if (!text) return {};
    std::string copy = text;
    peer_.calls.free_(text);
    return copy;
  }
  int64_t RunCount() override { return peer_.calls.run_count_(peer_.db); }
  int64_t WriteMemoryBytes() override { return peer_.calls.write_memory_bytes_(peer_.db); }

 private:
  Peer peer_;
};

// True if the directory has a file that one of the engines keeps there.
bool HasPeerDatabase(const std::string& path) {
  return std::filesystem::exists(path + "/version") || std::filesystem::exists(path + "/CURRENT") ||
         std::filesystem::exists(path + "/LOCK") || std::filesystem::exists(path + "/lock");
}

}  // namespace

const PeerLibrary& LoadPeer(const std::string& engine, const std::string& path) {
  static const PeerLibrary library = Load(engine, path);
  return library;
}

std::unique_ptr<Engine> OpenPeer(const Flags& flags, const std::string& path) {
  return std::make_unique<PeerEngine>(flags, path);
}

void DestroyPeer(const Flags& flags, const std::string& path) {
  if (std::filesystem::is_empty(path)) return;
  if (!HasPeerDatabase(path)) Die(flags.engine, "destroy", path + " holds no database of it");
  std::filesystem::remove_all(path);
}

}  // namespace mergedb::bench
