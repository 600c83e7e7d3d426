#include "trace/reader.h"

#include <algorithm>
#include <utility>

#include "env/file_reads.h"

namespace mergedb::trace {

Result<std::unique_ptr<Reader>> Reader::Open(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, files->Open(path, {.access = Access::kRead}));
  std::unique_ptr<Reader> reader(new Reader(std::move(file), path));
  if (Status status = reader->ReadHead(); !status.ok()) return status.WithContext(path);
  return reader;
}

Status Reader::ReadHead() {
  ASSIGN_OR_RETURN(file_bytes_, file_->Size());
  std::string bytes(std::min<uint64_t>(file_bytes_, kHeadBytesMax), '\0');
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), 0, bytes.size(), bytes.data()));
  size_t head_bytes = 0;
  ASSIGN_OR_RETURN(head_, DecodeHead(bytes, &head_bytes));
  offset_ = head_bytes;
  return {};
}

bool Reader::Fail(uint64_t offset, std::string_view what) {
  end_ = std::nullopt;
  status_ = Status::Corruption(path_ + ": at offset " + std::to_string(offset) + ": " + std::string(what) +
                               "; the operations before it are intact");
  return false;
}

bool Reader::Next(Operation* operation) {
  while (status_.ok()) {
    const size_t at = decoder_.offset();
    if (decoder_.Next(operation)) {
      if (end_) return Fail(payload_offset_ + at, "a record follows the end of the trace");
      if (operation->kind != OpKind::kEnd) return true;
      end_ = *operation;
      continue;
    }
    if (!decoder_.status().ok()) return Fail(payload_offset_ + at, decoder_.status().message());
    if (!ReadBlock()) return false;
  }
  return false;
}

// False at the end of the file, and at damage.
bool Reader::ReadBlock() {
  const uint64_t left = file_bytes_ - offset_;
  if (end_) return left == 0 ? false : Fail(offset_, "bytes follow the end of the trace");
  if (left == 0) return Fail(offset_, "the trace ends without its last record: it was cut, or its process was killed");
  if (left < kBlockHeadBytes) return Fail(offset_, "the trace is cut in the head of a block");
  std::string bytes(kBlockHeadBytes, '\0');
  status_ = env::ReadExactly(file_.get(), offset_, bytes.size(), bytes.data()).WithContext(path_);
  if (!status_.ok()) return false;
  const BlockHead head = DecodeBlockHead(bytes);
  if (head.payload_bytes > std::min<uint64_t>(left - kBlockHeadBytes, kPayloadBytesMax))
    return Fail(offset_, "a block of " + std::to_string(head.payload_bytes) + " bytes is cut, or its size is damaged");
  payload_.resize(head.payload_bytes);
  status_ =
      env::ReadExactly(file_.get(), offset_ + kBlockHeadBytes, payload_.size(), payload_.data()).WithContext(path_);
  if (!status_.ok()) return false;
  if (BlockCrc(head_.id, bytes, payload_) != head.crc) return Fail(offset_, "the checksum of a block does not match");
  if (head.number != number_) {
    return Fail(offset_, "expected block " + std::to_string(number_) + ", found block " + std::to_string(head.number));
  }
  ++number_;
  payload_offset_ = offset_ + kBlockHeadBytes;
  offset_ = payload_offset_ + payload_.size();
  decoder_ = BlockDecoder(payload_, head.base_micros);
  return true;
}

}  // namespace mergedb::trace
