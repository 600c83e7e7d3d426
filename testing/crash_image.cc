#include "testing/crash_image.h"

#include <algorithm>
#include <unordered_map>

#include "base/random.h"

namespace mergedb::testing {
namespace {

uint64_t Hash(uint64_t seed, uint64_t value) { return base::Random(seed ^ (value * 0xD6E8FEB86659FD93u)).Next(); }

bool IsMixing(CrashMode mode) {
  return mode == CrashMode::kPrefixTorn || mode == CrashMode::kBlockMix || mode == CrashMode::kGarbageTail;
}

// ---- the data of one file ----

// How many of `count` changes a sector holds: often 0 or all of them, sometimes a part.
size_t SectorVersion(uint64_t seed, uint64_t sector, size_t count) {
  const uint64_t hash = Hash(seed, sector);
  switch (hash % 3) {
    case 0: return 0;
    case 1: return count;
    default: return (hash >> 32) % (count + 1);
  }
}

CowBytes PrefixTorn(const Inode& file, base::Random& random) {
  CowBytes content = file.durable;
  const size_t whole = random.Uniform(file.pending.size() + 1);
  for (size_t i = 0; i < whole; ++i) ApplyChange(file.pending[i], &content);
  if (whole == file.pending.size() || !file.pending[whole].bytes) return content;
  const Change& torn = file.pending[whole];
  const uint64_t unit = random.OneIn(2) ? kSectorBytes : kChunkBytes;
  const uint64_t end = (torn.offset + random.Uniform(torn.bytes->size() + 1)) / unit * unit;
  if (end > torn.offset) content.Write(torn.offset, std::string_view(*torn.bytes).substr(0, end - torn.offset));
  return content;
}

// Calls visit(sector, offset in the file, bytes) for each sector of [begin, end).
template <typename Visit>
void ForEachSector(uint64_t begin, uint64_t end, Visit&& visit) {
  for (uint64_t offset = begin; offset < end;) {
    const uint64_t sector = offset / kSectorBytes;
    const uint64_t piece = std::min((sector + 1) * kSectorBytes, end) - offset;
    visit(sector, offset, static_cast<size_t>(piece));
    offset += piece;
  }
}

// A size between the durable size and the live size.
uint64_t SizeBetween(const Inode& file, base::Random& random) {
  const uint64_t low = std::min(file.durable.size(), file.live.size());
  const uint64_t high = std::max(file.durable.size(), file.live.size());
  switch (random.Uniform(4)) {
    case 0: return file.durable.size();
    case 1: return file.live.size();
    default: return std::clamp((low + random.Uniform(high - low + 1)) / kSectorBytes * kSectorBytes, low, high);
  }
}

CowBytes BlockMix(const Inode& file, CrashModel model, base::Random& random) {
  CowBytes content = file.durable;
  const uint64_t seed = random.Next();
  const uint64_t size = SizeBetween(file, random);
  const size_t count = file.pending.size();
  const auto has_seen = [&](uint64_t sector, size_t change) {
    const bool is_grown = (sector + 1) * kSectorBytes > file.durable.size();
    if (is_grown && model == CrashModel::kJournaled && size > file.durable.size()) return true;
    return change < SectorVersion(seed, sector, count);
  };
  const std::string zeros(kSectorBytes, '\0');
  for (size_t i = 0; i < count; ++i) {
    const Change& change = file.pending[i];
    const uint64_t end = change.bytes ? change.offset + change.bytes->size() : content.size();
    ForEachSector(change.offset, end, [&](uint64_t sector, uint64_t offset, size_t bytes) {
      if (!has_seen(sector, i)) return;
      const std::string_view all = change.bytes ? std::string_view(*change.bytes) : zeros;
      content.Write(offset, all.substr(change.bytes ? offset - change.offset : 0, bytes));
    });
  }
  content.Resize(size);
  return content;
}

CowBytes GarbageTail(const Inode& file, const Disk& disk, base::Random& random) {
  CowBytes content = PrefixTorn(file, random);
  std::vector<const Inode*> others;
  for (const auto& [name, inode] : disk.root->entries) {
    if (!inode->is_directory) others.push_back(inode.get());
    for (const auto& [inner_name, inner] : inode->entries) {
      if (!inner->is_directory && inner->live.size() > 0) others.push_back(inner.get());
    }
  }
  const uint64_t end = file.live.size();
  if (content.size() >= end) return content;
  ForEachSector(content.size(), end, [&](uint64_t, uint64_t offset, size_t bytes) {
    std::string sector(bytes, '\0');
    if (!others.empty() && random.OneIn(2)) {  // valid records of another file are the most convincing garbage
      const CowBytes& source = others[random.Uniform(others.size())]->live;
      const uint64_t sectors = source.size() / kSectorBytes + 1;
      source.Read(random.Uniform(sectors) * kSectorBytes + offset % kSectorBytes, bytes, sector.data());
    } else {
      for (char& byte : sector) byte = static_cast<char>(random.Next());
    }
    content.Write(offset, sector);
  });
  return content;
}

CowBytes MappedMix(const Inode& file, base::Random& random) {
  const CowBytes current = file.Current();
  std::vector<const CowBytes*> versions = {&file.durable};
  for (const CowBytes& capture : file.captures) versions.push_back(&capture);
  versions.push_back(&current);

  CowBytes content = file.durable;
  const uint64_t seed = random.Next();
  char sector_bytes[kSectorBytes];
  ForEachSector(0, current.size(), [&](uint64_t sector, uint64_t offset, size_t bytes) {
    const size_t version = SectorVersion(seed, sector, versions.size() - 1);
    if (version == 0) return;
    const size_t got = versions[version]->Read(offset, bytes, sector_bytes);
    content.Write(offset, {sector_bytes, got});
  });
  content.Resize(random.OneIn(2) ? file.durable.size() : current.size());
  return content;
}

CowBytes DataAfter(const Inode& file, const Disk& disk, const CrashChoice& choice, base::Random& random) {
  if (choice.mode == CrashMode::kNamesMinDataFull) {
    if (!file.has_lost) return file.Current();
    CowBytes content = file.durable;
    for (const Change& change : file.pending) ApplyChange(change, &content);
    return content;
  }
  if (!IsMixing(choice.mode)) return file.durable;
  if (file.memory) return file.has_lost ? file.durable : MappedMix(file, random);
  if (file.pending.empty()) return file.durable;
  if (choice.mode == CrashMode::kPrefixTorn) return PrefixTorn(file, random);
  if (choice.mode == CrashMode::kGarbageTail) return GarbageTail(file, disk, random);
  return BlockMix(file, choice.model, random);
}

// ---- names ----

using Entries = Inode::Entries;
using Directories = std::unordered_map<const Inode*, Entries>;

// The surviving entries of each directory that has pending name operations that survive.
Directories NamesAfter(const Disk& disk, const CrashChoice& choice, base::Random& random) {
  const uint64_t seed = random.Next();
  const uint64_t journal_end = disk.journal_op + random.Uniform(disk.op - disk.journal_op + 1);
  const auto survives = [&](uint64_t op) {
    if (choice.mode == CrashMode::kNamesFull) return true;
    const bool is_journaled = choice.model == CrashModel::kJournaled;
    if (IsMixing(choice.mode)) return is_journaled ? op <= journal_end : Hash(seed, op) % 2 == 0;
    return is_journaled && op <= disk.journal_op;
  };
  Directories changed;
  for (const NameOp& op : disk.pending_names) {
    if (!survives(op.op)) continue;
    const auto [entries, is_new] = changed.try_emplace(op.directory.get(), op.directory->durable_entries);
    ApplyNameOp(op, &entries->second);
  }
  return changed;
}

// ---- images ----

class PowerCut {
 public:
  PowerCut(const Disk& disk, const CrashChoice& choice)
      : disk_(disk), choice_(choice), random_(choice.seed), directories_(NamesAfter(disk, choice, random_)) {}

  Disk Image() {
    Disk image;
    image.root = Copy(disk_.root);
    image.op = image.journal_op = disk_.op;
    for (const auto& [original, copy] : copies_) image.used_bytes += Disk::Occupied(*copy);
    if (choice_.mode == CrashMode::kLostSync) ForgetOneSync();
    return image;
  }

 private:
  std::shared_ptr<Inode> Copy(const std::shared_ptr<Inode>& original) {
    std::shared_ptr<Inode>& copy = copies_[original.get()];
    if (copy) return copy;
    copy = std::make_shared<Inode>(original->is_directory);
    const std::shared_ptr<Inode> filled = copy;  // the recursive calls may rehash the map, so `copy` may dangle
    if (original->is_directory) {
      const auto changed = directories_.find(original.get());
      for (const auto& [name, entry] : changed == directories_.end() ? original->durable_entries : changed->second) {
        const std::shared_ptr<Inode> child = Copy(entry);
        ++child->links;
        filled->entries.emplace(name, child);
      }
      filled->durable_entries = filled->entries;
    } else {
      filled->live = filled->durable = DataAfter(*original, disk_, choice_, random_);
      filled->size_changed = false;
      if (original->is_synced_ever) synced_.push_back({original, filled});
    }
    return filled;
  }

  void ForgetOneSync() {
    if (synced_.empty()) return;
    const auto& [original, copy] = synced_[random_.Uniform(synced_.size())];
    copy->live = copy->durable = original->durable_before;
  }

  const Disk& disk_;
  const CrashChoice choice_;
  base::Random random_;
  const Directories directories_;
  std::unordered_map<const Inode*, std::shared_ptr<Inode>> copies_;
  std::vector<std::pair<std::shared_ptr<Inode>, std::shared_ptr<Inode>>> synced_;
};

// The process ends, the kernel does not. Unsynced changes stay unsynced: a later power cut may still lose them.
class Kill {
 public:
  explicit Kill(const Disk& disk) : disk_(disk) {}

  Disk Image() {
    Disk image;
    image.root = Copy(disk_.root);
    image.op = disk_.op;
    image.journal_op = disk_.journal_op;
    for (const NameOp& op : disk_.pending_names) {
      NameOp copy = op;
      copy.directory = Copy(op.directory);
      copy.inode = Copy(op.inode);
      image.pending_names.push_back(std::move(copy));
    }
    for (const auto& [original, copy] : copies_) image.used_bytes += Disk::Occupied(*copy);
    return image;
  }

 private:
  std::shared_ptr<Inode> Copy(const std::shared_ptr<Inode>& original) {
    std::shared_ptr<Inode>& slot = copies_[original.get()];
    if (slot) return slot;
    const std::shared_ptr<Inode> copy = slot = std::make_shared<Inode>(*original);
    copy->handles = 0;
    if (copy->mappings > 0) {  // the stores to the mapping become unsynced writes
      copy->mappings = 1;
      copy->Unmap();
    }
    for (Entries* entries : {&copy->entries, &copy->durable_entries}) {
      for (auto& [name, entry] : *entries) entry = Copy(entry);
    }
    return copy;
  }

  const Disk& disk_;
  std::unordered_map<const Inode*, std::shared_ptr<Inode>> copies_;
};

}  // namespace

const char* CrashModeName(CrashMode mode) {
  static constexpr const char* kNames[] = {"kill",        "min",       "names-full",   "names-min-data-full",
                                           "prefix-torn", "block-mix", "garbage-tail", "lost-sync"};
  return kNames[static_cast<size_t>(mode)];
}

const char* CrashModelName(CrashModel model) { return model == CrashModel::kStrict ? "strict" : "journaled"; }

Disk CrashImage(const Disk& disk, const CrashChoice& choice) {
  if (choice.mode == CrashMode::kKill) return Kill(disk).Image();
  return PowerCut(disk, choice).Image();
}

}  // namespace mergedb::testing
