#include "testing/watched_file_system.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <utility>

#include "format/file_name.h"

// The place that called the current function. WHY minus one: a return address is the address of the next instruction,
// which may belong to the next source line.
#define MERGEDB_CALL_SITE (reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1)

namespace mergedb::testing {
namespace {

template <typename Act>
auto Watched(const Watch& watch, const FileCall& call, Act&& act) -> decltype(act()) {
  size_t keep_bytes = 0;
  if (Status status = watch.before ? watch.before(call, &keep_bytes) : Status(); !status.ok()) {
    if (watch.after) watch.after(call, status);
    return status;
  }
  auto outcome = act();
  if constexpr (std::is_same_v<decltype(outcome), Status>) {
    if (watch.after) watch.after(call, outcome);
  } else {
    if (watch.after) watch.after(call, outcome.status());
  }
  return outcome;
}

}  // namespace

std::string_view FileKindOf(FileOp op, std::string_view path) {
  if (op == FileOp::kList || op == FileOp::kCreateDirectory || op == FileOp::kRemoveDirectory ||
      op == FileOp::kSyncDirectory) {
    return "directory";
  }
  const auto name = format::ParseFileName(path.substr(path.rfind('/') + 1));
  if (!name) return "other";
  switch (name->kind) {
    case format::FileKind::kCurrent: return "CURRENT";
    case format::FileKind::kCurrentTemporary: return "CURRENT.tmp";
    case format::FileKind::kLock: return "LOCK";
    case format::FileKind::kManifest: return "MANIFEST";
    case format::FileKind::kStaging: return "STAGING";
    case format::FileKind::kSegment: return "seg";
    case format::FileKind::kTable: return "tbl";
    default: return "other";
  }
}

std::string PointName(const FileCall& call) {
  return std::string(OpName(call.op)) + " " + std::string(FileKindOf(call.op, call.path));
}

class WatchedFileSystem::WatchedFile final : public File {
 public:
  WatchedFile(const WatchedFileSystem* owner, std::string path, std::unique_ptr<File> inner)
      : owner_(owner), path_(std::move(path)), inner_(std::move(inner)) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    *got = 0;
    const FileCall call{FileOp::kRead, path_, MERGEDB_CALL_SITE, offset};
    return Watched(owner_->watch_, call, [&] {
      Status status = inner_->ReadAt(offset, bytes, out, got);
      if (owner_->watch_.shorten) *got = owner_->watch_.shorten(call, *got);
      return status;
    });
  }
  Status WriteAt(uint64_t offset, std::string_view bytes) override {
    const FileCall call{FileOp::kWrite, path_, MERGEDB_CALL_SITE, offset, bytes};
    size_t keep_bytes = 0;
    Status status = owner_->watch_.before ? owner_->watch_.before(call, &keep_bytes) : Status();
    if (status.ok()) {
      status = inner_->WriteAt(offset, bytes);
    } else if (keep_bytes > 0) {
      (void)inner_->WriteAt(offset, bytes.substr(0, keep_bytes));
    }
    if (owner_->watch_.after) owner_->watch_.after(call, status);
    return status;
  }
  Status Truncate(uint64_t bytes) override {
    return Watched(owner_->watch_, {FileOp::kTruncate, path_, MERGEDB_CALL_SITE},
                   [&] { return inner_->Truncate(bytes); });
  }
  Status Sync() override {
    return Watched(owner_->watch_, {FileOp::kSync, path_, MERGEDB_CALL_SITE}, [&] { return inner_->Sync(); });
  }
  Result<uint64_t> Size() override {
    return Watched(owner_->watch_, {FileOp::kSizeOf, path_, MERGEDB_CALL_SITE}, [&] { return inner_->Size(); });
  }
  Status Close() override {
    return Watched(owner_->watch_, {FileOp::kClose, path_, MERGEDB_CALL_SITE}, [&] { return inner_->Close(); });
  }
  void WillRead(uint64_t offset, uint64_t bytes) override {
    if (owner_->watch_.will_read) owner_->watch_.will_read(path_, offset, bytes);
    inner_->WillRead(offset, bytes);
  }
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override {
    return Watched(owner_->watch_, {FileOp::kMap, path_, MERGEDB_CALL_SITE}, [&] { return inner_->Map(bytes); });
  }
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override {
    return Watched(owner_->watch_, {FileOp::kMap, path_, MERGEDB_CALL_SITE}, [&] {
      return owner_->watch_.map_to_read ? owner_->watch_.map_to_read(*inner_, bytes) : inner_->MapForReading(bytes);
    });
  }
  Status Unshare() override {
    return Watched(owner_->watch_, {FileOp::kUnshare, path_, MERGEDB_CALL_SITE}, [&] { return inner_->Unshare(); });
  }
  Status Allocate(uint64_t offset, uint64_t bytes) override {
    return Watched(owner_->watch_, {FileOp::kAllocate, path_, MERGEDB_CALL_SITE, offset},
                   [&] { return inner_->Allocate(offset, bytes); });
  }
  Status Deallocate(uint64_t offset, uint64_t bytes) override {
    return Watched(owner_->watch_, {FileOp::kDeallocate, path_, MERGEDB_CALL_SITE, offset},
                   [&] { return inner_->Deallocate(offset, bytes); });
  }

 private:
  const WatchedFileSystem* const owner_;
  const std::string path_;
  const std::unique_ptr<File> inner_;
};

Result<std::unique_ptr<File>> WatchedFileSystem::Open(const std::string& path, const FileOptions& options) {
  const FileOp op = options.access == Access::kCreate ? FileOp::kCreate : FileOp::kOpen;
  const FileCall call{.op = op, .path = path, .site = MERGEDB_CALL_SITE, .is_direct = options.direct};
  return Watched(watch_, call, [&]() -> Result<std::unique_ptr<File>> {
    ASSIGN_OR_RETURN(auto file, inner_->Open(path, options));
    return std::unique_ptr<File>(std::make_unique<WatchedFile>(this, path, std::move(file)));
  });
}
Result<env::HeldFile> WatchedFileSystem::OpenHeld(const std::string& path) {
  return Watched(watch_, {FileOp::kOpen, path, MERGEDB_CALL_SITE}, [&]() -> Result<env::HeldFile> {
    ASSIGN_OR_RETURN(auto opened, env::OpenHeld(*inner_, path));
    opened.file = std::make_unique<WatchedFile>(this, path, std::move(opened.file));
    return opened;
  });
}
Status WatchedFileSystem::Remove(const std::string& path) {
  return Watched(watch_, {FileOp::kRemove, path, MERGEDB_CALL_SITE}, [&] { return inner_->Remove(path); });
}
Status WatchedFileSystem::Rename(const std::string& source, const std::string& target) {
  return Watched(watch_, {FileOp::kRename, source, MERGEDB_CALL_SITE}, [&] { return inner_->Rename(source, target); });
}
Status WatchedFileSystem::Link(const std::string& source, const std::string& target) {
  return Watched(watch_, {FileOp::kLink, source, MERGEDB_CALL_SITE}, [&] { return inner_->Link(source, target); });
}
Result<std::vector<std::string>> WatchedFileSystem::List(const std::string& directory) {
  return Watched(watch_, {FileOp::kList, directory, MERGEDB_CALL_SITE}, [&] { return inner_->List(directory); });
}
Status WatchedFileSystem::CreateDirectory(const std::string& path) {
  return Watched(watch_, {FileOp::kCreateDirectory, path, MERGEDB_CALL_SITE},
                 [&] { return inner_->CreateDirectory(path); });
}
Status WatchedFileSystem::RemoveDirectory(const std::string& path) {
  return Watched(watch_, {FileOp::kRemoveDirectory, path, MERGEDB_CALL_SITE},
                 [&] { return inner_->RemoveDirectory(path); });
}
Status WatchedFileSystem::SyncDirectory(const std::string& directory) {
  return Watched(watch_, {FileOp::kSyncDirectory, directory, MERGEDB_CALL_SITE},
                 [&] { return inner_->SyncDirectory(directory); });
}
Result<uint64_t> WatchedFileSystem::SizeOf(const std::string& path) {
  return Watched(watch_, {FileOp::kSizeOf, path, MERGEDB_CALL_SITE}, [&] { return inner_->SizeOf(path); });
}
Result<bool> WatchedFileSystem::IsDirectory(const std::string& path) {
  return Watched(watch_, {FileOp::kSizeOf, path, MERGEDB_CALL_SITE}, [&] { return inner_->IsDirectory(path); });
}
Result<std::unique_ptr<FileLock>> WatchedFileSystem::Lock(const std::string& path) {
  return Watched(watch_, {FileOp::kLock, path, MERGEDB_CALL_SITE}, [&] { return inner_->Lock(path); });
}

// ---- source lines of the calls ----------------------------------------------------------------------------

namespace {

// The load address of this program: addr2line needs addresses relative to it.
uintptr_t LoadAddress() {
  uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uintptr_t*>(out) = info->dlpi_addr;
        return 1;  // stops: the first object is the program itself
      },
      &base);
  return base;
}

std::string FromSrc(const std::string& line) {
  const size_t at = line.find("/src/");
  return at == std::string::npos ? line : line.substr(at + 1, line.find(' ', at) - at - 1);
}

}  // namespace

std::vector<std::string> SourceLines(const std::vector<uintptr_t>& sites) {
  std::string command = "addr2line -e /proc/" + std::to_string(getpid()) + "/exe";
  const uintptr_t base = LoadAddress();
  for (const uintptr_t site : sites) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), " 0x%llx", static_cast<unsigned long long>(site - base));
    command += text.data();
  }
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  std::array<char, 4096> line;
  while (pipe && lines.size() < sites.size() && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::string text = line.data();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    lines.push_back(FromSrc(text));
  }
  while (lines.size() < sites.size()) lines.push_back("?" + std::to_string(sites[lines.size()] - base));
  return lines;
}

std::vector<std::string> CallSitesInSources(const std::string& root) {
  static const std::regex kCall(
      R"((\b(file_system_?|files|file_?|input|output)|\(\*file\))(->|\.))"
      R"((Open|Remove|Rename|Link|List|CreateDirectory|RemoveDirectory|SyncDirectory|SizeOf|IsDirectory|Lock|)"
      R"(ReadAt|WriteAt|Truncate|Sync|Size|Close|Map)\()");
  std::vector<std::string> sites;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/src")) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("/src/env/") != std::string::npos) continue;
    if (!path.ends_with(".cc") && !path.ends_with(".h")) continue;
    std::ifstream source(path);
    std::string line;
    for (int number = 1; std::getline(source, line); ++number) {
      if (std::regex_search(line.substr(0, line.find("//")), kCall))
        sites.push_back(FromSrc(path) + ":" + std::to_string(number));
    }
  }
  std::sort(sites.begin(), sites.end());
  return sites;
}

}  // namespace mergedb::testing
