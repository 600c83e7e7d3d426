// Applies a VersionEdit to a Version. Pure. An edit that does not fit is Corruption, for example if virtual
// tables would overlap or a table would show no key. The caller adds the context, such as the file's path.
//
// WHY a cut or a level of a run that does not exist is no error: a compaction works from the smallest key to the
// largest. It still cuts "all keys up to the current one" from an input run that is already empty and removed.
//
// An edit adds blob files explicitly. A blob file leaves the Version when no remaining table refers to it.
//
// Only the runs that the edit names are rebuilt. The result shares the other runs with `base`.
#pragma once

#include "format/version_edit.h"
#include "kv/order.h"
#include "mergedb/result.h"
#include "version/version.h"

namespace mergedb::version {

Result<VersionPtr> ApplyEdit(const kv::Order& order, const Version& base, const format::VersionEdit& edit);
// The edit that makes `version` from an empty one. It contains only adds. A new MANIFEST begins with it.
format::VersionEdit VersionEditFromEmpty(const Version& version);

}  // namespace mergedb::version
