#include "h2server/task_group.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/assert.h"

namespace h2server::coro {

void destroy_misplaced() noexcept {
  void* const frame = frame_check.newest;
  // The handle points to two function pointers: resume, then destroy.
  const char* const functions = static_cast<char*>(std::exchange(frame_check.wrong, nullptr));
  void (*destroy)(void*) = nullptr;
  std::memcpy(&destroy, functions + sizeof(void*), sizeof destroy);
  destroy(frame);
}

void report_misplaced() {
  throw std::logic_error(
      "a coroutine never started: GCC 12 miscompiles co_await in a condition; name the result "
      "first: bool ok = co_await ...");
}

void report_group_not_joined() noexcept {
  ASSERT(!"a TaskGroup is destroyed while a task of it runs");
  std::abort();
}

void report_task_threw() noexcept {
  ASSERT(!"a task in a TaskGroup threw");
  std::abort();
}

}  // namespace h2server::coro
