package dev.mergedb.versions;

import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A key whose stripe is locked by {@link VersionedStore#getAndLock}, and its versions. The thread that locked it ends it, by {@link VersionedStore#putAndUnlock}
 * or {@link VersionedStore#releaseLock}.
 */
public final class LockedKey {
  private final byte[] key;
  private final List<Versioned> versions;
  private final ReentrantLock lock;
  private boolean isOpen = true;

  LockedKey(byte[] key, List<Versioned> versions, ReentrantLock lock) {
    this.key = key;
    this.versions = versions;
    this.lock = lock;
  }

  /**
   * The key.
   *
   * @return the array itself
   */
  public byte[] key() {
    return key;
  }

  /**
   * The versions when the key was locked.
   *
   * @return a mutable list of the caller's own
   */
  public List<Versioned> versions() {
    return versions;
  }

  /** Refuses a key that was unlocked before, and another thread. */
  void check() {
    if (!lock.isHeldByCurrentThread()) {
      throw new IllegalStateException(
          "key " + Bytes.hex(key) + (isOpen ? ": another thread has locked it; end it in that thread" : ": it is unlocked; lock it again"));
    }
    if (!isOpen) {
      throw new IllegalStateException("key " + Bytes.hex(key) + ": it is unlocked; lock it again");
    }
  }

  void unlock() {
    isOpen = false;
    lock.unlock();
  }
}
