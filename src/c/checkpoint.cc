// The C interface of checkpoints.
#include "mergedb/checkpoint.h"

#include "c/interface.h"
#include "c/options.h"

using namespace mergedb;
using namespace mergedb::c;

extern "C" {

mergedb_code mergedb_checkpoint(mergedb_db db, const char* target, const mergedb_checkpoint_options* options,
                                mergedb_checkpoint_report* report, mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(target, "target"));
    if (report != nullptr)
      RETURN_IF_ERROR(CheckRoom(report->struct_size, sizeof(mergedb_checkpoint_report), "mergedb_checkpoint_report"));
    CheckpointOptions decoded;
    RETURN_IF_ERROR(DecodeCheckpointOptions(options, &decoded));
    const CallbackScope in_callback(db);
    ASSIGN_OR_RETURN(const CheckpointReport made, Checkpoint(database.db(), target, decoded));
    if (report == nullptr) return Status::Ok();
    *report = {.struct_size = report->struct_size,
               .files = made.files,
               .linked = made.linked,
               .copied = made.copied,
               .kept = made.kept,
               .bytes = made.bytes,
               .sequence = made.sequence};
    return Status::Ok();
  });
}

}  // extern "C"
