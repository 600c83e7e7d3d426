// Benchmarks that change values, by get and put or by merge operands. The names and flags are RocksDB's.
//
// A timed read of all keys (`foldall`) follows, at the end of the run at the latest. Without it, the results
// would not include merge operands that readers have to fold.
#pragma once

namespace mergedb::bench {

struct Task;

void UpdateRandom(Task& task);     // get, put of a new value
void AppendRandom(Task& task);     // get, put with a comma and a value appended
void XorUpdateRandom(Task& task);  // get, put of the xor with a value
void MergeRandom(Task& task);
void ReadRandomMergeRandom(Task& task);
void ReadWhileMerging(Task& task);
void FoldAll(Task& task);

}  // namespace mergedb::bench
