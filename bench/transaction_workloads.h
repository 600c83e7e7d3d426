// The benchmark that LSMDB came with (facts: its test.h), for every engine: records in synced transactions of --batch_size, and
// readers beside them.
//
//     db_bench --benchmarks=appendsync,filltxn,waitforidle,readseq,readtxn --num=2000000 --batch_size=1000 --key_size=8 --value_size=16 --sync=1
//
//   filltxn               keys are a counter, least significant byte first: each key once, far from the one before
//   filltxnseq            most significant byte first: ascending. LMDB is told so (MDB_APPEND), as LSMDB's program does
//   readtxn               random ones of these keys, read by point reads
//   readtxnwhilewriting   the same beside a thread that goes on writing transactions over them
//   waitforidle           until the background has done what it does when nobody writes: mergedb's settling into one run
//   appendsync            no engine: the same bytes appended to a file, an fdatasync each --batch_size. What cannot be undercut by
//                         who does not write into files prepared before
//
// A transaction is the engine's own kind: LevelDB and RocksDB have batches, LMDB and mergedb a single writer's transaction.
#pragma once

namespace mergedb::bench {

struct Task;

void FillTransactions(Task& task);
void ReadTransactions(Task& task);
void ReadTransactionsWhileWriting(Task& task);
void AppendAndSync(Task& task);

}  // namespace mergedb::bench
