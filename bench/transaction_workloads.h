// LSMDB's own benchmark (its test.h) for every engine: records in synced transactions of --batch_size, with and
// without parallel readers.
//
//     db_bench --benchmarks=appendsync,filltxn,waitforidle,readseq,readtxn --num=2000000 --batch_size=1000
//         --key_size=8 --value_size=16 --sync=1
//
//   filltxn               the key is a counter, least significant byte first: distinct keys, far from each other
//   filltxnseq            most significant byte first: ascending. LMDB gets MDB_APPEND, as in LSMDB's program
//   readtxn               gets of random keys of these
//   readtxnwhilewriting   the same, while another thread overwrites them in transactions
//   waitforidle           waits until background work that runs when nothing is written has ended: mergedb's idle
//                         compaction into one sorted run
//   appendsync            no engine: appends the same bytes to a file, with an fdatasync every --batch_size records.
//                         An engine cannot be faster unless it writes to preallocated files
//
// A transaction is the engine's own kind: a batch for LevelDB and RocksDB, a single-writer transaction for LMDB
// and mergedb.
#pragma once

namespace mergedb::bench {

struct Task;

void FillTransactions(Task& task);
void ReadTransactions(Task& task);
void ReadTransactionsWhileWriting(Task& task);
void AppendAndSync(Task& task);

}  // namespace mergedb::bench
