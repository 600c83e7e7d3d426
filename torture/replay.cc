#include "torture/replay.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace mergedb::torture {

using testing::Disk;
using testing::Inode;

namespace {

template <typename Visit>
void Walk(const Inode& directory, const std::string& path, const Visit& visit) {
  for (const auto& [name, inode] : directory.entries) {
    const std::string inner = path + "/" + name;
    visit(inner, *inode);
    if (inode->is_directory) Walk(*inode, inner, visit);
  }
}

}  // namespace

Replay::Replay(std::string trace, const std::string& directory) : trace_(std::move(trace)) {
  const Disk::Place place = disk_.Find(directory);
  ASSERT(place.directory && !place.inode, "one directory below the root");
  disk_.Link(place, std::make_shared<Inode>(true));
  disk_.SyncDirectory(disk_.root);
}

bool Replay::Step(bool* changed) {
  *changed = false;
  if (trace_.size() - at_ < sizeof(RecordHead)) return false;
  RecordHead head;
  std::memcpy(&head, trace_.data() + at_, sizeof head);
  const size_t bytes = size_t{head.path_bytes} + head.other_path_bytes + head.data_bytes;
  if (trace_.size() - at_ - sizeof head < bytes) return false;  // the process was killed while it wrote this record
  at_ += sizeof head;
  const std::string path = trace_.substr(at_, head.path_bytes);
  const std::string other_path = trace_.substr(at_ + head.path_bytes, head.other_path_bytes);
  const std::string_view data =
      std::string_view(trace_).substr(at_ + head.path_bytes + head.other_path_bytes, head.data_bytes);
  at_ += bytes;
  ++records_;
  const bool is_store = head.record == Record::kStore;  // a store is one step with the record that follows it
  *changed = !is_store && head.record != Record::kClose;
  if (head.record != Record::kMark) ++disk_.op;
  Take(head, path, other_path, data);
  return true;
}

void Replay::Take(const RecordHead& head, const std::string& path, const std::string& other_path,
                  std::string_view data) {
  switch (head.record) {
    case Record::kOpen: return Open(head, path);
    case Record::kClose: return;  // a mapping may outlive it
    case Record::kWrite:
    case Record::kStore: return Write(head, data);
    case Record::kTruncate: return handles_.at(head.handle).inode->Truncate(head.offset);
    case Record::kSync: {
      const auto& inode = handles_.at(head.handle).inode;
      return inode->is_directory ? disk_.SyncDirectory(inode) : disk_.SyncFile(inode);
    }
    case Record::kFailedSync: ++failed_syncs_; return handles_.at(head.handle).inode->LoseUnsynced();
    case Record::kRename: return Rename(path, other_path, false);
    case Record::kLink: return Rename(path, other_path, true);
    case Record::kUnlink:
    case Record::kRemoveDirectory: return disk_.Unlink(disk_.Find(path));
    case Record::kMakeDirectory: return disk_.Link(disk_.Find(path), std::make_shared<Inode>(true));
    case Record::kMark: return Note(head);
  }
}

void Replay::Open(const RecordHead& head, const std::string& path) {
  Disk::Place place = disk_.Find(path);
  if (!place.inode) {
    ASSERT(place.directory, "a file in a directory that was never made");
    place.inode = std::make_shared<Inode>(false);
    disk_.Link(place, place.inode);
  }
  if ((head.flags & kTruncated) && place.inode->live.size() > 0) place.inode->Truncate(0);
  handles_[head.handle] = {place.inode, (head.flags & kDataSync) != 0};
}

void Replay::Write(const RecordHead& head, std::string_view data) {
  const Handle& handle = handles_.at(head.handle);
  Inode& inode = *handle.inode;
  inode.WriteAt(head.offset, data);
  // After a failed sync, the kernel marks the pages as clean. A later write makes its whole page dirty again.
  if (inode.has_lost) {
    const uint64_t begin = head.offset / testing::kChunkBytes * testing::kChunkBytes;
    const uint64_t end = std::min<uint64_t>(
        (head.offset + data.size() + testing::kChunkBytes - 1) / testing::kChunkBytes * testing::kChunkBytes,
        inode.live.size());
    std::string pages(end - begin, '\0');
    inode.live.Read(begin, pages.size(), pages.data());
    inode.pending.back() = {.offset = begin, .bytes = std::make_shared<const std::string>(std::move(pages))};
  }
  if (!handle.is_data_synced || head.record == Record::kStore) return;
  // O_DSYNC: this write is durable, independent of the rest of the file.
  ApplyChange(inode.pending.back(), &inode.durable);
  inode.pending.pop_back();
  if (inode.size_changed) disk_.journal_op = disk_.op;
}

void Replay::Rename(const std::string& source, const std::string& target, bool is_link) {
  const Disk::Place from = disk_.Find(source);
  const Disk::Place to = disk_.Find(target);
  disk_.Link(to, from.inode);
  if (!is_link) disk_.Unlink(from);
}

void Replay::Note(const RecordHead& head) {
  switch (static_cast<Mark>(head.flags)) {
    case Mark::kBegun: begun_ = head.offset; return;
    case Mark::kReturned: returned_ = head.offset; return;
    case Mark::kDurable: durable_ = head.offset; return;
    case Mark::kFailed: return;
  }
}

void Materialise(const Disk& image, const std::string& path, const std::string& target) {
  std::filesystem::remove_all(target);
  std::filesystem::create_directories(target);
  const Disk::Place place = image.Find(path);
  if (!place.inode) return;
  Walk(*place.inode, target, [](const std::string& inner, const Inode& inode) {
    if (inode.is_directory) {
      std::filesystem::create_directory(inner);
      return;
    }
    const std::string bytes = inode.Current().ToString();
    std::ofstream(inner, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

uint64_t FingerprintOf(const Disk& image) {
  uint64_t sum = 0;
  Walk(*image.root, "", [&](const std::string& path, const Inode& inode) {
    const uint64_t content = inode.is_directory ? 1 : inode.Current().Fingerprint();
    sum = (sum ^ content ^ std::hash<std::string>{}(path)) * 0x9E3779B97F4A7C15u;
  });
  return sum;
}

}  // namespace mergedb::torture
