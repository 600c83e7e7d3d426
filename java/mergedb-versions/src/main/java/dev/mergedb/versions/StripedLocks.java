package dev.mergedb.versions;

import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/** A lock for each stripe of the keys. Writers of keys of different stripes do not wait for each other. Thread-safe. */
final class StripedLocks {
  private final ReentrantLock[] stripes;

  StripedLocks(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("lock stripes: expected 1 or more, found " + count);
    }
    stripes = new ReentrantLock[count];
    Arrays.setAll(stripes, i -> new ReentrantLock());
  }

  ReentrantLock of(byte[] key) {
    int hash = Arrays.hashCode(key) * 0x9E3779B9;
    return stripes[Math.floorMod(hash ^ hash >>> 16, stripes.length)];
  }

  /** Takes every stripe, in their order. Refuses a thread that holds one: two such threads would wait for each other. */
  void lockAll(String store) {
    for (ReentrantLock stripe : stripes) {
      if (stripe.isHeldByCurrentThread()) {
        throw new IllegalStateException("store " + store + ": this thread has locked a key; unlock it first");
      }
    }
    for (ReentrantLock stripe : stripes) {
      stripe.lock();
    }
  }

  void unlockAll() {
    for (int i = stripes.length - 1; i >= 0; --i) {
      stripes[i].unlock();
    }
  }
}
