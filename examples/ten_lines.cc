// The example in README.md. The tests build and run it; the argument is the directory of the database.
#include <mergedb/db.h>

#include <iostream>

int main(int argc, char** argv) {
  auto db = mergedb::DB::Open({}, argc > 1 ? argv[1] : "/tmp/mergedb_example");
  if (!db) return std::cerr << db.error().ToString() << '\n', 1;
  mergedb::WriteBatch batch;  // atomic, also after a crash
  batch.Put("fruit:apple", "green");
  batch.Put("fruit:cherry", "red");
  mergedb::Status status = (*db)->Write({.durability = mergedb::Durability::kSynced}, batch);
  auto it = (*db)->NewIterator({.prefix = "fruit:"});
  for (it->SeekToFirst(); it->Valid(); it->Next()) std::cout << it->key() << " is " << it->value() << '\n';
  return status.ok() && it->status().ok() ? 0 : 1;
}
