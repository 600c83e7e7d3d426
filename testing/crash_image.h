// Computes the Disk that a crash leaves. The seed makes every choice that the hardware and the kernel are free to make.
//
//     mode                  names                 data of each file
//     kKill                 all                   all: the process ends, the kernel does not
//     kMin                  only durable          only durable
//     kNamesFull            all                   only durable: a file that was created or renamed too early is empty
//     kNamesMinDataFull     only durable          all, except what a failed sync lost
//     kPrefixTorn           some                  unsynced writes up to a random one, which ends at a sector or page
//     kBlockMix             some                  each unsynced sector old, new or in between; growth is zero
//     kGarbageTail          some                  as kPrefixTorn; the rest of the growth is other files' bytes or noise
//     kLostSync             only durable          only durable, and the last sync of one file had no effect
//
// Mapped files: kKill keeps every store. kPrefixTorn, kBlockMix and kGarbageTail choose for each sector the last
// synced content, the content at one of some later moments, or the content at the end.
//
// Models: with kStrict only SyncDirectory makes a name durable, and any subset of the other name operations may
// survive. kJournaled (ext4, data=ordered) keeps a prefix of the name operations, at least up to the last sync that
// committed the journal; a file grows only over data that has been written.
#pragma once

#include <cstdint>

#include "testing/fault_disk.h"

namespace mergedb::testing {

enum class CrashMode : uint8_t {
  kKill,
  kMin,
  kNamesFull,
  kNamesMinDataFull,
  kPrefixTorn,
  kBlockMix,
  kGarbageTail,
  kLostSync,
};
enum class CrashModel : uint8_t { kJournaled, kStrict };

// The modes of a disk that keeps its promises.
inline constexpr CrashMode kPowerCutModes[] = {
    CrashMode::kMin,        CrashMode::kNamesFull, CrashMode::kNamesMinDataFull,
    CrashMode::kPrefixTorn, CrashMode::kBlockMix,  CrashMode::kGarbageTail};
inline constexpr CrashModel kCrashModels[] = {CrashModel::kJournaled, CrashModel::kStrict};

const char* CrashModeName(CrashMode mode);
const char* CrashModelName(CrashModel model);

struct CrashChoice {
  CrashMode mode = CrashMode::kMin;
  CrashModel model = CrashModel::kStrict;
  uint64_t seed = 0;
};
// The result shares unchanged bytes with `disk`.
Disk CrashImage(const Disk& disk, const CrashChoice& choice);

}  // namespace mergedb::testing
