/* Users by id, with a unique index by email and an index by city: secondary_index DIR
 * A record and its index entries change in one optimistic transaction. If another thread changes what the transaction
 * read, the commit returns CONFLICT, and put_user begins again. */
#include <pthread.h>

#include "text.h"

static mergedb_db db;
static mergedb_keyspace by_id, by_email, by_city; /* id: "email|city", email: id, "city|id": nothing */

typedef struct {
  const char *id, *email;
} person;

static const char* pair(char* buffer, size_t size, const char* left, const char* right) {
  snprintf(buffer, size, "%s|%s", left, right);
  return buffer;
}

/* 0 if the email belongs to another user, who is then named on the standard output. */
static int put_user(person user, const char* city) {
  char buffer[256];
  for (;;) {
    mergedb_transaction change = begin(db, MERGEDB_OPTIMISTIC);
    char *owner = get(change, by_email, user.email), *old = get(change, by_id, user.id);
    const int taken = owner && strcmp(owner, user.id) != 0;
    if (taken) {
      printf("%s belongs to %s\n", user.email, owner);
    } else {
      if (old) { /* the old index entries go */
        const size_t bar = strcspn(old, "|");
        old[bar] = '\0';
        erase(change, by_email, old);
        erase(change, by_city, pair(buffer, sizeof buffer, old + bar + 1, user.id));
      }
      put(change, by_id, user.id, pair(buffer, sizeof buffer, user.email, city));
      put(change, by_email, user.email, user.id);
      put(change, by_city, pair(buffer, sizeof buffer, city, user.id), "");
    }
    mergedb_free(owner);
    mergedb_free(old);
    const mergedb_code code = taken ? MERGEDB_OK : mergedb_transaction_commit(change, &error);
    check(mergedb_transaction_close(change, NULL)); /* without a commit: rolls back */
    if (code == MERGEDB_CONFLICT) continue;
    check(code);
    return !taken;
  }
}

static void print_city(const char* city) {
  char prefix[256];
  snprintf(prefix, sizeof prefix, "%s|", city);
  mergedb_iterator it = iterate(db, by_city, prefix);
  printf("%s:", city);
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice key;
    check(mergedb_iterator_entry(it, &key, NULL, &error));
    const int skipped = (int)strlen(prefix);
    printf(" %.*s", (int)key.size - skipped, (const char*)key.data + skipped);
  }
  printf("\n");
  check(mergedb_iterator_close(it, &error));
}

static void* travel(void* user) {
  for (int i = 0; i < 50; ++i) put_user(*(person*)user, i % 2 == 0 ? "Rome" : "Bergen");
  return NULL;
}

int main(int argc, char** argv) {
  db = open_database(argc, argv);
  by_id = keyspace(db, "users"), by_email = keyspace(db, "users by email"), by_city = keyspace(db, "users by city");
  put_user((person){"1", "ann@example.org"}, "Oslo");
  put_user((person){"2", "bob@example.org"}, "Rome");
  put_user((person){"3", "cid@example.org"}, "Oslo");
  put_user((person){"2", "ann@example.org"}, "Rome");
  print_city("Oslo");
  person home = {"3", "cid@example.org"}, work = {"3", "cid@work.example"};
  pthread_t other; /* two threads move the same user about */
  if (pthread_create(&other, NULL, travel, &home) != 0) return perror("pthread_create"), 1;
  travel(&work);
  pthread_join(other, NULL);
  print_city("Bergen");
  print_city("Oslo");
  print_city("Rome");
  check(mergedb_close(db, &error));
  return 0;
}
