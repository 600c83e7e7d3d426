// The six core workloads of YCSB (Cooper et al., Benchmarking Cloud Serving Systems with YCSB, SoCC 2010):
//
//     db_bench --benchmarks=ycsbload,ycsba,ycsbb,ycsbc,ycsbf,ycsbd --num=1000000 --value_size=1000
//
// A record has a number, which counts from 0 in the order of the inserts, and one value. As in YCSB, the key of a
// record is scattered over the key space, so neither a load nor an insert writes in key order, and recent records are
// not neighbours. Unlike YCSB, an update writes the whole value. Tests: tests/bench/ycsb_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string_view>

#include "bench/flags.h"
#include "bench/keys.h"

namespace mergedb::bench {

struct Task;

// The shares of the operations, in percent, and the distribution unless --distribution has another one.
struct YcsbMix {
  int read = 0;
  int update = 0;
  int insert = 0;
  int scan = 0;
  int read_modify_write = 0;
  std::string_view distribution = "zipfian";
};
inline constexpr YcsbMix kYcsbA{.read = 50, .update = 50};
inline constexpr YcsbMix kYcsbB{.read = 95, .update = 5};
inline constexpr YcsbMix kYcsbC{.read = 100};
inline constexpr YcsbMix kYcsbD{.read = 95, .insert = 5, .distribution = "latest"};
inline constexpr YcsbMix kYcsbE{.insert = 5, .scan = 95};
inline constexpr YcsbMix kYcsbF{.read = 50, .read_modify_write = 50};
inline constexpr int kYcsbScanMax = 100;  // a scan reads 1 to this many entries, each number equally often

// The records of the database, shared by all threads. A thread reserves the number of a new record, inserts the
// record, and acknowledges it. THREADS: all calls but Reset.
class RecordCounter {
 public:
  explicit RecordCounter(int64_t count) { Reset(count); }
  void Reset(int64_t count);

  int64_t Reserve() { return next_.fetch_add(1); }
  void Acknowledge(int64_t record);
  // All records below this number are in the database.
  int64_t count() const { return count_.load(); }

 private:
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> count_{0};
  std::mutex mutex_;
  std::set<int64_t> early_;  // acknowledged before a record with a smaller number
};

// The keys of records. Different records have different keys.
class RecordKey {
 public:
  explicit RecordKey(const Flags& flags);
  std::string_view Set(int64_t record) { return key_.Set(NumberOf(record)); }
  std::string_view view() const { return key_.view(); }
  uint64_t NumberOf(int64_t record) const;
  // The number of records that --key_size has keys for.
  int64_t record_count_max() const { return static_cast<int64_t>(modulus_); }

 private:
  KeyMaker key_;
  uint64_t modulus_;
  uint64_t factor_;
};

// Chooses records as YCSB does.
//     zipfian: ranks among 10^10 items, each hashed to a record, so that popular records are spread
//     latest:  rank 0 is the newest record
class RecordChooser {
 public:
  // `count_max` is an upper bound of the count in all calls of Next. The popular records depend on it.
  RecordChooser(std::string_view distribution, double theta, int64_t count_max);
  // A record below `count`.
  int64_t Next(int64_t count, LehmerRandom* random);

 private:
  const bool is_latest_;
  const bool is_zipfian_;
  const int64_t count_max_;
  int64_t count_;  // of zipfian_
  Zipfian zipfian_;
};

// FNV-1a of the eight bytes of a number, as YCSB's Utils.hash.
int64_t YcsbHash(int64_t number);

// Inserts the records 0 to --num - 1; each thread inserts its share of them.
void LoadYcsb(Task& task);
// Runs --num operations in each thread, or the larger one of --reads and --writes.
void RunYcsb(Task& task);

}  // namespace mergedb::bench
