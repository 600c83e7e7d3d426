// A program written for LevelDB.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <memory>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  leveldb::Options options;
  options.create_if_missing = true;
  const std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  options.filter_policy = filter.get();
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, argv[1], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  if (!status.ok()) return 1;
  std::string value;
  if (!db->Put({}, "key", "value").ok() || !db->Get({}, "key", &value).ok()) return 1;
  std::printf("%s\n", value.c_str());
  return 0;
}
