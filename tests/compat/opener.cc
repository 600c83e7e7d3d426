// Opens the database in its first argument, prints the result, and holds the database until its input ends.
// With a second argument it first writes tables, a WAL, deletes and unprintable keys.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

void Fill(leveldb::DB* db) {
  for (int i = 0; i < 300; ++i) db->Put({}, "key" + std::to_string(i), std::string(i % 50, 'v'));
  db->Delete({}, "key7");
  db->CompactRange(nullptr, nullptr);
  for (int i = 0; i < 20; ++i) db->Put({}, "later" + std::to_string(i), "value");
  leveldb::WriteBatch batch;
  batch.Put(std::string("\0\xff\n'", 4), "odd");
  batch.Delete("key8");
  db->Write({}, &batch);
}

}  // namespace

int main(int count, char** arguments) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, arguments[1], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  std::printf("%s\n", status.ToString().c_str());
  std::fflush(stdout);
  if (count > 2 && db != nullptr) Fill(db.get());
  while (std::getchar() != EOF) {}
  return 0;
}
