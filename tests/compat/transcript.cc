// The behaviour of LevelDB's C++ interface, as text. It is compiled with Debian's headers and with mergedb's,
// and each program runs with Debian's library and with mergedb's (tests/compat/transcripts_test.py): the four
// texts are the same. It prints only what both promise.
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/dumpfile.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/status.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

using namespace leveldb;

namespace {

std::string directory;  // removed from messages

void Say(const char* what, std::string text) {
  for (size_t at; (at = text.find(directory)) != std::string::npos;) text.replace(at, directory.size(), "DIR");
  std::printf("%s: %s\n", what, text.c_str());
}
void Say(const char* what, const Status& status) { Say(what, status.ToString()); }
void Say(const char* what, unsigned long long number) { Say(what, std::to_string(number)); }

// The index of a virtual member in its class's vtable (Itanium ABI).
template <typename Member>
unsigned long Slot(Member member) {
  unsigned long words[2];
  static_assert(sizeof words == sizeof member, "a pointer to a member is two words");
  std::memcpy(words, &member, sizeof words);
  return (words[0] - 1) / sizeof(void*);
}
#define SLOT(type, member) Say("slot " #type "::" #member, Slot(&type::member))
#define SIZE(type) Say("size " #type, sizeof(type))
#define OFFSET(type, member) Say("offset " #type "::" #member, offsetof(type, member))

void Layouts() {
  SIZE(Options), SIZE(ReadOptions), SIZE(WriteOptions), SIZE(Range), SIZE(Slice), SIZE(Status), SIZE(WriteBatch),
      SIZE(Iterator);
  SIZE(DB), SIZE(Env), SIZE(EnvWrapper), SIZE(Cache), SIZE(Comparator), SIZE(FilterPolicy), SIZE(Snapshot),
      SIZE(Logger);
  SIZE(FileLock), SIZE(SequentialFile), SIZE(RandomAccessFile), SIZE(WritableFile), SIZE(WriteBatch::Handler);
  SIZE(Table), SIZE(TableBuilder), SIZE(CompressionType);
  OFFSET(Options, comparator), OFFSET(Options, create_if_missing), OFFSET(Options, error_if_exists),
      OFFSET(Options, paranoid_checks);
  OFFSET(Options, env), OFFSET(Options, info_log), OFFSET(Options, write_buffer_size), OFFSET(Options, max_open_files);
  OFFSET(Options, block_cache), OFFSET(Options, block_size), OFFSET(Options, block_restart_interval),
      OFFSET(Options, max_file_size);
  OFFSET(Options, compression), OFFSET(Options, reuse_logs), OFFSET(Options, filter_policy);
  OFFSET(ReadOptions, verify_checksums), OFFSET(ReadOptions, fill_cache), OFFSET(ReadOptions, snapshot);
  SLOT(DB, Put), SLOT(DB, Delete), SLOT(DB, Write), SLOT(DB, Get), SLOT(DB, NewIterator), SLOT(DB, GetSnapshot);
  SLOT(DB, ReleaseSnapshot), SLOT(DB, GetProperty), SLOT(DB, GetApproximateSizes), SLOT(DB, CompactRange);
  SLOT(Iterator, Valid), SLOT(Iterator, SeekToFirst), SLOT(Iterator, SeekToLast), SLOT(Iterator, Seek),
      SLOT(Iterator, Next);
  SLOT(Iterator, Prev), SLOT(Iterator, key), SLOT(Iterator, value), SLOT(Iterator, status);
  SLOT(Env, NewSequentialFile), SLOT(Env, NewRandomAccessFile), SLOT(Env, NewWritableFile),
      SLOT(Env, NewAppendableFile);
  SLOT(Env, FileExists), SLOT(Env, GetChildren), SLOT(Env, RemoveFile), SLOT(Env, DeleteFile), SLOT(Env, CreateDir);
  SLOT(Env, RemoveDir), SLOT(Env, DeleteDir), SLOT(Env, GetFileSize), SLOT(Env, RenameFile), SLOT(Env, LockFile);
  SLOT(Env, UnlockFile), SLOT(Env, Schedule), SLOT(Env, StartThread), SLOT(Env, GetTestDirectory), SLOT(Env, NewLogger);
  SLOT(Env, NowMicros), SLOT(Env, SleepForMicroseconds);
  SLOT(SequentialFile, Read), SLOT(SequentialFile, Skip), SLOT(RandomAccessFile, Read), SLOT(Logger, Logv);
  SLOT(WritableFile, Append), SLOT(WritableFile, Close), SLOT(WritableFile, Flush), SLOT(WritableFile, Sync);
  SLOT(Cache, Insert), SLOT(Cache, Lookup), SLOT(Cache, Release), SLOT(Cache, Value), SLOT(Cache, Erase),
      SLOT(Cache, NewId);
  SLOT(Cache, Prune), SLOT(Cache, TotalCharge);
  SLOT(Comparator, Compare), SLOT(Comparator, Name), SLOT(Comparator, FindShortestSeparator),
      SLOT(Comparator, FindShortSuccessor);
  SLOT(FilterPolicy, Name), SLOT(FilterPolicy, CreateFilter), SLOT(FilterPolicy, KeyMayMatch);
  SLOT(WriteBatch::Handler, Put), SLOT(WriteBatch::Handler, Delete);
  Say("version", std::to_string(kMajorVersion) + "." + std::to_string(kMinorVersion));
}

void Defaults() {
  const Options options;
  Say("comparator", options.comparator == BytewiseComparator());
  Say("env", options.env == Env::Default());
  Say("flags", std::to_string(options.create_if_missing) + std::to_string(options.error_if_exists) +
                   std::to_string(options.paranoid_checks) + std::to_string(options.reuse_logs));
  Say("nulls", options.info_log == nullptr && options.block_cache == nullptr && options.filter_policy == nullptr);
  Say("write_buffer_size", options.write_buffer_size);
  Say("max_open_files", static_cast<unsigned long long>(options.max_open_files));
  Say("block_size", options.block_size);
  Say("block_restart_interval", static_cast<unsigned long long>(options.block_restart_interval));
  Say("max_file_size", options.max_file_size);
  Say("compression", static_cast<unsigned long long>(options.compression));
}

void Statuses() {
  Say("ok", Status::OK());
  Say("not found", Status::NotFound("a", "b"));
  Say("corruption", Status::Corruption("a"));
  Say("not supported", Status::NotSupported("", "b"));
  Say("invalid", Status::InvalidArgument("a", ""));
  Status io = Status::IOError("a", "b");
  const Status copy = io;
  Status moved = std::move(io);
  Say("copy", copy);
  Say("moved", moved);
  moved = copy;
  moved = moved;
  Say("kinds", std::to_string(moved.IsIOError()) + std::to_string(moved.IsNotFound()) +
                   std::to_string(moved.IsCorruption()) + std::to_string(moved.IsNotSupportedError()) +
                   std::to_string(moved.IsInvalidArgument()) + std::to_string(moved.ok()));
}

struct Echo : WriteBatch::Handler {
  std::string text;
  void Put(const Slice& key, const Slice& value) override {
    text += "put(" + key.ToString() + "," + value.ToString() + ")";
  }
  void Delete(const Slice& key) override { text += "delete(" + key.ToString() + ")"; }
};

void Batches() {
  WriteBatch batch;
  Say("empty batch", batch.ApproximateSize());
  batch.Put("k1", "v1");
  batch.Delete("k2");
  WriteBatch other;
  other.Put(std::string(300, 'k'), "");
  batch.Append(other);
  Say("batch", batch.ApproximateSize());
  const WriteBatch copy = batch;
  batch.Clear();
  Say("cleared", batch.ApproximateSize());
  Echo echo;
  Say("iterate", copy.Iterate(&echo));
  Say("records", echo.text);
}

struct Reverse : Comparator {
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.Reverse"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

void Comparators() {
  const Comparator* const order = BytewiseComparator();
  Say("name", order->Name());
  for (const char* limit : {"abcd", "abzz", "b", "abd"}) {
    std::string start = "abcc1";
    order->FindShortestSeparator(&start, limit);
    Say("separator", start);
  }
  for (const char* key : {"abc",
                          "\xff\xff"
                          "a",
                          "\xff\xff", ""}) {
    std::string text = key;
    order->FindShortSuccessor(&text);
    std::string hex;
    for (const unsigned char byte : text) hex += "0123456789abcdef"[byte >> 4], hex += "0123456789abcdef"[byte & 15];
    Say("successor", hex);
  }
  Say("type", typeid(Comparator).name());
}

void Filters() {
  const std::unique_ptr<const FilterPolicy> bloom(NewBloomFilterPolicy(10));
  Say("filter name", bloom->Name());
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back("key" + std::to_string(i * i));
  const std::vector<Slice> keys(texts.begin(), texts.end());
  std::string filter = "prefix";
  bloom->CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
  std::string hex;
  for (const unsigned char byte : filter) hex += "0123456789abcdef"[byte >> 4], hex += "0123456789abcdef"[byte & 15];
  Say("filter", hex);
  const Slice made(filter.data() + 6, filter.size() - 6);
  unsigned matches = 0;
  for (int i = 0; i < 10'000; ++i) matches += bloom->KeyMayMatch("key" + std::to_string(i), made);
  Say("matches", matches);
  Say("matches nothing", bloom->KeyMayMatch("a", Slice()));
}

std::string deletions;
void RecordDeletion(const Slice& key, void* value) {
  deletions += key.ToString() + "=" + std::to_string(reinterpret_cast<std::size_t>(value)) + " ";
}

void Caches() {
  std::unique_ptr<Cache> cache(NewLRUCache(1000));
  cache->Release(cache->Insert("a", reinterpret_cast<void*>(1), 1, RecordDeletion));
  Cache::Handle* const held = cache->Insert("b", reinterpret_cast<void*>(2), 2, RecordDeletion);
  Say("charge", cache->TotalCharge());
  Cache::Handle* const found = cache->Lookup("a");
  Say("found", reinterpret_cast<std::size_t>(cache->Value(found)));
  cache->Release(found);
  Say("absent", cache->Lookup("c") == nullptr);
  cache->Erase("b");
  Say("erased but held", cache->Lookup("b") == nullptr);
  Say("deletions", deletions);
  cache->Release(held);
  cache->Release(cache->Insert("a", reinterpret_cast<void*>(3), 1, RecordDeletion));
  Say("deletions", deletions);
  cache->Prune();
  Say("pruned", deletions);
  Say("charge", cache->TotalCharge());
  const unsigned long first = cache->NewId();
  Say("ids differ", cache->NewId() != first);
  cache.reset();
  const std::unique_ptr<Cache> none(NewLRUCache(0));
  Cache::Handle* const only = none->Insert("z", reinterpret_cast<void*>(4), 1, RecordDeletion);
  Say("no room", none->Lookup("z") == nullptr);
  none->Release(only);
  Say("deletions", deletions);
}

void Cleanups() {
  static std::string order;
  const auto note = [](void* text, void*) { order += static_cast<const char*>(text); };
  Iterator* const empty = NewEmptyIterator();
  for (const char* name : {"1", "2", "3"}) empty->RegisterCleanup(note, const_cast<char*>(name), nullptr);
  Say("valid", empty->Valid());
  delete empty;
  Say("cleanups", order);
  const std::unique_ptr<Iterator> error(NewErrorIterator(Status::Corruption("x")));
  error->SeekToFirst();
  Say("error iterator", error->status());
}

struct CountingLogger : Logger {
  std::atomic<int> lines{0};
  void Logv(const char*, std::va_list) override { ++lines; }
};

std::string Contents(DB* db, const ReadOptions& options = {}) {
  const std::unique_ptr<Iterator> it(db->NewIterator(options));
  std::string forward;
  std::string backward;
  for (it->SeekToFirst(); it->Valid(); it->Next()) forward += it->key().ToString() + "=" + it->value().ToString() + " ";
  for (it->SeekToLast(); it->Valid(); it->Prev())
    backward = it->key().ToString() + "=" + it->value().ToString() + " " + backward;
  return forward + it->status().ToString() + (forward == backward ? "" : " BACKWARD " + backward);
}

void Databases(Env* env, const std::string& name) {
  Options options;
  options.env = env;
  DB* opened = nullptr;
  Say("absent", DB::Open(options, name, &opened));
  options.create_if_missing = true;
  Say("open", DB::Open(options, name, &opened));
  std::unique_ptr<DB> db(opened);
  std::string value = "untouched";
  Say("get absent", db->Get({}, "a", &value));
  Say("value", value);
  WriteOptions synced;
  synced.sync = true;
  Say("put", db->Put({}, "a", "1"));
  Say("put synced", db->Put(synced, "b", std::string("2\0z", 3)));
  Say("put empty", db->Put({}, "", ""));
  Say("delete absent", db->Delete({}, "nothing"));
  const Snapshot* const before = db->GetSnapshot();
  WriteBatch batch;
  batch.Put("c", "3");
  batch.Delete("a");
  batch.Put("c", "4");
  Say("write", db->Write(synced, &batch));
  WriteBatch nothing;
  Say("write nothing", db->Write({}, &nothing));
  Say("get", db->Get({}, "c", &value));
  Say("value", value);
  Say("contents", Contents(db.get()));
  ReadOptions then;
  then.snapshot = before;
  then.verify_checksums = true;
  Say("contents then", Contents(db.get(), then));
  Say("get then", db->Get(then, "c", &value));
  db->ReleaseSnapshot(before);
  Say("through the base", db->DB::Put({}, "base", "yes"));
  Say("through the base", db->DB::Delete({}, "base"));
  {
    const std::unique_ptr<Iterator> it(db->NewIterator({}));
    Say("not sought", it->Valid());
    it->Seek("b0");
    Say("sought", it->Valid() ? it->key().ToString() : "end");
    it->Prev();
    Say("before", it->Valid() ? it->key().ToString() : "end");
    it->Seek("zzz");
    Say("after the end", it->Valid());
  }
  db->CompactRange(nullptr, nullptr);
  const Slice from("a");
  const Slice to("c");
  db->CompactRange(&from, &to);
  Say("contents", Contents(db.get()));
  Say("unknown property", db->GetProperty("leveldb.nothing", &value));
  Say("level too deep", db->GetProperty("leveldb.num-files-at-level7", &value));
  Say("level no number", db->GetProperty("leveldb.num-files-at-levelx", &value));
  Say("known property", db->GetProperty("leveldb.num-files-at-level0", &value));
  Say("stats", db->GetProperty("leveldb.stats", &value));
  Say("stats begin", value.substr(0, value.find('\n')));
  Say("sstables", db->GetProperty("leveldb.sstables", &value));
  Say("sstables begin", value.substr(0, value.find('\n')));
  Say("memory", db->GetProperty("leveldb.approximate-memory-usage", &value) && std::atoll(value.c_str()) > 0);
  Range ranges[2] = {Range("a", "z"), Range("z", "a")};
  uint64_t sizes[2] = {77, 77};
  db->GetApproximateSizes(ranges, 2, sizes);
  Say("size of a range in reverse", sizes[1]);

  db.reset();
  options.error_if_exists = true;
  Say("exists", DB::Open(options, name, &opened));
  options.create_if_missing = false;
  Say("exists", DB::Open(options, name, &opened));
  options.error_if_exists = false;
  const Reverse reverse;
  options.comparator = &reverse;
  Say("another order", DB::Open(options, name, &opened));
  Say("null", opened == nullptr);
  options.comparator = BytewiseComparator();
  Say("open again", DB::Open(options, name, &opened));
  Say("contents", Contents(opened));
  delete opened;
  Say("destroy", DestroyDB(name, options));
  Say("destroyed", env->FileExists(name + "/CURRENT"));
  Say("destroy again", DestroyDB(name, options));
}

// A copy of the database that LevelDB wrote, opened and written to in two lives.
void Inherited(Env* env, const std::string& from, const std::string& name) {
  env->CreateDir(name);
  std::vector<std::string> names;
  Env::Default()->GetChildren(from, &names);
  for (const std::string& each : names) {
    std::string bytes;
    if (each != "LOCK" && ReadFileToString(Env::Default(), from + "/" + each, &bytes).ok())
      WriteStringToFile(env, bytes, name + "/" + each);
  }
  Options options;
  options.env = env;
  for (int life = 0; life < 2; ++life) {
    DB* opened = nullptr;
    Say("inherited", DB::Open(options, name, &opened));
    const std::unique_ptr<DB> db(opened);
    unsigned long long sum = 0;
    const std::string all = Contents(db.get());
    for (const unsigned char byte : all) sum = sum * 131 + byte;
    Say("size", all.size());
    Say("contents", sum);
    Say("put", db->Put({}, "mine" + std::to_string(life), "value"));
    Say("delete", db->Delete({}, "key" + std::to_string(50 + life)));
    db->CompactRange(nullptr, nullptr);
    Say("put", db->Put({}, "mine again" + std::to_string(life), "value"));
  }
  Say("destroy", DestroyDB(name, options));
}

void LocksAndOrders() {
  const std::string name = directory + "/locks";
  CountingLogger log;
  const Reverse reverse;
  Options options;
  options.create_if_missing = true;
  options.comparator = &reverse;
  options.info_log = &log;
  options.compression = kNoCompression;
  options.max_open_files = 20;
  options.write_buffer_size = 1;
  DB* opened = nullptr;
  Say("open", DB::Open(options, name, &opened));
  const std::unique_ptr<DB> db(opened);
  DB* second = nullptr;
  Say("locked", DB::Open(options, name, &second));
  Say("destroy open", DestroyDB(name, options));
  for (int i = 0; i < 2000; ++i) db->Put({}, "k" + std::to_string(i % 700), std::string(100, 'a' + i % 26));
  db->CompactRange(nullptr, nullptr);
  std::string value;
  Say("get", db->Get({}, "k699", &value));
  const std::string all = Contents(db.get());
  Say("sum", all.size());
  Say("begins", all.substr(0, 10));
  Say("logged", log.lines > 0);
}

void Files(Env* env, const std::string& at) {
  env->CreateDir(at);
  Say("write", WriteStringToFile(env, "hello world", at + "/f"));
  std::string text;
  Say("read", ReadFileToString(env, at + "/f", &text));
  Say("text", text);
  uint64_t size = 0;
  Say("size", env->GetFileSize(at + "/f", &size));
  Say("size", size);
  WritableFile* out = nullptr;
  Say("append", env->NewAppendableFile(at + "/f", &out));
  Say("append", out->Append(std::string(100'000, 'x')));
  Say("flush", out->Flush());
  Say("sync", out->Sync());
  Say("close", out->Close());
  delete out;
  RandomAccessFile* in = nullptr;
  Say("open", env->NewRandomAccessFile(at + "/f", &in));
  char scratch[20];
  Slice piece;
  Say("read at", in->Read(6, 8, &piece, scratch));
  Say("piece", piece.ToString());
  delete in;
  SequentialFile* front = nullptr;
  Say("open", env->NewSequentialFile(at + "/f", &front));
  Say("skip", front->Skip(3));
  Say("read", front->Read(5, &piece, scratch));
  Say("piece", piece.ToString());
  delete front;
  Say("rename", env->RenameFile(at + "/f", at + "/g"));
  Say("exists", std::to_string(env->FileExists(at + "/f")) + std::to_string(env->FileExists(at + "/g")));
  std::vector<std::string> names;
  Say("children", env->GetChildren(at, &names));
  unsigned found = 0;
  for (const std::string& each : names) found += each == "g";
  Say("g is there", found);
  Say("absent", env->NewSequentialFile(at + "/none", &front));
  Say("absent", env->NewRandomAccessFile(at + "/none", &in));
  Say("absent", env->RemoveFile(at + "/none"));
  Say("absent", env->RenameFile(at + "/none", at + "/g"));
  Say("absent", env->GetFileSize(at + "/none", &size));
  Say("remove", env->RemoveFile(at + "/g"));
  Say("remove dir", env->RemoveDir(at));
  FileLock* lock = nullptr;
  Say("lock", env->LockFile(at + "lock", &lock));
  Say("unlock", env->UnlockFile(lock));
  Logger* logger = nullptr;
  Say("logger", env->NewLogger(at + "LOG", &logger));
  delete logger;
}

// A table of the program, in its own order or with filters and a cache.
void Tables(const Options& options, const std::string& path) {
  WritableFile* out = nullptr;
  Say("file", options.env->NewWritableFile(path, &out));
  {
    TableBuilder builder(options, out);
    Options other = options;
    const Reverse reverse;
    other.comparator = &reverse;
    Say("another order", builder.ChangeOptions(other));
    for (int i = 0; i < 500; ++i) {
      char key[20];
      std::snprintf(key, sizeof key, "key%05d", i);
      builder.Add(key, std::string(i % 37, static_cast<char>('a' + i % 26)));
      if (i == 250) builder.Flush();
    }
    other = options;
    other.compression = kNoCompression;
    other.block_size = 100;
    Say("change", builder.ChangeOptions(other));
    builder.Add("last", "value");
    Say("status", builder.status());
    Say("finish", builder.Finish());
    Say("entries", builder.NumEntries());
    Say("size", builder.FileSize());
  }
  Say("close", out->Close());
  delete out;
  std::string bytes;
  ReadFileToString(options.env, path, &bytes);
  unsigned long long sum = 0;
  for (const unsigned char byte : bytes) sum = sum * 131 + byte;
  Say("bytes", sum);

  RandomAccessFile* in = nullptr;
  Say("open", options.env->NewRandomAccessFile(path, &in));
  Table* made = nullptr;
  Say("too short", Table::Open(options, in, 47, &made));
  Say("not a table", Table::Open(options, in, bytes.size() - 1, &made));
  Say("table", Table::Open(options, in, bytes.size(), &made));
  const std::unique_ptr<Table> table(made);
  ReadOptions reading;
  reading.verify_checksums = true;
  const std::unique_ptr<Iterator> it(table->NewIterator(reading));
  unsigned count = 0;
  unsigned long long contents = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) {
    for (const char byte : it->key().ToString() + it->value().ToString())
      contents = contents * 131 + static_cast<unsigned char>(byte);
  }
  Say("count", count);
  Say("contents", contents);
  Say("status", it->status());
  it->Seek("key00300x");
  Say("sought", it->Valid() ? it->key().ToString() : "end");
  it->Prev();
  Say("before", it->Valid() ? it->key().ToString() : "end");
  it->SeekToLast();
  Say("last", it->key().ToString() + "=" + it->value().ToString());
  it->Seek("zzz");
  Say("end", it->Valid());
  for (const char* key : {"", "key00100", "key00400", "zzz"}) Say("offset", table->ApproximateOffsetOf(key));
  Say("empty", [&] {
    WritableFile* none = nullptr;
    options.env->NewWritableFile(path, &none);
    TableBuilder builder(options, none);
    const Status status = builder.Finish();
    none->Close();
    delete none;
    return status;
  }());
  delete in;
}

void AllTables(const std::string& path) {
  Options options;
  Tables(options, path);
  options.compression = kNoCompression;
  options.block_restart_interval = 1;
  Tables(options, path);
  const std::unique_ptr<const FilterPolicy> bloom(NewBloomFilterPolicy(10));
  const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
  options.filter_policy = bloom.get();
  options.block_cache = cache.get();
  options.paranoid_checks = true;
  Tables(options, path);
}

// The files that LevelDB wrote (transcripts_test.py), as text.
void Dumps(Env* env, const std::string& at) {
  std::vector<std::string> names;
  env->GetChildren(at, &names);
  std::sort(names.begin(), names.end());
  names.push_back("unknown");
  for (const std::string& name : names) {
    WritableFile* out = nullptr;
    env->NewWritableFile(directory + "/dump", &out);
    Say("dump", name + ": " + DumpFile(env, at + "/" + name, out).ToString().substr(0, 17));
    out->Close();
    delete out;
    std::string text;
    ReadFileToString(env, directory + "/dump", &text);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

void Threads(Env* env) {
  static std::string order;
  static std::atomic<int> done;
  done = 0;
  order.clear();
  for (int i = 0; i < 5; ++i) {
    env->Schedule([](void* name) { order += *static_cast<char*>(name), ++done; }, const_cast<char*>("abcde") + i);
  }
  env->StartThread([](void*) { ++done; }, nullptr);
  while (done < 6) env->SleepForMicroseconds(1000);
  Say("order", order);
  Say("now", env->NowMicros() > 1'500'000'000'000'000u);
}

}  // namespace

int main(int, char** arguments) {
  directory = arguments[1];
  Env* const env = Env::Default();
  env->CreateDir(directory);
  Layouts();
  Defaults();
  Statuses();
  Batches();
  Comparators();
  Filters();
  Caches();
  Cleanups();
  Files(env, directory + "/files");
  Say("directory twice", env->CreateDir(directory));
  Say("no directory", env->RemoveDir(directory + "/none"));
  Say("locked", [&] {
    FileLock* first = nullptr;
    FileLock* second = nullptr;
    env->LockFile(directory + "/L", &first);
    const Status status = env->LockFile(directory + "/L", &second);
    env->UnlockFile(first);
    return status;
  }());
  Threads(env);
  AllTables(directory + "/table");
  Dumps(env, arguments[2]);
  Databases(env, directory + "/db");
  LocksAndOrders();
  const std::unique_ptr<Env> memory(NewMemEnv(env));
  Files(memory.get(), "/mem");
  Databases(memory.get(), "/mem/db");
  EnvWrapper wrapped(env);
  Databases(&wrapped, directory + "/wrapped");
  Inherited(env, arguments[2], directory + "/inherited");
  Inherited(&wrapped, arguments[2], directory + "/inherited wrapped");
  Inherited(memory.get(), arguments[2], "/mem/inherited");
  return 0;
}
