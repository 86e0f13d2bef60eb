/* For a server under Debian 12's Valgrind, which does not know openat2(): answers it by openat().
   Links may then lead out of the folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>

long syscall(long number, ...) {
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2) {
    const struct open_how* how = (const struct open_how*)arguments[2];
    return openat((int)arguments[0], (const char*)arguments[1], (int)how->flags, (mode_t)how->mode);
  }
  long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
