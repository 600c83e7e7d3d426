/* An external program in C. */
#include <mergedb/c.h>
#include <stdio.h>

int main(void) {
  printf("%s\n", mergedb_version());
  return 0;
}
