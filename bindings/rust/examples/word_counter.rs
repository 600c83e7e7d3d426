//! Counts the words of files and prints the ten most frequent ones: word_counter DIR FILE...
//!
//! The counts of a file and its name are one atomic batch. So a file counts once, also if the program is killed or runs
//! again.

use mergedb::{merge, Db, Durability, IterOptions, Keyspace, WriteBatch};
use std::error::Error;

fn count_file(db: &Db, words: Keyspace<'_>, files: Keyspace<'_>, path: &str) -> Result<(), Box<dyn Error>> {
    if files.get(path)?.is_some() {
        return Ok(()); // an earlier run counted it
    }
    let text = std::fs::read_to_string(path)?.to_lowercase();
    let mut batch = WriteBatch::new()?;
    batch.keyspace(files).put(path, "")?;
    for word in text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
        batch.keyspace(words).merge(word, &merge::add_u64(1))?; // reads nothing
    }
    db.write(&batch, Durability::ProcessCrash)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let db = Db::open(arguments.next().ok_or("usage: word_counter DIR FILE...")?)?;
    let (words, files) = (db.keyspace("words")?, db.keyspace("files")?);
    for path in arguments {
        count_file(&db, words, files, &path)?;
    }
    let mut counts = Vec::new();
    for entry in words.iter(&IterOptions::default())?.forward() {
        let (word, count) = entry?;
        counts.push((merge::to_u64(count).unwrap_or(0), String::from_utf8(word)?));
    }
    // The keys come in order, and the sort is stable: words with the same count stay in alphabetical order.
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    for (count, word) in counts.iter().take(10) {
        println!("{count} {word}");
    }
    db.close()?;
    Ok(())
}
