// The C interface of traces.
#include "mergedb/trace.h"

#include "c/interface.h"
#include "c/options.h"

using namespace mergedb;
using namespace mergedb::c;

extern "C" {

mergedb_code mergedb_start_trace(mergedb_db db, const char* path, const mergedb_trace_options* options,
                                 mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(path, "path"));
    TraceOptions decoded;
    RETURN_IF_ERROR(DecodeTraceOptions(options, &decoded));
    return database.db().StartTrace(path, decoded);
  });
}

mergedb_code mergedb_end_trace(mergedb_db db, mergedb_trace_report* report, mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    if (report != nullptr)
      RETURN_IF_ERROR(CheckRoom(report->struct_size, sizeof(mergedb_trace_report), "mergedb_trace_report"));
    TraceReport made;
    Status status = database.db().EndTrace(&made);
    if (report != nullptr) {
      *report = {.struct_size = report->struct_size,
                 .operations = made.operations,
                 .lost = made.lost,
                 .bytes = made.bytes,
                 .is_full = made.is_full ? 1 : 0};
    }
    return status;
  });
}

}  // extern "C"
