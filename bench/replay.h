// The benchmark replay: the operations of a trace (include/mergedb/trace.h), on any engine.
//
//     db_bench --benchmarks=replay --trace=/tmp/trace --engine=rocksdb --replay_speed=1
//
// Thread t of the trace is replayed by thread t % --threads, so with one thread all operations come in the order of the
// trace. With --replay_speed above 0, an operation begins when it is due. With 0, it begins when the one before has
// ended.
//
// Values have the recorded sizes. They have the recorded bytes if the trace has them. What an engine does not have is
// replayed by what it has: a merge without --merge_operator by a put, a range delete by a scan with deletes. Keyspaces
// become prefixes of 4 bytes. Writes that failed are left out. Operations of an iterator that began before the trace
// are not in it. Reads of a transaction become reads of the database, which does not have the transaction's own writes
// yet; its commit becomes a batch.
//
// Tests: tests/bench/replay_test.cc.
#pragma once

namespace mergedb::bench {

struct Task;

void Replay(Task& task);

}  // namespace mergedb::bench
