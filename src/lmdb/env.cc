// Environments: options, opening, copies and information.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/bytes.h"
#include "db/recovery/recovered_tree.h"
#include "env/posix_lock.h"
#include "format/file_name.h"
#include "lmdb/archive.h"
#include "lmdb/handles.h"
#include "mergedb/checkpoint.h"

namespace mergedb::lmdb {

namespace {

constexpr unsigned kChangeable = MDB_NOSYNC | MDB_NOMETASYNC | MDB_MAPASYNC | MDB_NOMEMINIT;
constexpr unsigned kOpenFlags =
    kChangeable | MDB_FIXEDMAP | MDB_NOSUBDIR | MDB_RDONLY | MDB_WRITEMAP | MDB_NOTLS | MDB_NOLOCK | MDB_NORDAHEAD;
constexpr size_t kMemoryBytesMin = size_t{16} << 20;
constexpr size_t kMemoryBytesMax = size_t{256} << 20;
constexpr size_t kDefaultMapBytes = size_t{1} << 20;

bool IsUsable(const MDB_env* env) { return env != nullptr && env->is_open && env->generation == ProcessGeneration(); }

// LMDB reads through its map, so a small map gets a small cache. WHY no compression: returned bytes must lie in
// the file as they are.
Options OptionsOf(const MDB_env* env) {
  return {.mode = env->flags & MDB_RDONLY ? OpenMode::kReadOnly : OpenMode::kCreateIfMissing,
          .memory_bytes = std::clamp(env->map_bytes / 4, kMemoryBytesMin, kMemoryBytesMax),
          .compression = {.upper = Compression::kNone, .bottom = Compression::kNone},
          .mapped_read_bytes_max = UINT64_MAX};
}

constexpr db::Supplies kSupplies{.keeps_keys_whole = true, .maps_all_files = true};

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr uint64_t kOpenWaitNanosMax = 5'000 * kNanosPerMilli;
constexpr uint64_t kOpenPauseNanosFirst = kNanosPerMilli;
constexpr uint64_t kOpenPauseNanosMax = 8 * kNanosPerMilli;

// Opens the database. If another process has it open for writing, waits until that one closes it, at most
// kOpenWaitNanosMax: LMDB's users let several processes open one environment and write in turn. A process that
// has the database open itself would wait for itself, so it gets Busy at once.
//
// A reader waits as long for a process that writes faster than a read-only open can follow.
//
// WHY only the first of the queue tries: a process that closes and opens again in a loop would mostly be faster than
// those that wait, and one of many that wait could lose each time.
Result<std::unique_ptr<db::DbImpl>> OpenDatabase(MDB_env* env) {
  const std::string lock = format::FilePath(env->directory, format::FileKind::kLock);
  OpenQueue queue(env);
  uint64_t waited = 0;
  const bool is_reader = (env->flags & MDB_RDONLY) != 0;
  for (uint64_t pause = kOpenPauseNanosFirst;; pause = std::min(2 * pause, kOpenPauseNanosMax)) {
    const bool is_last = waited >= kOpenWaitNanosMax || (!is_reader && env::IsLockedByThisProcess(lock));
    if (queue.MoveUp() || is_last) {
      auto db = db::DbImpl::Open(OptionsOf(env), env->directory, kSupplies);
      if (db || is_last || !(is_reader ? db::IsOutrun(db.error()) : env::IsBusyLock(db.error()))) return db;
    }
    ++env->open_pauses;
    DefaultEnv().clock->SleepNanos(pause);
    waited += pause;
  }
}

int Open(MDB_env* env, const char* path, mdb_mode_t mode) {
  LMDB_RETURN_IF_ERROR(PreparePlace(env, path));
  auto db = OpenDatabase(env);
  if (!db) return db.error().IsNotFound() ? ENOENT : CodeOf(db.error());
  env->db = std::move(*db);
  LMDB_RETURN_IF_ERROR(MarkPlace(env, mode));
  const auto names = env->db->ListKeyspaces({});
  env->has_names = !names || !names->empty();  // if the keyspaces cannot be read, assume names
  env->slots = std::vector<Slot>(kMainDbi + 1 + env->dbs_max);
  env->slots[kMainDbi].is_open = true;
  // WHY no count on disk: every commit with data takes a sequence, so the id is never less than ids given out before.
  {
    base::Lock lock(env->mutex);
    env->last_id = env->db->GetSnapshot()->sequence();
  }
  env->generation = ProcessGeneration();
  env->is_open = true;
  return 0;
}

// In the child of a fork: the threads of the parent's database do not exist, and could not release its locks.
void LeakParts(MDB_env* env) NO_LOCK_ANALYSIS {
  (void)env->db.release();
  (void)new RetainedList(std::move(env->retained));
}

int CopyTo(MDB_env* env, const std::string& target, bool is_compact) {
  const auto made = Checkpoint(*env->db, target);
  if (!made)
    return made.error().IsInvalidArgument() ? EEXIST : made.error().IsNotFound() ? ENOENT : CodeOf(made.error());
  if (!is_compact) return 0;
  const Options options{.mode = OpenMode::kMustExist,
                        .memory_bytes = kMemoryBytesMin,
                        .compression = OptionsOf(env).compression,
                        .mapped_read_bytes_max = UINT64_MAX,
                        .env = {.file_system = env->db->files()}};
  auto copy = db::DbImpl::Open(options, target, kSupplies);
  if (!copy) return CodeOf(copy.error());
  if (const Status status = (*copy)->CompactRange(nullptr, nullptr); !status.ok()) return CodeOf(status);
  return CodeOf((*copy)->Close());
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return Status::IOError("write to descriptor " + std::to_string(fd) + ": error " + std::to_string(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

void RemoveAll(FileSystem* files, const std::string& directory) {
  if (const auto names = files->List(directory); names) {
    for (const std::string& name : *names) (void)files->Remove(format::JoinPath(directory, name));
  }
  (void)files->RemoveDirectory(directory);
}

// The name of the copy is random: several processes may have the same id, in containers that share the directory.
// Copies to a directory inside the environment's own directory, which is writable. The copy uses hard links, so
// it is cheap.
int CopyToDescriptor(MDB_env* env, int fd, bool is_compact) {
  const std::string place = format::JoinPath(
      env->directory, "copy-" + std::to_string(getpid()) + "-" + std::to_string(DefaultEnv().entropy()));
  FileSystem* const files = env->db->files();
  int code = CopyTo(env, place, is_compact);
  if (code == 0)
    code = CodeOf(WriteArchive(files, place, [fd](std::string_view bytes) { return WriteAll(fd, bytes); }));
  // WHY both: each keeps tables on disk, by their hard links.
  RemoveAll(files, place + ".partial");
  RemoveAll(files, place);
  return code;
}

bool HasWriter(MDB_env* env) {
  base::Lock lock(env->mutex);
  return std::any_of(env->roots.begin(), env->roots.end(), [](const MDB_txn* each) { return !each->is_read_only(); });
}

}  // namespace
}  // namespace mergedb::lmdb

using namespace mergedb::lmdb;

int mdb_env_create(MDB_env** env) {
  return Guard([&]() -> int {
    if (env == nullptr) return EINVAL;
    auto made = std::make_unique<MDB_env>();
    made->generation = ProcessGeneration();
    *env = made.release();
    return 0;
  });
}

int mdb_env_open(MDB_env* env, const char* path, unsigned int flags, mdb_mode_t mode) {
  return Guard([&]() -> int {
    if (env == nullptr || path == nullptr || env->is_open || (flags & ~kOpenFlags)) return EINVAL;
    if (flags & MDB_RDONLY) flags &= ~static_cast<unsigned>(MDB_WRITEMAP);
    env->flags |= flags;
    const int code = Open(env, path, mode);
    if (code != 0) env->db = nullptr;
    return code;
  });
}

void mdb_env_close(MDB_env* env) {
  if (env == nullptr) return;
  (void)Guard([&] {
    if (env->generation != ProcessGeneration()) {
      LeakParts(env);
    } else if (env->db != nullptr) {
      EndAll(env);
      (void)env->db->Close();
    }
    if (env->fd >= 0) close(env->fd);
    delete env;
    return 0;
  });
}

int mdb_env_copy(MDB_env* env, const char* path) { return mdb_env_copy2(env, path, 0); }
int mdb_env_copyfd(MDB_env* env, mdb_filehandle_t fd) { return mdb_env_copyfd2(env, fd, 0); }

int mdb_env_copy2(MDB_env* env, const char* path, unsigned int flags) {
  return Guard([&]() -> int {
    if (!IsUsable(env) || path == nullptr || (flags & ~MDB_CP_COMPACT)) return EINVAL;
    if (!(env->flags & MDB_NOSUBDIR)) {
      const auto is_directory = mergedb::DefaultEnv().file_system->IsDirectory(path);
      if (!is_directory || !*is_directory) return ENOENT;
    }
    LMDB_RETURN_IF_ERROR(CopyTo(env, path, flags & MDB_CP_COMPACT));
    MDB_env mark;  // the copy gets the same data.mdb and lock.mdb
    mark.directory = path;
    mark.flags = env->flags & MDB_NOLOCK;
    const int code = MarkPlace(&mark, 0600);
    if (mark.fd >= 0) close(mark.fd);
    return code;
  });
}

int mdb_env_copyfd2(MDB_env* env, mdb_filehandle_t fd, unsigned int flags) {
  return Guard([&]() -> int {
    if (!IsUsable(env) || (flags & ~MDB_CP_COMPACT)) return EINVAL;
    return CopyToDescriptor(env, fd, flags & MDB_CP_COMPACT);
  });
}

int mdb_env_stat(MDB_env* env, MDB_stat* stat) {
  return Guard([&]() -> int {
    if (!IsUsable(env) || stat == nullptr) return EINVAL;
    MDB_txn reader;  // takes no slot of the reader table: LMDB needs no transaction here
    reader.env = env;
    reader.flags = MDB_RDONLY;
    reader.root = std::make_shared<Root>();
    auto begun = mergedb::txn::TransactionImpl::Begin(*env->db, env->db->transactions(),
                                                      {.kind = mergedb::TransactionKind::kReadOnly});
    if (!begun) return CodeOf(begun.error());
    reader.root->transaction = std::move(*begun);
    RetainedList gone;  // destroyed after the lock is released
    {
      mergedb::base::Lock lock(env->mutex);
      PublishSeen(env, reader.transaction().sequence(), &gone);
    }
    return mdb_stat(&reader, kMainDbi, stat);
  });
}

int mdb_env_info(MDB_env* env, MDB_envinfo* stat) {
  return Guard([&]() -> int {
    if (!IsUsable(env) || stat == nullptr) return EINVAL;
    const size_t pages = NumberOf(*env->db, "mergedb.table_bytes_live") / kPageBytes;
    mergedb::base::Lock lock(env->mutex);
    *stat = {.me_mapaddr = nullptr,
             .me_mapsize = env->map_bytes,
             .me_last_pgno = 1 + pages,  // behind LMDB's two meta pages
             .me_last_txnid = env->last_id,
             .me_maxreaders = env->readers_max,
             .me_numreaders = env->readers_seen};
    return 0;
  });
}

int mdb_env_sync(MDB_env* env, int force) {
  return Guard([&]() -> int {
    if (!IsUsable(env)) return EINVAL;
    if (env->flags & MDB_RDONLY) return EACCES;
    if (!force && (env->flags & MDB_NOSYNC)) return 0;
    return CodeOf(env->db->SyncWal());
  });
}

int mdb_env_set_flags(MDB_env* env, unsigned int flags, int onoff) {
  if (env == nullptr || (flags & ~kChangeable)) return EINVAL;
  env->flags = onoff ? env->flags | flags : env->flags & ~flags;
  return 0;
}

int mdb_env_get_flags(MDB_env* env, unsigned int* flags) {
  if (env == nullptr || flags == nullptr) return EINVAL;
  *flags = env->flags & kOpenFlags;
  return 0;
}

int mdb_env_get_path(MDB_env* env, const char** path) {
  if (env == nullptr || path == nullptr) return EINVAL;
  *path = env->is_open ? env->path.c_str() : nullptr;
  return 0;
}

int mdb_env_get_fd(MDB_env* env, mdb_filehandle_t* fd) {
  if (env == nullptr || fd == nullptr) return EINVAL;
  *fd = env->fd;
  return 0;
}

int mdb_env_set_mapsize(MDB_env* env, size_t size) {
  return Guard([&]() -> int {
    if (env == nullptr) return EINVAL;
    if (env->is_open && HasWriter(env)) return EINVAL;
    mergedb::base::Lock lock(env->mutex);
    if (size != 0) env->map_bytes = size;
    if (size == 0 && !env->is_open) env->map_bytes = kDefaultMapBytes;
    return 0;
  });
}

int mdb_env_set_maxreaders(MDB_env* env, unsigned int readers) {
  if (env == nullptr || env->is_open || readers < 1) return EINVAL;
  env->readers_max = readers;
  return 0;
}

int mdb_env_get_maxreaders(MDB_env* env, unsigned int* readers) {
  if (env == nullptr || readers == nullptr) return EINVAL;
  *readers = env->readers_max;
  return 0;
}

int mdb_env_set_maxdbs(MDB_env* env, MDB_dbi dbs) {
  if (env == nullptr || env->is_open) return EINVAL;
  env->dbs_max = dbs;
  return 0;
}

int mdb_env_get_maxkeysize(MDB_env*) { return kKeyBytesMax; }

int mdb_env_set_userctx(MDB_env* env, void* ctx) {
  if (env == nullptr) return EINVAL;
  env->user_context = ctx;
  return 0;
}
void* mdb_env_get_userctx(MDB_env* env) { return env == nullptr ? nullptr : env->user_context; }
int mdb_env_set_assert(MDB_env* env, MDB_assert_func*) { return env == nullptr ? EINVAL : 0; }

int mdb_reader_list(MDB_env* env, MDB_msg_func* func, void* ctx) {
  return Guard([&]() -> int {
    if (env == nullptr || func == nullptr) return -1;
    if (!IsUsable(env) || (env->flags & MDB_NOLOCK)) return func("(no reader locks)\n", ctx);
    std::vector<std::string> lines;  // WHY: the function of the program may call us
    {
      mergedb::base::Lock lock(env->mutex);
      for (const MDB_txn* each : env->roots) {
        if (!each->is_read_only()) continue;
        const std::string id = each->state == TxnState::kOpen ? std::to_string(each->id) : "-";
        mergedb::base::Print(&lines.emplace_back(), "%10d %llx %s\n", getpid(),
                             static_cast<unsigned long long>(each->thread), id.c_str());
      }
    }
    if (lines.empty()) return func("(no active readers)\n", ctx);
    int code = func("    pid     thread     txnid\n", ctx);
    for (size_t i = 0; i < lines.size() && code >= 0; ++i) code = func(lines[i].c_str(), ctx);
    return code;
  });
}

int mdb_reader_check(MDB_env* env, int* dead) {
  if (env == nullptr) return EINVAL;
  if (dead != nullptr) *dead = 0;
  return 0;
}
