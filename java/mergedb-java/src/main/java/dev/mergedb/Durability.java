package dev.mergedb;

/** What a write survives once its call has returned. */
public enum Durability {
  /** Survives the end of the process, also by {@code kill -9}. The default. */
  PROCESS_CRASH,
  /** Survives power loss as well, and so does every write that was committed before it. */
  SYNCED,
  /** Not logged. The write is durable after the next flush or a clean close. */
  NO_WAL
}
