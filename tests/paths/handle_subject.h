// Makes the calls of handle_calls.h on the C interface, on two databases in real files.
//
//     Home home;                                   two open databases
//     Handles handles(&home, Topic::kCursors);     the calls before the paths of the topic
//     handles.Do(call);                            "OK a=0", "BadHandle", ...
//
// The destructor of Handles closes what the path left open. The databases stay open for the next path, with their first
// content again.
#pragma once

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mergedb/c.h"
#include "testing/temp_directory.h"
#include "tests/paths/handle_model.h"

namespace mergedb::testing::handles {

class Home {
 public:
  Home();
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  mergedb_code Open(int8_t number, mergedb_db* db) const;
  // Opens the database unless `db` is open, and writes its first content.
  void Restore(int8_t number, mergedb_db* db) const;

  std::array<mergedb_db, kVariables> databases{};  // between the paths

 private:
  const TempDirectory directory_{access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                               : "/tmp"};  // WHY: many paths close and sync
};

// A thread that makes one call after the other, while the thread that asks for it waits.
class SecondThread {
 public:
  SecondThread();
  ~SecondThread();
  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

  // False: the call is still in progress after 20 seconds. REQUIRES: no call is in progress, or its wait is ended.
  bool Run(std::function<void()> call);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> call_;  // null: none is in progress
  bool is_ending_ = false;
  std::thread thread_;
};

class Handles {
 public:
  Handles(Home* home, Topic topic);
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  std::string Do(const Call& call);

 private:
  struct Inside;  // of a call of the second thread

  std::string Make(const Call& call);
  std::string DoDatabase(const Call& call);
  std::string DoKeyspace(const Call& call);
  std::string DoSnapshot(const Call& call);
  std::string DoIterator(const Call& call);
  std::string DoBatch(const Call& call);
  std::string DoTransaction(const Call& call);
  std::string DoOpenTransaction(const Call& call);
  std::string DoCursor(const Call& call);
  std::string AsOthers(const Call& call);
  void Enter(const Call& call);

  // Calls `make(&handle)`, which sets a handle. A call that fails must leave 0 in it, and the variable is unchanged.
  template <typename Function>
  std::string Set(uint64_t* variable, const Function& make);
  uint64_t Of(char kind, int8_t number) const;
  uint64_t SnapshotOf(int8_t number) const { return number == kNone ? 0 : snapshots_[number]; }
  mergedb_keyspace KeyspaceOf(int8_t database, Space space) const;

  Home& home_;
  std::array<mergedb_db, kVariables>& databases_;
  std::array<std::vector<mergedb_keyspace>, kVariables> keyspaces_;  // in the order of their creation
  std::array<mergedb_snapshot, kVariables> snapshots_{};
  std::array<mergedb_iterator, kVariables> iterators_{};
  std::array<mergedb_batch, kVariables> batches_{};
  std::array<mergedb_transaction, kVariables> transactions_{};
  std::array<mergedb_cursor, kVariables> cursors_{};
  std::array<int8_t, kVariables> database_of_{};  // of a transaction
  std::array<bool, kVariables> is_changed_{};     // the content of a database
  std::unique_ptr<Inside> inside_;
};

}  // namespace mergedb::testing::handles
