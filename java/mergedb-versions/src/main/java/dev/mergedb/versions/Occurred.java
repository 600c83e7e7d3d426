package dev.mergedb.versions;

/** How one vector clock relates to another. */
public enum Occurred {
  /** The first clock is an ancestor of the second, or the two are equal: a write with the first one is obsolete. */
  BEFORE,
  /** The first clock is a successor of the second. */
  AFTER,
  /** Neither clock is an ancestor of the other: both versions are kept. */
  CONCURRENTLY
}
