//go:build !mergedb_installed

package mergedb

// The library of this source tree: ./dev build release lib/libmergedb.a. The build tag mergedb_installed chooses the
// installed one.

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo LDFLAGS: ${SRCDIR}/../../build/release/lib/libmergedb.a -lsnappy -llz4 -lzstd -lstdc++ -lm -lpthread
*/
import "C"
