#include <mergedb/db.h>

#include <iostream>

int main(int, char** argv) {
  auto db = mergedb::DB::Open({}, argv[1]);
  if (!db) return std::cerr << db.error().ToString() << '\n', 1;
  std::string value;
  mergedb::Status status = (*db)->Put({}, "fruit", "apple");
  if (status.ok()) status = (*db)->Get({}, "fruit", &value);
  std::cout << "mergedb answers: " << value << '\n';
  return status.ok() && value == "apple" ? 0 : 1;
}
