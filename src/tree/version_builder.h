// Version + Edits -> Version. Pure. An edit that does not fit (a cut of a run that is not there, slices that would overlap)
// is Corruption when it comes from disk; the caller knows where from.
#pragma once

#include <vector>

#include "format/version_edit.h"
#include "kv/order.h"
#include "mergedb/result.h"
#include "tree/version.h"

namespace mergedb::tree {

Result<VersionPtr> ApplyEdit(const kv::Order& order, const Version& base, const format::Edit& edit);
// The one edit (adds only) that makes `version` from nothing; for a new MANIFEST.
format::Edit EditFromEmpty(const Version& version);

}  // namespace mergedb::tree
