#include "line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mergedb::tool {

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

// As read(2), again after a signal.
ssize_t ReadSome(int descriptor, char* out, size_t bytes) {
  for (;;) {
    const ssize_t got = read(descriptor, out, bytes);
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace

LineReader::LineReader(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)), buffer_(new char[kBufferBytes]) {}

LineReader::~LineReader() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

Result<std::unique_ptr<LineReader>> LineReader::Open(const std::optional<std::string>& path) {
  const bool is_stdin = !path || *path == "-";
  const std::string name = is_stdin ? "stdin" : *path;
  const int descriptor = is_stdin ? STDIN_FILENO : open(path->c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Status::IOError(name + ": cannot be opened: " + std::strerror(errno));
  std::unique_ptr<LineReader> reader(new LineReader(descriptor, name));
  struct stat about {};
  if (fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode))
    return Status::IOError(name + ": a directory; expected a file with the output of dump or scan");
  RETURN_IF_ERROR(reader->Fill());
  return reader;
}

std::string LineReader::Where() const {
  return name_ + ": line " + std::to_string(line_) + ", offset " + std::to_string(offset_);
}

Status LineReader::Fail(std::string_view what) const {
  return Status::InvalidArgument(name_ + ": line " + std::to_string(line_) + ": " + std::string(what));
}

Status LineReader::Fill() {
  const ssize_t got = ReadSome(descriptor_, buffer_.get(), kBufferBytes);
  if (got < 0) return Status::IOError(Where() + ": cannot be read: " + std::strerror(errno));
  begin_ = 0;
  end_ = static_cast<size_t>(got);
  return {};
}

Result<bool> LineReader::Next(std::string* line, const LineBound& bound) {
  ++line_;
  if (put_back_) {
    *line = *std::exchange(put_back_, std::nullopt);
    return true;
  }
  line->clear();
  for (bool is_marked = bound.mark == '\0';;) {
    if (begin_ == end_) RETURN_IF_ERROR(Fill());
    if (begin_ == end_ && line->empty()) return false;
    if (begin_ == end_) {
      return Status::InvalidArgument(Where() +
                                     ": the last line has no newline, so the input may be cut; if the line is "
                                     "complete, add a newline");
    }
    const char* const from = buffer_.get() + begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const size_t bytes = newline == nullptr ? end_ - begin_ : static_cast<size_t>(newline - from);
    const size_t looked_at = line->size();
    line->append(from, bytes);
    begin_ += bytes;
    offset_ += bytes;
    if (line->size() > bound.bytes_max) {
      return Status::InvalidArgument(Where() + ": a line of more than " + std::to_string(bound.bytes_max) +
                                     " bytes, which is larger than the largest entry");
    }
    is_marked = is_marked || line->find(bound.mark, looked_at) != std::string::npos;
    if (!is_marked && line->size() > bound.mark_within) {
      return Status::InvalidArgument(Where() + ": expected " +
                                     (bound.mark == '\t' ? "a tab" : std::string(1, bound.mark)) +
                                     " within the first " + std::to_string(bound.mark_within) + " bytes of the line");
    }
    if (newline == nullptr) continue;
    ++begin_;
    ++offset_;
    return true;
  }
}

void LineReader::PutBack(std::string line) {
  put_back_ = std::move(line);
  --line_;
}

Result<std::string> ReadStdin(size_t bytes_max) {
  std::string all;
  const std::unique_ptr<char[]> buffer(new char[kBufferBytes]);
  for (;;) {
    const ssize_t got = ReadSome(STDIN_FILENO, buffer.get(), kBufferBytes);
    if (got < 0) {
      return Status::IOError("stdin: offset " + std::to_string(all.size()) +
                             ": cannot be read: " + std::strerror(errno));
    }
    if (got == 0) return all;
    all.append(buffer.get(), static_cast<size_t>(got));
    if (all.size() > bytes_max) {
      return Status::InvalidArgument("stdin: more than " + std::to_string(bytes_max) +
                                     " bytes, the size of the largest value");
    }
  }
}

}  // namespace mergedb::tool
