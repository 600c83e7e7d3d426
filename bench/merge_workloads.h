// Benchmarks that change values: by reading and writing them, or by merging. RocksDB's, with its flags.
//
// Each is followed by a timed read of everything (`foldall`), at the latest when the run ends: a merge that was left for
// readers to do would hide its cost otherwise.
#pragma once

namespace mergedb::bench {

struct Task;

void UpdateRandom(Task& task);     // get, put of a new value
void AppendRandom(Task& task);     // get, put with a comma and a value behind it
void XorUpdateRandom(Task& task);  // get, put xor a value
void MergeRandom(Task& task);
void ReadRandomMergeRandom(Task& task);
void ReadWhileMerging(Task& task);
void FoldAll(Task& task);

}  // namespace mergedb::bench
