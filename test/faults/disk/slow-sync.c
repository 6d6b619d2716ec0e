/*
 * Preloaded into a gateway: a disk whose syncs take SYNC_MS milliseconds, and whose syncs of a write-ahead log fail from the
 * moment on at which the file SYNC_FAILS_WITH exists.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int (*sync_call)(int);

static int is_log(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  return length > 4 && strncmp(path + length - 4, "-wal", 4) == 0;
}

static int slowly(const char *name, int fd) {
  const char *wanted = getenv("SYNC_MS");
  const char *fails = getenv("SYNC_FAILS_WITH");
  long ms = wanted ? atol(wanted) : 0;
  struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&pause, NULL);
  if (fails && access(fails, F_OK) == 0 && is_log(fd)) {
    errno = EIO;
    return -1;
  }
  return ((sync_call)dlsym(RTLD_NEXT, name))(fd);
}

int fsync(int fd) { return slowly("fsync", fd); }
int fdatasync(int fd) { return slowly("fdatasync", fd); }
