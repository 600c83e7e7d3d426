// Replay: follows the chain from its start, taking each frame from the WAL buffer or from the segments, and
// then decides whether the end of the chain is the end of the WAL.
//
//     frame, frame, frame, X ............. is there a frame above X that belongs to this epoch?
//                                            no:  the WAL ends here
//                                            yes: does it say that X was durable?   no: a torn tail, the prefix is kept
//                                                                                   yes: damage, Corruption
//
// WHY the buffer before the segments: if both hold a frame at a position, the frames are equal, with one exception:
// a segment may hold the rest of a large frame whose write failed, and the frame in the buffer has replaced it.
#include "wal/replay.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "format/file_name.h"
#include "wal/displaced_frames.h"
#include "wal/frame.h"
#include "wal/replay_input.h"

namespace mergedb::wal {

namespace {

constexpr uint64_t kPieceBytes = 512;  // a power cut leaves each such piece old or new
constexpr size_t kSurveyBytes = size_t{256} << 10;

struct Frame {
  FrameHeader header;
  std::string_view payload;
};

// The frames above the point where the chain breaks.
struct Survey {
  uint64_t frames = 0;
  uint64_t end = 0;      // of the last of them
  uint64_t durable = 0;  // the largest durable position that one of them carries
  uint64_t witness = 0;  // the position of that frame
};

class Replayer {
 public:
  Replayer(FileSystem* file_system, const std::string& directory, const Origin& origin, const Expected& expected)
      : file_system_(file_system),
        directory_(directory),
        database_id_(origin.database_id),
        epoch_(origin.epoch),
        salt_crc_(origin.salt_crc),
        expected_(expected),
        buffer_(file_system, directory, expected.staging_bytes) {
    replayed_.end = origin.start;
    direct_end_ = origin.start.position;
    if (replayed_.end.position == 0) replayed_.end.chain = salt_crc_;
  }

  // With `flaws`, damage of files is noted there; without, the first such status is returned.
  // WHY LoadBuffer comes first: a writer may be active (db/open_read_only.cc). It removes bytes from the buffer
  // only after they are in segments.
  Status LoadBuffer(std::vector<Status>* flaws);
  Status OpenSegments(std::vector<Status>* flaws);
  Status Walk(const ApplyFrame& apply);
  Status Judge();
  void SurveyAbove(Salvaged* salvaged);
  void Locate(Salvaged* salvaged) const;
  Replayed Take() { return std::move(replayed_); }

 private:
  Status OpenSegment(kv::FileNumber number, bool is_expected);
  bool FromBuffer(Frame* frame);
  Result<bool> FromSegments(Frame* frame);
  bool HeaderFits(const char* bytes) const;
  bool CrcFits(std::string_view bytes, Frame* frame) const;
  void SurveyBytes(std::string_view bytes, uint64_t position, Survey* survey) const;
  Status SurveySegments(Survey* survey);
  void SurveyBuffer(Survey* survey);
  bool FitsWithAByteChanged(std::string_view bytes) const;
  Status ReportDamagedHeader();
  Status ReportMovedFrames(bool* is_found);
  bool BufferHoldsMore();
  Result<bool> BufferHoldsAHeader();

  uint64_t position() const { return replayed_.end.position; }

  FileSystem* const file_system_;
  const std::string& directory_;
  const uint64_t database_id_;
  const uint64_t epoch_;
  const uint32_t salt_crc_;
  const Expected& expected_;
  SegmentBytes segments_;
  BufferBytes buffer_;
  Replayed replayed_;
  bool last_is_from_buffer_ = false;  // the last replayed frame
  uint64_t direct_end_ = 0;           // end of the last frame that bypassed the buffer, or the start of replay
};

// Busy is not damage: no file descriptor is left, and the file may be whole.
Status Note(Status status, std::vector<Status>* flaws) {
  if (flaws == nullptr || status.ok() || status.IsBusy()) return status;
  flaws->push_back(std::move(status));
  return {};
}

Status Replayer::LoadBuffer(std::vector<Status>* flaws) { return Note(buffer_.Load(), flaws); }

Status Replayer::OpenSegments(std::vector<Status>* flaws) {
  const std::vector<kv::FileNumber>& expected = expected_.segments;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system_->List(directory_));
  std::vector<kv::FileNumber> found;
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (parsed && parsed->kind == format::FileKind::kSegment) found.push_back(parsed->number);
  }
  std::sort(found.begin(), found.end());
  for (const kv::FileNumber number : expected) {
    if (std::binary_search(found.begin(), found.end(), number)) continue;
    const std::string path = format::SegmentPath(directory_, number);
    RETURN_IF_ERROR(Note(Status::Corruption(path + ": the MANIFEST lists this WAL segment, but it is missing"), flaws));
  }
  for (const kv::FileNumber number : found) {
    const bool is_expected = std::find(expected.begin(), expected.end(), number) != expected.end();
    RETURN_IF_ERROR(Note(OpenSegment(number, is_expected), flaws));
  }
  return {};
}

Status Replayer::OpenSegment(kv::FileNumber number, bool is_expected) {
  const std::string path = format::SegmentPath(directory_, number);
  auto file = file_system_->Open(path, {.access = Access::kRead});
  if (!file && file.error().IsNotFound() && !is_expected)
    return {};  // a writer has just removed it (db/open_read_only.cc)
  if (!file) return std::move(file).error();
  char block[kBlockBytes];
  size_t got = 0;
  RETURN_IF_ERROR((*file)->ReadAt(0, sizeof block, block, &got));
  const auto head = LoadSegmentHead({block, got});
  if (!head) {
    if (is_expected || !head.error().IsCorruption()) return head.error().WithContext(path);
    replayed_.segments.push_back(number);  // a crash while it was made: it belongs to this database and is empty
    return {};
  }
  if (head->database_id != database_id_) {
    if (is_expected) return Status::Corruption(path + ": a segment of another database");
    return {};  // of another database: not to be reused
  }
  replayed_.segments.push_back(number);
  const bool is_ours = head->generation != 0 && head->epoch == epoch_ && head->salt_crc == salt_crc_;
  if (!is_ours) return {};
  // A segment that is not appended is written in full and synced before its use: a crash never shortens it.
  ASSIGN_OR_RETURN(const uint64_t bytes, (*file)->Size());
  RETURN_IF_ERROR(segments_.Add(number, *head, std::move(*file)));
  if (head->is_appended || bytes >= kBlockBytes + head->capacity) return {};
  return Status::Corruption(path + ": " + std::to_string(bytes) + " bytes, expected " +
                            std::to_string(kBlockBytes + head->capacity) + " (truncated?)");
}

Status Replayer::Walk(const ApplyFrame& apply) {
  for (;;) {
    Frame frame;
    bool is_found = FromBuffer(&frame);
    const bool is_from_buffer = is_found;
    if (!is_found) { ASSIGN_OR_RETURN(is_found, FromSegments(&frame)); }
    if (!is_found) return {};
    RETURN_IF_ERROR(apply(frame.header.sequence, frame.payload));
    replayed_.end = {.position = position() + FrameBytes(frame.payload.size()),
                     .chain = frame.header.crc,
                     .sequence = frame.header.sequence + 1};
    last_is_from_buffer_ = is_from_buffer;
    if (FrameBytes(frame.payload.size()) > buffer_.size() / 4) direct_end_ = position();
    ++replayed_.frames;
  }
}

// True if the header can follow the end of the chain. The caller checks that its payload exists.
bool Replayer::HeaderFits(const char* bytes) const {
  const FrameHeader header = LoadFrameHeader(bytes);
  return header.length <= kPayloadBytesMax && header.sequence >= replayed_.end.sequence &&
         header.sequence <= kv::kSequenceMax && HeaderBelongs(bytes, salt_crc_, position());
}

// `bytes`: header and payload.
bool Replayer::CrcFits(std::string_view bytes, Frame* frame) const {
  frame->header = LoadFrameHeader(bytes.data());
  frame->payload = bytes.substr(kFrameHeaderBytes);
  return FrameCrc(replayed_.end.chain, bytes.data(), bytes.size()) == frame->header.crc;
}

bool Replayer::FromBuffer(Frame* frame) {
  std::string_view bytes = buffer_.Read(position(), kFrameHeaderBytes);
  if (bytes.empty() || !HeaderFits(bytes.data())) return false;
  const size_t total = kFrameHeaderBytes + LoadFrameHeader(bytes.data()).length;
  if (total > buffer_.size()) return false;
  return CrcFits(buffer_.Read(position(), total), frame);
}

Result<bool> Replayer::FromSegments(Frame* frame) {
  std::string_view bytes;
  RETURN_IF_ERROR(segments_.Read(position(), kFrameHeaderBytes, &bytes));
  if (bytes.size() < kFrameHeaderBytes || !HeaderFits(bytes.data())) return false;
  const size_t total = kFrameHeaderBytes + LoadFrameHeader(bytes.data()).length;
  RETURN_IF_ERROR(segments_.Read(position(), total, &bytes));
  return bytes.size() == total && CrcFits(bytes, frame);
}

// Collects every frame of this epoch in `bytes` (the stream from `position` on), no matter which frame is
// before it. Checks the sequence first: that is cheap, and old bytes of an earlier lap or use fail it.
void Replayer::SurveyBytes(std::string_view bytes, uint64_t position, Survey* survey) const {
  size_t i = 0;
  while (i + kFrameHeaderBytes <= bytes.size()) {
    const char* at = bytes.data() + i;
    const kv::Sequence sequence = base::LoadFixed64(at + 16);
    const bool is_plausible = sequence >= replayed_.end.sequence && sequence <= kv::kSequenceMax;
    if (!is_plausible || !HeaderBelongs(at, salt_crc_, position + i)) {
      i += 8;
      continue;
    }
    const FrameHeader header = LoadFrameHeader(at);
    const uint64_t frame_bytes = FrameBytes(std::min<uint64_t>(header.length, kPayloadBytesMax));
    const uint64_t durable = DurableMark(header, position + i);
    ++survey->frames;
    survey->end = std::max(survey->end, position + i + frame_bytes);
    if (durable > survey->durable) {
      survey->durable = durable;
      survey->witness = position + i;
    }
    i += std::min<uint64_t>(frame_bytes, bytes.size() - i);
  }
}

Status Replayer::SurveySegments(Survey* survey) {
  uint64_t at = segments_.NextHeld(position());
  while (at != UINT64_MAX) {
    std::string_view bytes;
    RETURN_IF_ERROR(segments_.Read(RoundUp(at, 8), kSurveyBytes, &bytes));
    SurveyBytes(bytes, RoundUp(at, 8), survey);
    // Windows overlap by one header. After a short read, continue after the gap.
    const uint64_t step = bytes.size() == kSurveyBytes ? kSurveyBytes - kFrameHeaderBytes : bytes.size() + 8;
    at = segments_.NextHeld(RoundUp(at, 8) + step);
  }
  return {};
}

// The buffer does not say which lap its bytes belong to, so each position that it could hold is tried, one
// lap at a time. The buffer holds at most size() bytes that no segment holds: frames in it lie at most that
// far above the end of the chain, or above bytes in a segment.
// WHY not up to the limit of the files: a forged head may name a start that would take years to reach.
void Replayer::SurveyBuffer(Survey* survey) {
  if (buffer_.size() == 0) return;
  const uint64_t step = std::min<uint64_t>(kSurveyBytes, buffer_.size() / 2);
  uint64_t at = RoundUp(position(), 8);
  uint64_t until = at + buffer_.size();
  for (;; at += step) {
    const uint64_t held = segments_.NextHeld(at);
    if (at >= until && held == UINT64_MAX) return;
    if (at >= until) at = RoundUp(held, 8);
    if (held < at + step) until = std::max(until, at + step + buffer_.size());
    SurveyBytes(buffer_.Read(at, std::min(step + kFrameHeaderBytes, until - at)), at, survey);
  }
}

// True if changing one byte makes `bytes` a header that follows the chain: then a frame began here and was damaged.
bool Replayer::FitsWithAByteChanged(std::string_view bytes) const {
  if (bytes.size() < kFrameHeaderBytes) return false;
  char header[kFrameHeaderBytes];
  std::memcpy(header, bytes.data(), sizeof header);
  for (char& byte : header) {
    const char found = byte;
    for (int change = 1; change < 256; ++change) {
      byte = static_cast<char>(found ^ change);
      if (HeaderFits(header)) return true;
    }
    byte = found;
  }
  return false;
}

// Reports a damaged header at the end of the chain, if no frame is above it.
Status Replayer::ReportDamagedHeader() {
  std::string_view bytes;
  if (FitsWithAByteChanged(buffer_.Read(position(), kFrameHeaderBytes))) {
    replayed_.dropped_bytes = kFrameHeaderBytes;
    replayed_.report =
        "STAGING: WAL position " + std::to_string(position()) + ": the header of the last frame is damaged";
    return {};
  }
  RETURN_IF_ERROR(segments_.Read(position(), kFrameHeaderBytes, &bytes));
  if (bytes.size() < kFrameHeaderBytes) return {};
  const FrameHeader header = LoadFrameHeader(bytes.data());
  // WHY so exact: after the end of a recycled segment stand frames of an older epoch, and any eight of their
  // bytes may look like a sequence.
  const bool follows = header.sequence == replayed_.end.sequence && header.undurable <= position();
  const bool is_like_one =
      position() % kBlockBytes != 0 && follows && header.length <= kPayloadBytesMax && header.crc != 0;
  if (!is_like_one && !FitsWithAByteChanged(bytes)) return {};
  replayed_.dropped_bytes = kFrameHeaderBytes;
  replayed_.report = segments_.Describe(position()) + ": the header of the last frame is damaged";
  return {};
}

// True if the bytes at the end of the chain differ from those before a frame began there. A kill during an
// Append leaves at most the first words of a header, because the sequence is stored last. Before the Append
// these bytes were zeros, or the bytes of the lap before, which segments may hold.
// WHY, in a later lap, only if the last frame is from the buffer and ends in the same piece of 512 bytes: after a
// power cut other pieces may be old.
// WHY not near a large frame: it bypassed the buffer.
// WHY the caller asks only if the MANIFEST expects STAGING: otherwise an open may have been killed while it
// began this epoch, and the file is still that of the epoch before.
Result<bool> Replayer::BufferHoldsAHeader() {
  const auto differs = [&](std::string_view before) {
    const std::string_view here = buffer_.Read(position(), kFrameHeaderBytes);
    const auto word = [](std::string_view bytes, size_t at) { return base::LoadFixed64(bytes.data() + at); };
    return word(here, 0) != word(before, 0) && word(here, 16) != word(before, 16);
  };
  if (position() + kFrameHeaderBytes <= buffer_.size()) return differs(std::string(kFrameHeaderBytes, '\0'));
  const bool is_same_piece = (position() - 1) / kPieceBytes == (position() + kFrameHeaderBytes - 1) / kPieceBytes;
  if (!is_same_piece || !last_is_from_buffer_ || position() < buffer_.size() + direct_end_) return false;
  std::string_view before;
  RETURN_IF_ERROR(segments_.Read(position() - buffer_.size(), kFrameHeaderBytes, &before));
  return before.size() == kFrameHeaderBytes && differs(before);
}

bool Replayer::BufferHoldsMore() {
  const uint64_t before = std::min({position(), kDisplacedBytesMax, buffer_.size() / 2});
  const auto [front, back] = buffer_.ReadAll(position() - before);
  if (HoldsDisplacedFrame(front, back, position() - before, replayed_.end, salt_crc_)) return true;
  return HoldsSplitHeader(buffer_.Read(position(), std::min<uint64_t>(buffer_.size() / 2, kSurveyBytes)), replayed_.end,
                          salt_crc_);
}

// Reports frames that are away from their position because bytes were inserted or removed. They are lost as well.
Status Replayer::ReportMovedFrames(bool* is_found) {
  std::string where = "STAGING: WAL position " + std::to_string(position());
  *is_found = buffer_.size() > 0 && BufferHoldsMore();
  if (!*is_found && buffer_.size() > 0 && expected_.staging_bytes) {
    ASSIGN_OR_RETURN(*is_found, BufferHoldsAHeader());
  }
  if (!*is_found) {
    std::string_view bytes;
    RETURN_IF_ERROR(segments_.Read(position(), kSurveyBytes, &bytes));
    *is_found = HoldsDisplacedFrame(bytes, position(), replayed_.end, salt_crc_) ||
                HoldsSplitHeader(bytes, replayed_.end, salt_crc_);
    where = segments_.Describe(position());
  }
  if (!*is_found) return {};
  replayed_.dropped_bytes = kFrameHeaderBytes;
  replayed_.report =
      where + ": damaged: a frame at or behind it is not where it was written; dropped all frames from there on";
  return {};
}

Status Replayer::Judge() {
  const std::optional<uint64_t> clean_end = expected_.clean_end;
  const uint64_t durable_position = expected_.durable_position;
  const auto damaged = [&](const std::string& why) {
    return Status::Corruption(directory_ + ": WAL damaged at " + segments_.Describe(position()) + ": " + why);
  };
  if (clean_end && *clean_end != position())
    return damaged("the WAL was closed at position " + std::to_string(*clean_end));
  if (position() < durable_position)
    return damaged("the WAL was durable up to position " + std::to_string(durable_position));
  if (clean_end) return {};
  Survey survey;
  RETURN_IF_ERROR(SurveySegments(&survey));
  SurveyBuffer(&survey);
  if (survey.durable > position()) {
    return damaged("the frame at position " + std::to_string(survey.witness) +
                   " records that the WAL was durable up to position " + std::to_string(survey.durable));
  }
  if (survey.frames == 0) {
    bool is_found = false;
    RETURN_IF_ERROR(ReportMovedFrames(&is_found));
    return is_found ? Status() : ReportDamagedHeader();
  }
  replayed_.dropped_bytes = survey.end - position();
  replayed_.report = "torn tail at " + segments_.Describe(position()) + ": dropped " +
                     std::to_string(replayed_.dropped_bytes) + " bytes that were never made durable";
  return {};
}

void Replayer::SurveyAbove(Salvaged* salvaged) {
  Survey survey;
  (void)SurveySegments(&survey);  // as far as they can be read
  SurveyBuffer(&survey);
  salvaged->frames_beyond = survey.frames;
  salvaged->beyond_end = survey.end;
}

void Replayer::Locate(Salvaged* salvaged) const {
  const auto place = segments_.Locate(replayed_.end.position);
  salvaged->end_is_in_segment = place.has_value();
  salvaged->break_file = place ? format::PrintFileName(format::FileKind::kSegment, place->number)
                               : format::PrintFileName(format::FileKind::kStaging);
  salvaged->break_offset = place ? place->offset : 0;
}

}  // namespace

Result<Replayed> Replay(FileSystem* file_system, const std::string& directory, uint64_t database_id,
                        const format::VersionEdit::WalStart& start, const Expected& expected, const ApplyFrame& apply) {
  if (start.position > kPositionMax)
    return Status::Corruption("impossible start of the WAL: " + std::to_string(start.position));
  Replayer replayer(file_system, directory, OriginOf(database_id, start), expected);
  RETURN_IF_ERROR(replayer.LoadBuffer(nullptr));
  RETURN_IF_ERROR(replayer.OpenSegments(nullptr));
  RETURN_IF_ERROR(replayer.Walk(apply));
  RETURN_IF_ERROR(replayer.Judge());
  return replayer.Take();
}

Result<Salvaged> Salvage(FileSystem* file_system, const std::string& directory, const Origin& origin,
                         const Expected& expected, const ApplyFrame& apply, const std::function<void()>& on_loaded) {
  Salvaged salvaged;
  if (origin.start.position > kPositionMax) {
    salvaged.verdict = Status::Corruption("impossible start of the WAL: " + std::to_string(origin.start.position));
    return salvaged;
  }
  Replayer replayer(file_system, directory, origin, expected);
  RETURN_IF_ERROR(replayer.LoadBuffer(&salvaged.flaws));
  RETURN_IF_ERROR(replayer.OpenSegments(&salvaged.flaws));
  if (on_loaded) on_loaded();
  Status failure;  // of `apply`
  salvaged.verdict = replayer.Walk([&](kv::Sequence sequence, std::string_view payload) {
    Status status = apply(sequence, payload);
    if (!status.ok() && !status.IsCorruption() && !status.IsNotSupported()) failure = status;
    return status;
  });
  if (!failure.ok()) return failure;
  if (salvaged.verdict.ok()) salvaged.verdict = replayer.Judge();
  replayer.Locate(&salvaged);
  if (!salvaged.verdict.ok()) replayer.SurveyAbove(&salvaged);
  salvaged.replayed = replayer.Take();
  return salvaged;
}

// WHY kReuse: another database may share the file by a hard link.
Result<uint64_t> GiveBackStaging(FileSystem* file_system, const std::string& directory, uint64_t start,
                                 const Replayed& replayed) {
  ASSIGN_OR_RETURN(const auto file, file_system->Open(format::FilePath(directory, format::FileKind::kStaging),
                                                      {.access = Access::kReuse}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const uint64_t begin = RoundDown(start, kBlockBytes);
  const uint64_t end = RoundUp(replayed.end.position, kBlockBytes);
  if (!std::has_single_bit(size) || end - begin >= size) return 0;
  for (uint64_t at = end; at < begin + size;) {
    const uint64_t bytes = std::min(begin + size - at, size - (at & (size - 1)));
    RETURN_IF_ERROR(file->Deallocate(at & (size - 1), bytes));
    at += bytes;
  }
  return begin + size - end;
}

}  // namespace mergedb::wal
