#include "leveldb/interface/open_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "env/posix_lock.h"
#include "leveldb/interface/own_objects.h"

namespace leveldb {
namespace {

constexpr size_t kOwnCacheBytes = size_t{8} << 20;
constexpr size_t kCacheBytesMax = size_t{1} << 40;  // some programs ask for "no limit" by SIZE_MAX
constexpr int kFilesForOtherUse = 10;
constexpr int kBloomBitsMax = 64;

mergedb::Compression CodecOf(CompressionType type) {
  switch (type) {
    case kNoCompression: return mergedb::Compression::kNone;
    case kSnappyCompression: return mergedb::Compression::kSnappy;
    case kZstdCompression: break;
  }
  return mergedb::Compression::kZstd;
}

// The capacity for blocks, if it is known. WHY it counts: the engine derives its read-ahead from memory_bytes.
size_t CacheBytesOf(const Cache* cache) {
  const mergedb::base::BlockCache* const own = BlocksOf(cache);
  return own == nullptr ? kOwnCacheBytes : std::min(own->bytes_max(), kCacheBytesMax);
}

mergedb::OpenMode ModeOf(const Options& options) {
  if (!options.create_if_missing) return mergedb::OpenMode::kMustExist;
  return options.error_if_exists ? mergedb::OpenMode::kMustNotExist : mergedb::OpenMode::kCreateIfMissing;
}

// The two names in the message: the database is ordered by "stored", the options by "given".
bool FindComparatorNames(std::string_view message, std::string_view* stored, std::string_view* given) {
  constexpr std::string_view kBefore = "the database is ordered by \"";
  constexpr std::string_view kBetween = "\", the options by \"";
  const size_t begin = message.find(kBefore);
  const size_t middle = message.rfind(kBetween);
  if (begin == std::string_view::npos || middle == std::string_view::npos || !message.ends_with('"')) return false;
  *stored = message.substr(begin + kBefore.size(), middle - begin - kBefore.size());
  *given = message.substr(middle + kBetween.size());
  given->remove_suffix(1);
  return true;
}

}  // namespace

Options::Options() : comparator(BytewiseComparator()), env(Env::Default()) {}

LogOfDatabase::~LogOfDatabase() { delete own_; }

void LogOfDatabase::Log(std::string_view line) {
  const mergedb::base::Lock lock(mutex_);
  if (!has_begun_) {
    waiting_.append(line).push_back('\n');
    return;
  }
  leveldb::Log(info_log_ != nullptr ? info_log_ : own_, "%.*s", static_cast<int>(line.size()), line.data());
}

void LogOfDatabase::Begin(Env* env, const std::string& directory) {
  std::string waiting;
  {
    const mergedb::base::Lock lock(mutex_);
    if (info_log_ == nullptr) {
      const std::string path = directory + "/LOG";
      (void)env->RenameFile(path, path + ".old");             // LOG may not exist
      if (!env->NewLogger(path, &own_).ok()) own_ = nullptr;  // then the lines are dropped
    }
    has_begun_ = true;
    waiting = std::move(waiting_);
  }
  for (size_t begin = 0; begin < waiting.size();) {
    const size_t end = waiting.find('\n', begin);
    Log(std::string_view(waiting).substr(begin, end - begin));
    begin = end + 1;
  }
}

Borrowed::Borrowed(const Options& options, const std::string& name)
    : comparator(options.comparator == BytewiseComparator() ? nullptr : new ComparatorAdapter(options.comparator)),
      files(options.env == Env::Default() ? nullptr : new EnvFiles(options.env, name)),
      blocks(options.block_cache == nullptr ? nullptr : new BlockKeeper(options.block_cache)),
      filters(options.filter_policy == nullptr || BitsOf(options.filter_policy)
                  ? nullptr
                  : new FilterAdapter(options.filter_policy)),
      log(options) {}

Status CheckOptions(const Options& options) {
  if (options.comparator == nullptr) return Status::InvalidArgument("options.comparator is null");
  if (options.env == nullptr) return Status::InvalidArgument("options.env is null");
  // WHY memcpy: C programs and casts may store any number here, and to read it as an enumerator is undefined
  // behaviour.
  int32_t compression = 0;
  static_assert(sizeof compression == sizeof options.compression);
  std::memcpy(&compression, &options.compression, sizeof compression);
  if (compression < kNoCompression || compression > kZstdCompression) {
    return Status::InvalidArgument("options.compression", std::to_string(compression));
  }
  return {};
}

mergedb::Options ToCore(const Options& options, Borrowed* borrowed) {
  mergedb::Options core;
  core.mode = ModeOf(options);
  if (borrowed->comparator != nullptr) core.comparator = borrowed->comparator.get();
  core.write_buffer_bytes = std::clamp(options.write_buffer_size, size_t{64} << 10, size_t{1} << 30);
  core.memory_bytes = 2 * core.write_buffer_bytes + CacheBytesOf(options.block_cache);
  core.open_tables_max = static_cast<size_t>(std::clamp(options.max_open_files, 74, 50'000) - kFilesForOtherUse);
  core.block_bytes = std::clamp(options.block_size, size_t{1} << 10, size_t{4} << 20);
  core.compression = {.upper = CodecOf(options.compression), .bottom = CodecOf(options.compression)};
  if (const auto bits = BitsOf(options.filter_policy)) core.bloom_bits_per_key = std::clamp(*bits, 0, kBloomBitsMax);
  core.mapped_read_bytes_max = UINT64_MAX;  // LevelDB maps its tables, too
  core.env = mergedb::DefaultEnv();
  if (borrowed->files != nullptr) {
    core.env.file_system = borrowed->files.get();
    core.blob_value_bytes_min = 0;  // an Env knows only LevelDB's file names, and LevelDB has no blob files
  }
  core.env.logger = &borrowed->log;
  return core;
}

Status OpenError(const Options& options, const std::string& name, const mergedb::Status& status) {
  if (status.IsNotFound() && !options.create_if_missing) {
    return Status::InvalidArgument(name, "does not exist (create_if_missing is false)");
  }
  if (status.IsInvalidArgument() && status.message().ends_with("a database exists already")) {
    return Status::InvalidArgument(name, "exists (error_if_exists is true)");
  }
  if (mergedb::env::IsBusyLock(status)) return LockError(name + "/LOCK", status);
  std::string_view stored;
  std::string_view given;
  if (status.IsInvalidArgument() && FindComparatorNames(status.message(), &stored, &given)) {
    return Status::InvalidArgument(std::string(LevelDbNameOf(stored)) + " does not match existing comparator ",
                                   ToSlice(LevelDbNameOf(given)));
  }
  return FromCore(status);
}

}  // namespace leveldb
