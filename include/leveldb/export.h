// Which names a program may link to. Everything else of the library is hidden.
#ifndef STORAGE_LEVELDB_INCLUDE_EXPORT_H_
#define STORAGE_LEVELDB_INCLUDE_EXPORT_H_

#define LEVELDB_EXPORT __attribute__((visibility("default")))

#endif  // STORAGE_LEVELDB_INCLUDE_EXPORT_H_
