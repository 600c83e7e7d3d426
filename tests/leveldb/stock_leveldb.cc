// Debian's LevelDB as a command. Tests compare mergedb's reading and writing of LevelDB files with it. It
// uses only the system's headers and library.
//
//   stock_leveldb [FLAG...] write DIR < SCRIPT   put KEY VALUE | del KEY | many FIRST COUNT BYTES | compact | reopen
//   stock_leveldb [FLAG...] dump DIR             KEY VALUE, one pair a line, in order
//   stock_leveldb [FLAG...] repair DIR           RepairDB
//   stock_leveldb [FLAG...] property DIR NAME
//
// Keys and values are hex; "-" is an empty one. Flags: --raw (no compression), --bloom, --reverse (the
// reverse of the bytewise order), --buffer=BYTES, --block=BYTES, --file=BYTES, --create. Exit code 0: OK; 3:
// LevelDB's status on stderr.
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

namespace {

class Reverse final : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.reverse"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

void Check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::cerr << status.ToString() << "\n";
  std::exit(3);
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  if (hex == "-") return bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string ToHex(const leveldb::Slice& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < bytes.size(); ++i) {
    hex.push_back(kDigits[static_cast<unsigned char>(bytes[i]) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(bytes[i]) & 15]);
  }
  return hex.empty() ? "-" : hex;
}

std::unique_ptr<leveldb::DB> Open(const leveldb::Options& options, const std::string& directory) {
  leveldb::DB* db = nullptr;
  Check(leveldb::DB::Open(options, directory, &db));
  return std::unique_ptr<leveldb::DB>(db);
}

// Puts keys such as "key00000012" with values of `bytes` bytes that compress to about half.
void PutMany(leveldb::DB* db, unsigned first, unsigned count, unsigned bytes) {
  for (unsigned i = first; i < first + count; ++i) {
    char key[32];
    std::snprintf(key, sizeof key, "key%08u", i);
    std::string value;
    for (unsigned j = 0; value.size() < bytes; ++j)
      value += std::to_string((i + 1) * 2654435761u * (j + 1)) + "----------";
    value.resize(bytes);
    Check(db->Put({}, key, value));
  }
}

void RunScript(const leveldb::Options& options, const std::string& directory) {
  auto db = Open(options, directory);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, key, value;
    words >> verb;
    if (verb == "put" && words >> key >> value) {
      Check(db->Put({}, FromHex(key), FromHex(value)));
    } else if (verb == "del" && words >> key) {
      Check(db->Delete({}, FromHex(key)));
    } else if (unsigned first, count, bytes; verb == "many" && words >> first >> count >> bytes) {
      PutMany(db.get(), first, count, bytes);
    } else if (verb == "compact") {
      db->CompactRange(nullptr, nullptr);
    } else if (verb == "reopen") {
      db.reset();
      db = Open(options, directory);
    } else {
      std::cerr << "stock_leveldb: no such line: " << line << "\n";
      std::exit(2);
    }
  }
}

void Dump(const leveldb::Options& options, const std::string& directory) {
  const auto db = Open(options, directory);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(db->NewIterator(read));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::cout << ToHex(it->key()) << " " << ToHex(it->value()) << "\n";
    std::string value;  // by a Get, which uses filters
    Check(db->Get(read, it->key(), &value));
    if (value != it->value()) std::exit(3);
  }
  Check(it->status());
}

void PrintProperty(const leveldb::Options& options, const std::string& directory, const std::string& name) {
  std::string value;
  if (!Open(options, directory)->GetProperty(name, &value)) std::exit(3);
  std::cout << value << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  leveldb::Options options;
  options.paranoid_checks = true;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    const std::string flag = argv[at];
    const std::string value = flag.substr(flag.find('=') + 1);
    if (flag == "--raw") options.compression = leveldb::kNoCompression;
    if (flag == "--bloom") options.filter_policy = leveldb::NewBloomFilterPolicy(10);
    if (flag == "--reverse") options.comparator = new Reverse;
    if (flag == "--create") options.create_if_missing = true;
    if (flag.rfind("--buffer=", 0) == 0) options.write_buffer_size = std::stoul(value);
    if (flag.rfind("--block=", 0) == 0) options.block_size = std::stoul(value);
    if (flag.rfind("--file=", 0) == 0) options.max_file_size = std::stoul(value);
  }
  const std::string verb = at < argc ? argv[at] : "", directory = at + 1 < argc ? argv[at + 1] : "";
  if (verb == "write") {
    options.create_if_missing = true;
    RunScript(options, directory);
  } else if (verb == "dump") {
    Dump(options, directory);
  } else if (verb == "repair") {
    Check(leveldb::RepairDB(directory, options));
  } else if (verb == "property" && at + 2 < argc) {
    PrintProperty(options, directory, argv[at + 2]);
  } else {
    std::cerr << "stock_leveldb: no such verb\n";
    return 2;
  }
  return 0;
}
