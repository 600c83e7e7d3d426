// goleveldb as a command, an implementation of LevelDB's formats of its own: goleveldb write DIR < LINES, goleveldb dump DIR.
// A line is "put KEY VALUE" or "del KEY", in hex, "-" for an empty one; dumps are "KEY VALUE" lines in order.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func fromHex(text string) []byte {
	if text == "-" {
		return nil
	}
	bytes, err := hex.DecodeString(text)
	check(err)
	return bytes
}

func toHex(bytes []byte) string {
	if len(bytes) == 0 {
		return "-"
	}
	return hex.EncodeToString(bytes)
}

func main() {
	// Small tables, so that there are many in several levels.
	options := &opt.Options{Filter: filter.NewBloomFilter(10), WriteBuffer: 64 << 10, CompactionTableSize: 64 << 10, ErrorIfMissing: os.Args[1] == "dump", Strict: opt.StrictAll}
	db, err := leveldb.OpenFile(os.Args[2], options)
	check(err)
	if os.Args[1] == "write" {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			if words[0] == "put" {
				check(db.Put(fromHex(words[1]), fromHex(words[2]), nil))
			} else {
				check(db.Delete(fromHex(words[1]), nil))
			}
		}
		check(lines.Err())
	} else {
		out := bufio.NewWriter(os.Stdout)
		it := db.NewIterator(nil, nil)
		for it.Next() {
			fmt.Fprintln(out, toHex(it.Key()), toHex(it.Value()))
		}
		check(it.Error())
		check(out.Flush())
	}
	check(db.Close())
}
