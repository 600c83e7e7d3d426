// Version + Edits -> Version. Pure. An edit that does not fit (slices that would overlap, a table that shows nothing) is
// Corruption when it comes from disk; the caller knows where from.
//
// WHY a cut or a level of a run that is not there is no error: a job works through its sources from the smallest key to the
// largest, and a source whose last key is reached is gone while the job goes on cutting "everything up to my cursor".
//
// Value files are added by name and leave by themselves, when no table that is left refers to them.
//
// Only the runs that the edit names are rebuilt; the others are shared with `base`.
#pragma once

#include <vector>

#include "format/version_edit.h"
#include "kv/order.h"
#include "mergedb/result.h"
#include "version/version.h"

namespace mergedb::version {

Result<VersionPtr> ApplyEdit(const kv::Order& order, const Version& base, const format::VersionEdit& edit);
// The one edit (adds only) that makes `version` from nothing; for a new MANIFEST.
format::VersionEdit VersionEditFromEmpty(const Version& version);

}  // namespace mergedb::version
