// What a crash leaves of a Disk. Every choice that hardware and kernel are free to make is made by the seed.
//
//     mode                  names                 data of each file
//     kKill                 all                   all: the process died, the kernel did not
//     kMin                  only durable          only durable
//     kNamesFull            all                   only durable: files created or renamed too early show up empty
//     kNamesMinDataFull     only durable          all
//     kPrefixTorn           some                  unsynced writes up to a random one, that one cut at a sector or page
//     kBlockMix             some                  each unsynced sector old, new or in between; growth zero
//     kGarbageTail          some                  as kPrefixTorn; the rest of the growth: bytes of other files or noise
//     kLostSync             only durable          only durable, and one file's last sync was a lie
//
// A mapped file: kKill keeps every store; the power cuts that mix choose for each sector among what was last synced,
// what was there at some moments since, and what was there at the end.
//
// model: kStrict makes a name durable by SyncDirectory alone, and any subset of the other name ops may survive.
// kJournaled (ext4, data=ordered) keeps name ops in order, all of them up to the last sync that committed the journal;
// a file grows only over data that has been written.
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

// Everything that an honest disk may do when the power goes.
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
// Shares the bytes that did not change with `disk`.
Disk CrashImage(const Disk& disk, const CrashChoice& choice);

}  // namespace mergedb::testing
