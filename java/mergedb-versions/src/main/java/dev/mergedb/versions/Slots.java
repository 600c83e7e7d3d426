package dev.mergedb.versions;

import dev.mergedb.versions.VersionRecord.Sibling;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/** Which stored versions of a key stay when the key changes. All of them, to begin with. For one thread. */
final class Slots {
  private final VersionRecord head;

  /** isKept[0]: the head's own version; isKept[i + 1]: sibling i. */
  private final boolean[] isKept;

  /** The slots of a head; null: the key is not there. */
  Slots(VersionRecord head) {
    this.head = head;
    this.isKept = new boolean[head == null ? 0 : 1 + head.siblings.size()];
    Arrays.fill(isKept, true);
  }

  private VectorClock clock(int i) {
    return i == 0 ? head.clock : head.siblings.get(i - 1).clock();
  }

  /** Drops what the clock supersedes; returns a kept clock that is as new or newer, or null. */
  VectorClock supersede(VectorClock clock) {
    for (int i = 0; i < isKept.length; ++i) {
      if (isKept[i]) {
        Occurred occurred = clock.compare(clock(i));
        if (occurred == Occurred.BEFORE) {
          return clock(i);
        }
        isKept[i] = occurred != Occurred.AFTER;
      }
    }
    return null;
  }

  /** Drops what the predicate names; returns whether that was any. */
  boolean removeIf(Predicate<VectorClock> isDropped) {
    boolean isChanged = false;
    for (int i = 0; i < isKept.length; ++i) {
      if (isKept[i] && isDropped.test(clock(i))) {
        isKept[i] = false;
        isChanged = true;
      }
    }
    return isChanged;
  }

  boolean isHeadKept() {
    return isKept.length > 0 && isKept[0];
  }

  /** A new list, in ascending order of slots. */
  List<Sibling> keptSiblings() {
    return siblings(true);
  }

  List<Sibling> droppedSiblings() {
    return siblings(false);
  }

  private List<Sibling> siblings(boolean areKept) {
    List<Sibling> siblings = new ArrayList<>(2);
    for (int i = 1; i < isKept.length; ++i) {
      if (isKept[i] == areKept) {
        siblings.add(head.siblings.get(i - 1));
      }
    }
    return siblings;
  }
}
