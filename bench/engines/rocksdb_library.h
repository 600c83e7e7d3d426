// RocksDB's C interface, loaded at run time from the library that a flag names: Debian's, or the release build
// inside the Java archive of a newer version. All declarations are here, so that the benchmark builds without
// RocksDB's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mergedb::bench {

struct rocksdb_t;
struct rocksdb_options_t;
struct rocksdb_block_based_table_options_t;
struct rocksdb_cache_t;
struct rocksdb_filterpolicy_t;
struct rocksdb_readoptions_t;
struct rocksdb_writeoptions_t;
struct rocksdb_writebatch_t;
struct rocksdb_pinnableslice_t;
struct rocksdb_iterator_t;
struct rocksdb_column_family_handle_t;
struct rocksdb_mergeoperator_t;
struct rocksdb_wait_for_compact_options_t;

// Callbacks of a merge operator: fold all operands, oldest first, into a value or into each other. The result
// comes from malloc.
using RocksdbFullMerge = char* (*)(void*, const char*, size_t, const char*, size_t, const char* const*, const size_t*,
                                   int, unsigned char*, size_t*);
using RocksdbPartialMerge = char* (*)(void*, const char*, size_t, const char* const*, const size_t*, int,
                                      unsigned char*, size_t*);

// X(result, name, parameters): functions of every version.
#define MERGEDB_ROCKSDB_CALLS(X)                                                                                   \
  X(void, free, (void*))                                                                                           \
  X(rocksdb_options_t*, options_create, ())                                                                        \
  X(void, options_destroy, (rocksdb_options_t*))                                                                   \
  X(void, options_increase_parallelism, (rocksdb_options_t*, int))                                                 \
  X(void, options_set_create_if_missing, (rocksdb_options_t*, unsigned char))                                      \
  X(void, options_set_write_buffer_size, (rocksdb_options_t*, size_t))                                             \
  X(void, options_set_max_open_files, (rocksdb_options_t*, int))                                                   \
  X(void, options_set_compression, (rocksdb_options_t*, int))                                                      \
  X(void, options_set_compaction_style, (rocksdb_options_t*, int))                                                 \
  X(void, options_set_max_bytes_for_level_base, (rocksdb_options_t*, uint64_t))                                    \
  X(void, options_set_target_file_size_base, (rocksdb_options_t*, uint64_t))                                       \
  X(void, options_set_block_based_table_factory, (rocksdb_options_t*, rocksdb_block_based_table_options_t*))       \
  X(rocksdb_block_based_table_options_t*, block_based_options_create, ())                                          \
  X(void, block_based_options_destroy, (rocksdb_block_based_table_options_t*))                                     \
  X(void, block_based_options_set_block_size, (rocksdb_block_based_table_options_t*, size_t))                      \
  X(void, block_based_options_set_block_cache, (rocksdb_block_based_table_options_t*, rocksdb_cache_t*))           \
  X(void, block_based_options_set_filter_policy, (rocksdb_block_based_table_options_t*, rocksdb_filterpolicy_t*))  \
  X(rocksdb_cache_t*, cache_create_lru, (size_t))                                                                  \
  X(void, cache_destroy, (rocksdb_cache_t*))                                                                       \
  X(rocksdb_filterpolicy_t*, filterpolicy_create_bloom_full, (double))                                             \
  X(rocksdb_t*, open, (const rocksdb_options_t*, const char*, char**))                                             \
  X(void, close, (rocksdb_t*))                                                                                     \
  X(void, destroy_db, (const rocksdb_options_t*, const char*, char**))                                             \
  X(rocksdb_writeoptions_t*, writeoptions_create, ())                                                              \
  X(void, writeoptions_destroy, (rocksdb_writeoptions_t*))                                                         \
  X(void, writeoptions_set_sync, (rocksdb_writeoptions_t*, unsigned char))                                         \
  X(void, writeoptions_disable_WAL, (rocksdb_writeoptions_t*, int))                                                \
  X(rocksdb_readoptions_t*, readoptions_create, ())                                                                \
  X(void, readoptions_destroy, (rocksdb_readoptions_t*))                                                           \
  X(void, put, (rocksdb_t*, const rocksdb_writeoptions_t*, const char*, size_t, const char*, size_t, char**))      \
  X(void, delete, (rocksdb_t*, const rocksdb_writeoptions_t*, const char*, size_t, char**))                        \
  X(void, merge, (rocksdb_t*, const rocksdb_writeoptions_t*, const char*, size_t, const char*, size_t, char**))    \
  X(void, writebatch_merge, (rocksdb_writebatch_t*, const char*, size_t, const char*, size_t))                     \
  X(void, options_set_uint64add_merge_operator, (rocksdb_options_t*))                                              \
  X(void, options_set_merge_operator, (rocksdb_options_t*, rocksdb_mergeoperator_t*))                              \
  X(rocksdb_mergeoperator_t*, mergeoperator_create,                                                                \
    (void*, void (*)(void*), RocksdbFullMerge, RocksdbPartialMerge, void (*)(void*, const char*, size_t),          \
     const char* (*)(void*)))                                                                                      \
  X(void, write, (rocksdb_t*, const rocksdb_writeoptions_t*, rocksdb_writebatch_t*, char**))                       \
  X(rocksdb_writebatch_t*, writebatch_create, ())                                                                  \
  X(void, writebatch_destroy, (rocksdb_writebatch_t*))                                                             \
  X(void, writebatch_clear, (rocksdb_writebatch_t*))                                                               \
  X(void, writebatch_put, (rocksdb_writebatch_t*, const char*, size_t, const char*, size_t))                       \
  X(void, writebatch_delete, (rocksdb_writebatch_t*, const char*, size_t))                                         \
  X(void, writebatch_delete_range, (rocksdb_writebatch_t*, const char*, size_t, const char*, size_t))              \
  X(rocksdb_pinnableslice_t*, get_pinned, (rocksdb_t*, const rocksdb_readoptions_t*, const char*, size_t, char**)) \
  X(const char*, pinnableslice_value, (const rocksdb_pinnableslice_t*, size_t*))                                   \
  X(void, pinnableslice_destroy, (rocksdb_pinnableslice_t*))                                                       \
  X(rocksdb_iterator_t*, create_iterator, (rocksdb_t*, const rocksdb_readoptions_t*))                              \
  X(void, iter_destroy, (rocksdb_iterator_t*))                                                                     \
  X(unsigned char, iter_valid, (const rocksdb_iterator_t*))                                                        \
  X(void, iter_seek_to_first, (rocksdb_iterator_t*))                                                               \
  X(void, iter_seek_to_last, (rocksdb_iterator_t*))                                                                \
  X(void, iter_seek, (rocksdb_iterator_t*, const char*, size_t))                                                   \
  X(void, iter_next, (rocksdb_iterator_t*))                                                                        \
  X(void, iter_prev, (rocksdb_iterator_t*))                                                                        \
  X(const char*, iter_key, (const rocksdb_iterator_t*, size_t*))                                                   \
  X(const char*, iter_value, (const rocksdb_iterator_t*, size_t*))                                                 \
  X(void, iter_get_error, (const rocksdb_iterator_t*, char**))                                                     \
  X(char*, property_value, (rocksdb_t*, const char*))                                                              \
  X(void, compact_range, (rocksdb_t*, const char*, size_t, const char*, size_t))

// Functions that older versions lack; null there.
#define MERGEDB_ROCKSDB_NEWER_CALLS(X)                                                                      \
  X(rocksdb_wait_for_compact_options_t*, wait_for_compact_options_create, ())                               \
  X(void, wait_for_compact_options_destroy, (rocksdb_wait_for_compact_options_t*))                          \
  X(void, wait_for_compact, (rocksdb_t*, rocksdb_wait_for_compact_options_t*, char**))                      \
  X(rocksdb_column_family_handle_t*, get_default_column_family_handle, (rocksdb_t*))                        \
  X(void, column_family_handle_destroy, (rocksdb_column_family_handle_t*))                                  \
  X(void, batched_multi_get_cf,                                                                             \
    (rocksdb_t*, const rocksdb_readoptions_t*, rocksdb_column_family_handle_t*, size_t, const char* const*, \
     const size_t*, rocksdb_pinnableslice_t**, char**, bool))

struct RocksdbLibrary {
#define X(result, name, parameters) result(*name##_) parameters = nullptr;
  MERGEDB_ROCKSDB_CALLS(X)
  MERGEDB_ROCKSDB_NEWER_CALLS(X)
#undef X
  std::string path;
};

// Loads the library once for the process. Ends the program with a message if the library or a required function
// is missing. An empty path means Debian's library.
const RocksdbLibrary& LoadRocksdb(const std::string& path);

}  // namespace mergedb::bench
