// The C interface of the engines that are not written in C or C++: fjall and Pebble. Each is a shared library,
// built from bench/peers/ by `./dev bench --peers all` and loaded at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mergedb::bench {

// Handles of the library; 0 is none.
using PeerDb = uintptr_t;
using PeerBatch = uintptr_t;
using PeerIterator = uintptr_t;

// Valid until the next movement of the iterator.
struct PeerEntry {
  const char* key;
  size_t key_bytes;
  const char* value;
  size_t value_bytes;
};
enum PeerMovement : int32_t { kPeerFirst, kPeerLast, kPeerSeek, kPeerNext, kPeerPrev };

// X(result, name, parameters). A function that fails stores a text in *error, which peer_free frees.
// - open: write buffer, cache, block (bytes), bloom bits, compression as in --compression, open files.
// - put, delete, batch_commit: the int32_t is 1 for a sync.
// - batch_commit: empties the batch, which stays usable.
// - get: copies a value of at most `capacity` bytes to the buffer. Returns the bytes of the value; < 0: not found.
// - iter_move: the target is for kPeerSeek. Returns 1 and the entry, or 0 at an end.
// - is_busy: 1 while a flush, a compaction or a removal of files runs or waits.
// - stats: a text for people; null if there is none.
#define MERGEDB_PEER_CALLS(X)                                                                           \
  X(const char*, version, ())                                                                           \
  X(void, free, (char*))                                                                                \
  X(PeerDb, open, (const char*, uint64_t, uint64_t, uint64_t, int32_t, int32_t, int32_t, char** error)) \
  X(void, close, (PeerDb, char** error))                                                                \
  X(void, put, (PeerDb, const char*, size_t, const char*, size_t, int32_t, char** error))               \
  X(void, delete, (PeerDb, const char*, size_t, int32_t, char** error))                                 \
  X(PeerBatch, batch_create, (PeerDb))                                                                  \
  X(void, batch_destroy, (PeerBatch))                                                                   \
  X(void, batch_put, (PeerBatch, const char*, size_t, const char*, size_t))                             \
  X(void, batch_delete, (PeerBatch, const char*, size_t))                                               \
  X(void, batch_commit, (PeerBatch, int32_t, char** error))                                             \
  X(int64_t, get, (PeerDb, const char*, size_t, char* buffer, size_t capacity, char** error))           \
  X(PeerIterator, iter_create, (PeerDb, char** error))                                                  \
  X(void, iter_destroy, (PeerIterator, char** error))                                                   \
  X(int32_t, iter_move, (PeerIterator, int32_t, const char* target, size_t, PeerEntry*, char** error))  \
  X(int32_t, is_busy, (PeerDb))                                                                         \
  X(void, compact, (PeerDb, char** error))                                                              \
  X(int64_t, run_count, (PeerDb))                                                                       \
  X(int64_t, write_memory_bytes, (PeerDb))                                                              \
  X(char*, stats, (PeerDb))

struct PeerLibrary {
#define X(result, name, parameters) result(*name##_) parameters = nullptr;
  MERGEDB_PEER_CALLS(X)
#undef X
};

// Loads the library once for the process. Ends the program with a message if the library or a function is
// missing.
const PeerLibrary& LoadPeer(const std::string& engine, const std::string& path);

}  // namespace mergedb::bench
