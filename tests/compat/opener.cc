// Opens the database in its first argument, says what came of it, and holds it until its input ends.
#include <leveldb/db.h>

#include <cstdio>
#include <memory>

int main(int, char** arguments) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, arguments[1], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  std::printf("%s\n", status.ToString().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
