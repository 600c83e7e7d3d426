// Maps errno to Status. Only this file decides what an error of the operating system means to the database.
//
//     ENOENT                 NotFound          the file does not exist
//     ENOSPC EDQUOT EFBIG    NoSpace           goes away when space returns; writers try again by themselves
//     EMFILE ENFILE          Busy              goes away when descriptors are closed; nothing is damaged
//     EEXIST                 InvalidArgument   the caller chose a name that is taken
//     other errors           IOError           EIO, EROFS, EACCES, ELOOP (a symlink in the place of a file), ...
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::env {

// "db/000012.log: pwrite 4096 bytes at 8192: No space left on device".
Status PosixStatus(int error, std::string_view path, std::string_view what);
Status PosixStatus(int error, std::string_view path, std::string_view what, uint64_t bytes, uint64_t offset);

// Calls `call` again while a signal interrupts it: `const int fd = RetryOnSignal([&] { return open(...); });`
// WHY never for close: Linux has released the descriptor by then, and another thread may have it.
template <typename Call>
auto RetryOnSignal(Call&& call) {
  decltype(call()) returned;
  do {
    errno = 0;
    returned = call();
  } while (returned < 0 && errno == EINTR);
  return returned;
}

}  // namespace mergedb::env
