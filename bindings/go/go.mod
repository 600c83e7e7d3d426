module mergedb

go 1.24
