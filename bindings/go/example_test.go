package mergedb_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"mergedb"
)

func temporary() *mergedb.DB {
	directory, err := os.MkdirTemp("", "mergedb-go-")
	if err != nil {
		log.Fatal(err)
	}
	db, err := mergedb.Open(filepath.Join(directory, "db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	return db
}

func Example() {
	db := temporary()
	defer db.Close()
	batch := mergedb.NewBatch() // atomic, also after a crash
	defer batch.Close()
	batch.Put([]byte("fruit:apple"), []byte("green"))
	batch.Put([]byte("fruit:cherry"), []byte("red"))
	if err := db.Write(batch, mergedb.Synced); err != nil {
		log.Fatal(err)
	}
	it := db.Iterate(&mergedb.IteratorOptions{Prefix: []byte("fruit:")})
	defer it.Close()
	for key, value := range it.All() {
		fmt.Printf("%s is %s\n", key, value)
	}
	if err := it.Err(); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Get([]byte("fruit:plum")); errors.Is(err, mergedb.ErrNotFound) {
		fmt.Println("no plum")
	}
	// Output:
	// fruit:apple is green
	// fruit:cherry is red
	// no plum
}

func ExampleDB_Update() {
	db := temporary()
	defer db.Close()
	db.Put([]byte("alice"), mergedb.FromInt64(100))
	db.Put([]byte("bob"), mergedb.FromInt64(0))
	err := db.Update(context.Background(), func(tx *mergedb.Tx) error {
		stored, err := tx.Get([]byte("alice"))
		if err != nil {
			return err
		}
		balance, _ := mergedb.Int64(stored)
		if balance < 30 {
			return errors.New("alice has too little")
		}
		if err := tx.Put([]byte("alice"), mergedb.FromInt64(balance-30)); err != nil {
			return err
		}
		return tx.Merge([]byte("bob"), mergedb.AddInt64(30))
	})
	if err != nil {
		log.Fatal(err)
	}
	stored, _ := db.Get([]byte("bob"))
	fmt.Println(mergedb.Int64(stored))
	// Output: 30 true
}

func ExampleKeyspace_Merge() {
	db := temporary()
	defer db.Close()
	visits, err := db.CreateKeyspace("visits", true)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if err := visits.Merge([]byte("/index.html"), mergedb.AddUint64(1)); err != nil { // reads nothing
			log.Fatal(err)
		}
	}
	count, _ := visits.Get([]byte("/index.html"))
	fmt.Println(mergedb.Uint64(count))
	// Output: 3 true
}
