/* The protocol of durability: what a write, a flush, a compaction, a commit of the MANIFEST and a recovery do to the
 * files, and what a kill and a power cut leave of them. docs/spec/README.md says which code is which step.
 *
 *     ./dev test spec                      all configurations, and all mutations
 *     scripts/spec.py one-crash-strict     one of them: the constants below
 *
 * The data is reduced to a number: write i makes the database hold the prefix 1..i. A frame, a table and a MANIFEST
 * record name the prefix that they reach. Each guarded command is one step of the disk or of memory; steps of the
 * writer, the WAL writer, the flush, the commit and the crash interleave in every way.
 *
 * MUT is the number of a mutation: one rule is broken, and the search must find an assertion that fails.
 */
#ifndef WRITES
#define WRITES 3   /* the prefix that all writes reach */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAULTS
#define FAULTS 1   /* syncs that fail */
#endif
#ifndef MUT
#define MUT 0
#endif
#define SLOTS 2    /* frames in the WAL buffer */
#define SEGS 2     /* WAL segments of one frame */
#define FILES 3    /* physical files for tables */
#ifndef NUMS
#define NUMS 4     /* numbers of tables, and 0 for none */
#endif

/* ---- files: `x` is what programs see; `xd` is what is durable. A kill leaves x. A power cut leaves, for each piece,
 * x or xd. A frame is epoch * 16 + position; 0: none. */
byte buf[SLOTS];                           /* STAGING, mapped */
bool kept[SLOTS];                          /* a power cut has left it, so the next one does */
byte seg[SEGS], segd[SEGS];
bool lies[SEGS];                           /* a sync of this segment failed: later ones report success without effect */
byte num[FILES], upto[FILES];              /* the content of a table: its number and its prefix; 0: torn */
byte numd[FILES], uptod[FILES];
byte dir[NUMS], dird[NUMS];                /* number -> physical file + 1; 0: no such name */
byte gone[NUMS];                           /* the number of the table whose creation took this name away */
byte mn, mf, me;                           /* the newest MANIFEST record: table, prefix, epoch */
byte dn, df, de;                           /* the durable one */
byte un, uf, ue;                           /* one whose sync failed: durable or not; ue 0: none */

/* ---- memory */
byte epoch = 1, next = 1;                  /* next: number of the next table */
byte end, acked, synced;                   /* prefix that is staged; acknowledged; acknowledged as durable */
byte written, released;                    /* prefix in segments; prefix that no replay needs */
byte cur, curf;                            /* the table of the SuperVersion and its prefix */
byte com;                                  /* the table that the durable MANIFEST names */
byte sus, sus2;                            /* tables that a MANIFEST of unknown outcome names */
byte cn, cf, cpc;                          /* the commit: its table, its prefix, its step */
bool cnew;                                 /* it begins an epoch */
bool wsync;                                /* a synced write waits */
byte fpc, fp, fm, fn;                      /* the flush: its step, file, prefix, number */
bool failed;                               /* the WAL takes no more frames */
bool recovering;
byte crashes, faults;

#define FRAME(e, i) ((e) * 16 + (i))
#define POS(frame) ((frame) % 16)
#define OF(frame) ((frame) / 16)

/* The slot of the next frame holds nothing that a replay needs and no segment has. */
#define HAS_ROOM (end < SLOTS || end + 1 - SLOTS <= written || end + 1 - SLOTS <= released || MUT == 1)
/* A segment is free if it has no frame of this epoch above the release. */
#define IS_FREE_SEGMENT(g) (seg[g] == 0 || OF(seg[g]) != epoch || POS(seg[g]) <= (MUT == 2 -> curf : released))
/* A physical file is held by every version that may be needed: the SuperVersion's, the MANIFEST's, one of unknown
 * outcome, and that of a commit on its way. */
#define HOLDS(n, p) ((n) != 0 && dir[n] == (p) + 1)
#define IS_HELD(p) (HOLDS(cur, p) || (MUT != 3 && HOLDS(com, p)) || (MUT != 4 && (HOLDS(sus, p) || HOLDS(sus2, p))) || (MUT != 5 && cpc != 0 && HOLDS(cn, p)))

byte i, j, r, g, ok, k;

/* The file of the version that a flush or a compaction makes: a new one, or a recycled one that is renamed. */
inline BeginTable(prefix) {
  i = 0;
  do
  :: i < FILES && !IS_HELD(i) -> break
  :: i < FILES - 1 -> i++
  od;
  if
  :: i < FILES && !IS_HELD(i) ->
     fp = i; fm = prefix; fn = next; next++;
     j = 1;
     do
     :: j < NUMS -> if :: dir[j] == fp + 1 -> dir[j] = 0; gone[j] = fn :: else fi; j++
     :: else -> break
     od;
     dir[fn] = fp + 1; num[fp] = 0; upto[fp] = 0;
     fpc = 1
  :: else
  fi; i = 0; j = 0
}

/* Nothing needs the frames up to the prefix of the commit, nor the files that no version holds: anything may overwrite
 * them from now on, so they count as lost at once. */
inline Release() {
  released = cf;
  if :: written < released -> written = released :: else fi;
  i = 0;
  do
  :: i < SLOTS -> if :: buf[i] != 0 && (OF(buf[i]) < epoch || POS(buf[i]) <= released) -> buf[i] = 0; kept[i] = false :: else fi; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < SEGS ->
     if :: seg[i] != 0 && (OF(seg[i]) < epoch || POS(seg[i]) <= released) -> seg[i] = 0; segd[i] = 0 :: else fi; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < FILES ->
     if
     :: IS_HELD(i) || (fpc != 0 && fp == i)
     :: else -> num[i] = 0; upto[i] = 0; numd[i] = 0; uptod[i] = 0
     fi; i++
  :: else -> break
  od; i = 0
}

/* What is left: x or xd of each piece. */
inline PowerCut() {
  i = 0;
  do
  :: i < SLOTS ->
     if
     :: buf[i] != 0 && !kept[i] -> if :: buf[i] = 0 :: kept[i] = true fi
     :: else
     fi; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < SEGS ->
     if :: seg[i] != segd[i] -> if :: seg[i] = segd[i] :: segd[i] = seg[i] fi :: else fi;
     lies[i] = false; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < FILES ->
     if
     :: num[i] == numd[i] && upto[i] == uptod[i]
     :: else -> if :: num[i] = numd[i]; upto[i] = uptod[i] :: skip :: num[i] = 0; upto[i] = 0 fi
     fi;
     numd[i] = num[i]; uptod[i] = upto[i]; i++
  :: else -> break
  od;
#ifdef JOURNALED
  /* A prefix of the operations on names; the creation of table k is the last one. */
  k = 0;
  do :: k < next - 1 -> k++ :: break od;
  i = 1;
  do
  :: i < NUMS ->
     if
     :: dir[i] == dird[i]
     :: dir[i] != dird[i] && dird[i] == 0 && i > k -> dir[i] = 0
     :: dir[i] != dird[i] && dird[i] != 0 && gone[i] > k -> dir[i] = dird[i]
     :: else
     fi;
     dird[i] = dir[i]; i++
  :: else -> break
  od;
#else
  /* Any operations on names. */
  i = 1;
  do
  :: i < NUMS -> if :: dir[i] != dird[i] -> if :: dir[i] = dird[i] :: dird[i] = dir[i] fi :: else fi; i++
  :: else -> break
  od;
#endif
  if
  :: mn != dn || mf != df || me != de -> mn = dn; mf = df; me = de
  :: ue != 0 -> mn = un; mf = uf; me = ue
  :: skip
  fi;
  dn = mn; df = mf; de = me;
  i = 1; do :: i < NUMS -> gone[i] = 0; i++ :: else -> break od;
  ue = 0; un = 0; uf = 0; i = 0; k = 0
}

/* The prefix that a recovery finds: the table, and the chain of frames behind it. */
inline Replay() {
  r = mf;
  do
  :: ok = 0; i = 0;
     do
     :: i < SLOTS -> if :: buf[i] == FRAME(me, r + 1) -> ok = 1 :: else fi; i++
     :: else -> break
     od;
     i = 0;
     do
     :: i < SEGS -> if :: seg[i] == FRAME(me, r + 1) -> ok = 1 :: else fi; i++
     :: else -> break
     od;
     if :: ok == 1 -> r++ :: else -> break fi
  od;
  i = 0; ok = 0
}

/* `least`: the prefix that was promised. */
inline Restart(least) {
  /* W1: the table that the MANIFEST names is there, and whole. */
  assert(mn == 0 || (dir[mn] != 0 && num[dir[mn] - 1] == mn && upto[dir[mn] - 1] == mf));
  Replay();
  assert(r >= least);
  epoch = me; cur = mn; curf = mf; com = mn;
  /* After a kill, the newest record of the MANIFEST may not be durable: the ones before count until the next commit. */
  sus = (MUT == 11 -> 0 : dn); sus2 = (MUT == 11 -> 0 : un);
  cpc = 0; cn = 0; cf = 0; cnew = false; fpc = 0; fp = 0; fm = 0; fn = 0;
  wsync = false; failed = false; recovering = true;
  end = r; acked = r; written = r; released = mf
}

active proctype Database() {
  me = 1; de = 1;  /* an empty database, epoch 1 */
  do
  /* ---- the writer */
  :: atomic { !recovering && !failed && !wsync && end < WRITES && HAS_ROOM ->
       buf[end % SLOTS] = FRAME(epoch, end + 1); kept[end % SLOTS] = false; end++;
       if
       :: acked = end                 /* it survives a kill */
       :: wsync = true;
          if :: MUT == 6 -> acked = end; synced = end :: else fi
       fi }
  :: atomic { wsync && !failed && written >= end ->
       if
       :: g = 0;
          do
          :: g < SEGS -> if :: lies[g] :: else -> segd[g] = seg[g] fi; g++
          :: else -> break
          od; g = 0;
          acked = end; synced = end; wsync = false
       :: faults < FAULTS -> faults++;
          g = 0;
          do
          :: g < SEGS -> if :: segd[g] != seg[g] -> lies[g] = true :: else fi; g++
          :: else -> break
          od; g = 0;
          if
          :: MUT == 7                 /* the next sync reports success */
          :: else -> failed = true; wsync = false  /* the write has an unknown outcome */
          fi
       fi }

  /* ---- the WAL writer: for a sync, because of age, or because the buffer is full */
  :: atomic { !recovering && !failed && written < end ->
       g = 0;
       do
       :: g < SEGS && IS_FREE_SEGMENT(g) -> break
       :: g < SEGS - 1 -> g++
       od;
       if
       :: IS_FREE_SEGMENT(g) ->
          assert(buf[written % SLOTS] == FRAME(epoch, written + 1));
          seg[g] = buf[written % SLOTS]; written++
       :: else
       fi; g = 0 }

  /* ---- flush, and compaction of the same prefix into another table */
  :: atomic { fpc == 0 && next < NUMS && acked > curf -> BeginTable(acked) }
  :: atomic { fpc == 0 && next < NUMS && !recovering && curf > 0 -> BeginTable(curf) }
  :: atomic { fpc == 1 -> num[fp] = fn; upto[fp] = fm; cur = fn; curf = fm; fpc = 0; fp = 0; fm = 0; fn = 0 }

  /* ---- commit */
  :: atomic { cpc == 0 && cur != 0 && cur != com && !recovering && !failed -> cn = cur; cf = curf; cnew = false; cpc = 1 }
  :: atomic { cpc == 0 && (recovering || failed) && curf == acked -> cn = cur; cf = curf; cnew = true; cpc = 1 }
  :: atomic { cpc == 1 ->
       if
       :: cn != 0 && dir[cn] != 0 && MUT != 8 -> numd[dir[cn] - 1] = num[dir[cn] - 1]; uptod[dir[cn] - 1] = upto[dir[cn] - 1]
       :: else
       fi; cpc = 2 }
  :: atomic { cpc == 2 ->
       if
       :: MUT == 9
       :: else -> i = 1; do :: i < NUMS -> dird[i] = dir[i]; gone[i] = 0; i++ :: else -> break od; i = 0
       fi; cpc = 3 }
  :: atomic { cpc == 3 -> mn = cn; mf = cf; me = epoch + cnew; cpc = 4;
       if :: MUT == 10 && !cnew -> Release() :: else fi }
  :: atomic { cpc == 4 ->
       if
       :: dn = mn; df = mf; de = me; ue = 0; un = 0; uf = 0; com = cn; sus = 0; sus2 = 0; cpc = 0;
          if
          :: cnew ->
             /* Tables hold all of the epoch before. Its files are used again only now. */
             epoch++; end = cf; acked = cf; synced = cf; written = cf;
             failed = false; recovering = false; wsync = false;
             g = 0; do :: g < SEGS -> seg[g] = 0; segd[g] = 0; lies[g] = false; g++ :: else -> break od; g = 0
          :: else
          fi; Release(); cn = 0; cf = 0; cnew = false
       :: faults < FAULTS && !cnew -> faults++;
          un = mn; uf = mf; ue = me; sus = cn; cn = 0; cf = 0; cpc = 0
       fi }

  /* ---- crash, and the first step of the recovery */
  :: atomic { crashes < CRASHES -> crashes++;
       if
       :: k = 1                          /* the process is killed */
       :: k = 2                          /* the power fails */
       fi;
       if
       :: k == 1 -> Restart(acked)
       :: else -> PowerCut(); Restart(synced); synced = r
       fi; k = 0; r = 0 }
  od
}
