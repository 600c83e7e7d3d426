// The verb estimate: what the data of a database looks like, and what other settings would cost. It reads a sample of
// the entries and changes nothing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "command.h"
#include "db/db_impl.h"
#include "format/compression.h"
#include "sizes.h"
#include "text.h"

namespace mergedb::tool::estimate_verb {
namespace {

struct Arguments : Line {
  uint64_t entries = 200'000;  // of the sample
  bool is_json = false;
};

constexpr size_t kPlaces = 64;                           // from which samples are read
constexpr size_t kCompressedBytesMax = size_t{8} << 20;  // of the sample that is compressed
constexpr size_t kRecordBytes = 4;                       // of an entry in a block beside key and value, about
constexpr size_t kIndexBytes = 12;                       // of a block in the index beside its key, about

struct Sample {
  Sizes keys, values;
  std::vector<std::string> chunks;  // entries as a block has them, for the codecs; one for each place
  std::vector<uint32_t> value_sizes;
  uint64_t entries_all = 0;  // in tables, of which the sample is a part
  uint64_t unreadable = 0;   // keys whose value cannot be read, such as one of an operator of the program
  double Scale() const {
    return keys.count == 0 ? 0.0 : std::max(1.0, static_cast<double>(entries_all) / static_cast<double>(keys.count));
  }
};

void AddEntry(std::string_view key, std::string_view value, size_t chunk_bytes_max, Sample* sample) {
  sample->keys.Add(key.size());
  sample->values.Add(value.size());
  sample->value_sizes.push_back(static_cast<uint32_t>(std::min<size_t>(value.size(), UINT32_MAX)));
  std::string& chunk = sample->chunks.back();
  if (chunk.size() < chunk_bytes_max) chunk.append(kRecordBytes, '\x01').append(key).append(value);
}

// The key at the iterator, also if its value cannot be read. nullopt: there is none.
std::optional<std::string> KeyOf(const Iterator& it) {
  if (it.Valid()) return std::string(it.key());
  return it.failed_key() ? std::optional(std::string(*it.failed_key())) : std::nullopt;
}

// Reads from `from` on until the sample has `entries`. Returns where the next entry may be.
Result<std::string> ReadFrom(Iterator& it, std::string from, uint64_t entries, size_t chunk_bytes_max, Sample* sample) {
  sample->chunks.emplace_back();
  for (it.Seek(from); sample->keys.count < entries; it.Next()) {
    std::optional<std::string> key = KeyOf(it);
    if (!key) {
      RETURN_IF_ERROR(it.status());
      break;
    }
    if (it.Valid()) AddEntry(*key, it.value(), chunk_bytes_max, sample);
    else ++sample->unreadable;
    from = *std::move(key) + '\0';
  }
  return from;
}

std::unique_ptr<Iterator> IteratorOf(DB& db, Keyspace keyspace) {
  return db.NewIterator({.read = {.fill_cache = false}, .keyspace = keyspace});
}

// A keyspace and where its data lies.
struct Part {
  Keyspace keyspace;
  std::string first, last;  // keys
  uint64_t bytes = 0;       // on disk
};

// A place from which entries are read.
struct Place {
  Keyspace keyspace;
  std::string key;
  double share = 0;  // of the entries of the sample
};

// The keyspaces that have entries in tables.
Result<std::vector<Part>> PartsOf(DB& db) {
  ASSIGN_OR_RETURN(auto keyspaces, db.ListKeyspaces());
  keyspaces.insert(keyspaces.begin(), KeyspaceEntry());
  std::vector<Part> parts;
  for (const KeyspaceEntry& each : keyspaces) {
    const auto it = IteratorOf(db, each.keyspace);
    it->SeekToFirst();
    const auto first = KeyOf(*it);
    it->SeekToLast();
    const auto last = KeyOf(*it);
    RETURN_IF_ERROR(first && last ? Status() : it->status());
    if (!first || !last) continue;
    const uint64_t bytes = db.ApproximateSizes(each.keyspace, {{*first, *last}})[0];
    parts.push_back({each.keyspace, *first, *last, std::max<uint64_t>(1, bytes)});
  }
  return parts;
}

// A key about half-way between two; `lower` if there is none.
std::string Middle(const std::string& lower, const std::string& upper) {
  const auto common = static_cast<size_t>(std::ranges::mismatch(lower, upper).in1 - lower.begin());
  const auto number = [common](const std::string& key) {
    uint64_t bytes = 0;
    for (size_t i = common; i < common + 7; ++i)
      bytes = bytes << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
    return bytes;
  };
  const uint64_t middle = (number(lower) + number(upper)) / 2;
  std::string key = lower.substr(0, common);
  for (int shift = 48; shift >= 0; shift -= 8) key += static_cast<char>(middle >> shift);
  return key < upper ? std::max(key, lower) : lower;
}

// The key of the part before which there are about `bytes`, found by bisection.
std::string KeyAt(DB& db, const Part& part, uint64_t bytes) {
  constexpr int kStepsMax = 100;
  const uint64_t tolerance = part.bytes / 1000;
  std::string lower = part.first, upper = part.last;
  for (int step = 0; step < kStepsMax; ++step) {
    const std::string middle = Middle(lower, upper);
    if (middle == lower) break;
    const uint64_t before = db.ApproximateSizes(part.keyspace, {{part.first, middle}})[0];
    (before < bytes ? lower : upper) = middle;
    if (before + tolerance >= bytes && before <= bytes + tolerance) break;
  }
  return lower;
}

// The number of entries for each byte on disk, from `key` on.
Result<double> DensityAt(DB& db, const Part& part, const std::string& key) {
  constexpr uint64_t kBytesMin = 64 << 10;  // several blocks, since a size on disk is known by the block
  constexpr uint64_t kEntriesMax = 4096;
  const auto it = IteratorOf(db, part.keyspace);
  Sample read{};
  std::string next = key;
  for (uint64_t entries = 16;; entries *= 2) {
    ASSIGN_OR_RETURN(next, ReadFrom(*it, next, entries, 0, &read));
    const uint64_t bytes = db.ApproximateSizes(part.keyspace, {{key, next}})[0];
    if (bytes >= kBytesMin || entries >= kEntriesMax || read.keys.count < entries)
      return static_cast<double>(std::max<uint64_t>(1, read.keys.count)) /
             static_cast<double>(std::max<uint64_t>(1, bytes));
  }
}

// Places with about equal bytes on disk between them. The share of a place is by the number of entries in so many
// bytes.
Result<std::vector<Place>> PlacesOf(DB& db, uint64_t count) {
  ASSIGN_OR_RETURN(const std::vector<Part> parts, PartsOf(db));
  uint64_t bytes_all = 0, begin = 0;
  for (const Part& part : parts) bytes_all += part.bytes;
  std::vector<Place> places;
  double sum = 0;
  for (const Part& part : parts) {
    const auto at = [&] { return bytes_all / count * places.size(); };
    for (; places.size() < count && at() < begin + part.bytes; sum += places.back().share) {
      const std::string key = KeyAt(db, part, at() - begin);
      ASSIGN_OR_RETURN(const double density, DensityAt(db, part, key));
      places.push_back({part.keyspace, key, density});
    }
    begin += part.bytes;
  }
  for (Place& place : places) place.share /= sum;
  return places;
}

Status ReadAll(DB& db, Sample* sample) {
  ASSIGN_OR_RETURN(const std::vector<Part> parts, PartsOf(db));
  for (const Part& part : parts) {
    RETURN_IF_ERROR(
        ReadFrom(*IteratorOf(db, part.keyspace), "", UINT64_MAX, kCompressedBytesMax / parts.size(), sample).status());
  }
  return {};
}

Status ReadSome(DB& db, uint64_t entries, Sample* sample) {
  ASSIGN_OR_RETURN(const std::vector<Place> places, PlacesOf(db, std::min<uint64_t>(kPlaces, entries)));
  if (places.empty()) return {};
  Keyspace keyspace = places.front().keyspace;
  std::string next, gap;
  double share = 0;
  for (const Place& place : places) {
    if (place.keyspace.id() != keyspace.id()) next.clear();
    keyspace = place.keyspace;
    share += place.share;
    const auto count = static_cast<uint64_t>(std::llround(share * static_cast<double>(entries)));
    ASSIGN_OR_RETURN(next, ReadFrom(*IteratorOf(db, keyspace), std::max(next, place.key), count,
                                    kCompressedBytesMax / places.size(), sample));
    if (gap.empty()) gap = next;
  }
  // What a place had too little of.
  return ReadFrom(*IteratorOf(db, places.front().keyspace), gap, entries, kCompressedBytesMax / places.size(), sample)
      .status();
}

// Reads all entries of all keyspaces, or about `limit` of them if there are more.
Status Read(db::DbImpl& db, uint64_t limit, Sample* sample) {
  sample->entries_all = db.CurrentSuperVersion()->version->entries();
  return sample->entries_all <= limit ? ReadAll(db, sample) : ReadSome(db, limit, sample);
}

// Compressed bytes per raw byte. Blocks that a table would store raw count in full.
double RatioOf(const Sample& sample, Compression codec, size_t block_bytes) {
  format::Compressor compressor(codec);
  uint64_t raw = 0, stored = 0;
  for (const std::string& chunk : sample.chunks) {
    for (size_t at = 0; at < chunk.size(); at += block_bytes) {
      const std::string_view block = std::string_view(chunk).substr(at, block_bytes);
      const std::string_view compressed = compressor.Compress(block);
      raw += block.size();
      stored += compressed.empty() ? block.size() : compressed.size();
    }
  }
  return raw == 0 ? 1.0 : static_cast<double>(stored) / static_cast<double>(raw);
}

uint64_t Scaled(const Sample& sample, double of_sample) { return static_cast<uint64_t>(sample.Scale() * of_sample); }

nlohmann::ordered_json BlocksJson(const Sample& sample) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const double raw = static_cast<double>(sample.keys.bytes + sample.values.bytes + kRecordBytes * sample.keys.count);
  for (const size_t block_bytes : {1u << 10, 4u << 10, 16u << 10, 64u << 10}) {
    const double blocks = raw / static_cast<double>(block_bytes);
    list.push_back({{"block_bytes", block_bytes},
                    {"raw_bytes", Scaled(sample, raw)},
                    {"snappy_bytes", Scaled(sample, raw * RatioOf(sample, Compression::kSnappy, block_bytes))},
                    {"lz4_bytes", Scaled(sample, raw * RatioOf(sample, Compression::kLz4, block_bytes))},
                    {"zstd_bytes", Scaled(sample, raw * RatioOf(sample, Compression::kZstd, block_bytes))},
                    {"index_bytes", Scaled(sample, blocks * (sample.keys.Mean() + kIndexBytes))}});
  }
  return list;
}

nlohmann::ordered_json BloomJson(const Sample& sample) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const int bits : {0, 5, 8, 10, 12, 16, 20}) {
    list.push_back({{"bits_per_key", bits},
                    {"filter_bytes", Scaled(sample, static_cast<double>(sample.keys.count) * bits / 8)},
                    {"false_positives", std::pow(0.6185, bits)}});
  }
  return list;
}

nlohmann::ordered_json BlobJson(const Sample& sample) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const uint32_t minimum : {128u, 256u, 512u, 768u, 1024u, 2048u, 4096u, 16384u}) {
    double values = 0, bytes = 0;
    for (const uint32_t size : sample.value_sizes) {
      if (size < minimum) continue;
      values += 1;
      bytes += size;
    }
    const double all = static_cast<double>(sample.keys.bytes + sample.values.bytes);
    list.push_back({{"blob_value_bytes_min", minimum},
                    {"values_in_blob_files", Scaled(sample, values)},
                    {"blob_bytes", Scaled(sample, bytes)},
                    {"table_bytes_raw", Scaled(sample, all - bytes + values * format::kBlobIndexBytesMax)}});
  }
  return list;
}

// ---- text -----------------------------------------------------------------------------------------------------------

std::string Cell(const nlohmann::ordered_json& row, const char* name) {
  const auto& value = row[name];
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f %%", 100 * value.get<double>());
    return text;
  }
  const std::string_view key = name;
  return key == "bits_per_key" || key == "block_bytes" || key == "blob_value_bytes_min" || key.starts_with("values_")
             ? std::to_string(value.get<uint64_t>())
             : PrintBytes(value.get<uint64_t>());
}

void PrintRows(const char* title, const nlohmann::ordered_json& rows,
               const std::vector<std::pair<const char*, const char*>>& columns) {
  Print(std::string("\n") + title + "\n");
  char line[64];
  for (const auto& [name, heading] : columns) {
    std::snprintf(line, sizeof line, "%15s", heading);
    Print(line);
  }
  Print("\n");
  for (const auto& row : rows) {
    for (const auto& [name, heading] : columns) {
      std::snprintf(line, sizeof line, "%15s", Cell(row, name).c_str());
      Print(line);
    }
    Print("\n");
  }
}

int Run(Arguments& arguments) {
  std::unique_ptr<DB> db;
  Sample sample;
  const Status status = ReadUntilNotBusy(arguments.directory, &db, [&](DB& opened) {
    sample = {};
    return Read(dynamic_cast<db::DbImpl&>(opened), arguments.entries, &sample);
  });
  if (!status.ok()) return db == nullptr ? Fail(status) : Finish(*db, Fail(status));
  const nlohmann::ordered_json blocks = BlocksJson(sample), bloom = BloomJson(sample), blob = BlobJson(sample);
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"entries_in_tables", sample.entries_all},
               {"entries_in_sample", sample.keys.count},
               {"unreadable_entries", sample.unreadable},
               {"keys", SizesJson(sample.keys)},
               {"values", SizesJson(sample.values)},
               {"block_sizes", blocks},
               {"bloom_filters", bloom},
               {"blob_thresholds", blob}},
              2);
    return Finish(*db, kOk);
  }
  Print(std::to_string(sample.keys.count) + " entries of all keyspaces were read; the tables hold " +
        std::to_string(sample.entries_all) + ". Sizes below are for all of them.\n\n");
  if (sample.unreadable > 0) {
    Print("Left out, since the value cannot be read: " + PrintCount(sample.unreadable, "entry", "entries") +
          ". `mergedb scan DIR` says why.\n\n");
  }
  PrintSizes("keys", sample.keys);
  PrintSizes("values", sample.values);
  PrintRows("Tables by block size (option block_bytes) and codec (option compression). A get reads one block.", blocks,
            {{"block_bytes", "block, bytes"},
             {"raw_bytes", "raw"},
             {"snappy_bytes", "snappy"},
             {"lz4_bytes", "lz4"},
             {"zstd_bytes", "zstd"},
             {"index_bytes", "index"}});
  PrintRows("Bloom filters (option bloom_bits_per_key). Of the gets of absent keys, this share reads a block in vain.",
            bloom, {{"bits_per_key", "bits"}, {"filter_bytes", "filters"}, {"false_positives", "in vain"}});
  PrintRows(
      "Blob files (option blob_value_bytes_min). A compaction rewrites tables, and leaves values in blob files alone.",
      blob,
      {{"blob_value_bytes_min", "bytes"},
       {"values_in_blob_files", "large values"},
       {"blob_bytes", "blob files"},
       {"table_bytes_raw", "tables, raw"}});
  return Finish(*db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "estimate DIR [--entries N] [--json]",
               .description = "Estimate what other settings would cost for the data of a database",
               .footer = "Prints the sizes of keys and values, and what block sizes, codecs, bloom filters and blob "
                         "thresholds would give.\n"
                         "Reads about N entries of all keyspaces, from the whole range of keys. "
                         "The share of large values among small ones can be wrong by half; with N above the number of "
                         "entries, all are read, and it is exact.\n"
                         "The database is opened read-only and may be open elsewhere.",
               .examples = {"mergedb estimate /srv/data",
                            "mergedb estimate /srv/data --entries 10000000 --json | jq .block_sizes"}},
              Run);
  verb->add_flag("--json", arguments.is_json, "Print one JSON object");
  verb->add_option("--entries", arguments.entries, "Read about this many entries; default: 200000")
      ->type_name("N")
      ->check(IntegerFrom(1));
}

}  // namespace mergedb::tool::estimate_verb
