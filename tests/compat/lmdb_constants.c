/* Prints every constant, layout and text of lmdb.h: with LMDB's header and with mergedb's header the output is the same
 * (lmdb_test.py compares). */
#include <lmdb.h>
#include <stddef.h>
#include <stdio.h>

#define SHOW(name) printf(#name " %ld\n", (long)(name))

int main(void) {
  SHOW(MDB_VERSION_FULL);
  printf("%s\n", MDB_VERSION_STRING);
  SHOW(MDB_FIXEDMAP);
  SHOW(MDB_NOSUBDIR);
  SHOW(MDB_NOSYNC);
  SHOW(MDB_RDONLY);
  SHOW(MDB_NOMETASYNC);
  SHOW(MDB_WRITEMAP);
  SHOW(MDB_MAPASYNC);
  SHOW(MDB_NOTLS);
  SHOW(MDB_NOLOCK);
  SHOW(MDB_NORDAHEAD);
  SHOW(MDB_NOMEMINIT);
  SHOW(MDB_REVERSEKEY);
  SHOW(MDB_DUPSORT);
  SHOW(MDB_INTEGERKEY);
  SHOW(MDB_DUPFIXED);
  SHOW(MDB_INTEGERDUP);
  SHOW(MDB_REVERSEDUP);
  SHOW(MDB_CREATE);
  SHOW(MDB_NOOVERWRITE);
  SHOW(MDB_NODUPDATA);
  SHOW(MDB_CURRENT);
  SHOW(MDB_RESERVE);
  SHOW(MDB_APPEND);
  SHOW(MDB_APPENDDUP);
  SHOW(MDB_MULTIPLE);
  SHOW(MDB_CP_COMPACT);
  SHOW(MDB_FIRST);
  SHOW(MDB_FIRST_DUP);
  SHOW(MDB_GET_BOTH);
  SHOW(MDB_GET_BOTH_RANGE);
  SHOW(MDB_GET_CURRENT);
  SHOW(MDB_GET_MULTIPLE);
  SHOW(MDB_LAST);
  SHOW(MDB_LAST_DUP);
  SHOW(MDB_NEXT);
  SHOW(MDB_NEXT_DUP);
  SHOW(MDB_NEXT_MULTIPLE);
  SHOW(MDB_NEXT_NODUP);
  SHOW(MDB_PREV);
  SHOW(MDB_PREV_DUP);
  SHOW(MDB_PREV_NODUP);
  SHOW(MDB_SET);
  SHOW(MDB_SET_KEY);
  SHOW(MDB_SET_RANGE);
  SHOW(MDB_PREV_MULTIPLE);
  SHOW(MDB_SUCCESS);
  SHOW(MDB_KEYEXIST);
  SHOW(MDB_NOTFOUND);
  SHOW(MDB_PAGE_NOTFOUND);
  SHOW(MDB_CORRUPTED);
  SHOW(MDB_PANIC);
  SHOW(MDB_VERSION_MISMATCH);
  SHOW(MDB_INVALID);
  SHOW(MDB_MAP_FULL);
  SHOW(MDB_DBS_FULL);
  SHOW(MDB_READERS_FULL);
  SHOW(MDB_TLS_FULL);
  SHOW(MDB_TXN_FULL);
  SHOW(MDB_CURSOR_FULL);
  SHOW(MDB_PAGE_FULL);
  SHOW(MDB_MAP_RESIZED);
  SHOW(MDB_INCOMPATIBLE);
  SHOW(MDB_BAD_RSLOT);
  SHOW(MDB_BAD_TXN);
  SHOW(MDB_BAD_VALSIZE);
  SHOW(MDB_BAD_DBI);
  SHOW(MDB_LAST_ERRCODE);
  SHOW(sizeof(MDB_val));
  SHOW(offsetof(MDB_val, mv_data));
  SHOW(sizeof(MDB_stat));
  SHOW(offsetof(MDB_stat, ms_depth));
  SHOW(offsetof(MDB_stat, ms_branch_pages));
  SHOW(offsetof(MDB_stat, ms_leaf_pages));
  SHOW(offsetof(MDB_stat, ms_overflow_pages));
  SHOW(offsetof(MDB_stat, ms_entries));
  SHOW(sizeof(MDB_envinfo));
  SHOW(offsetof(MDB_envinfo, me_mapsize));
  SHOW(offsetof(MDB_envinfo, me_last_pgno));
  SHOW(offsetof(MDB_envinfo, me_last_txnid));
  SHOW(offsetof(MDB_envinfo, me_maxreaders));
  SHOW(offsetof(MDB_envinfo, me_numreaders));
  SHOW(sizeof(MDB_dbi));
  SHOW(sizeof(mdb_mode_t));
  SHOW(sizeof(mdb_filehandle_t));
  return 0;
}
