// Free lists of coroutine frames, per thread and size class. Sanitizer builds use the heap instead,
// so that a use after free is detected.
#include <array>
#include <cstddef>
#include <new>

#include "base/sanitizers.h"
#include "h2server/task.h"

namespace h2server::coro {

namespace {

constexpr bool pooled = !H2SERVER_SANITIZED;
constexpr std::size_t step_bytes = 32;
constexpr std::size_t classes = 64;       // frames up to 2 KiB; larger ones are rare
constexpr std::size_t frames_max = 1024;  // per class; the rest of a burst is freed

struct FreeFrame {
  FreeFrame* next;
};

class FramePool {
 public:
  ~FramePool() {
    for (List& list : lists_) {
      while (list.first != nullptr) {
        FreeFrame* const frame = list.first;
        list.first = frame->next;
        ::operator delete(frame);
      }
    }
  }

  void* take(std::size_t index) {
    List& list = lists_[index];
    if (list.first == nullptr) return ::operator new((index + 1) * step_bytes);
    FreeFrame* const frame = list.first;
    list.first = frame->next;
    --list.count;
    return frame;
  }

  void give(std::size_t index, void* memory) noexcept {
    List& list = lists_[index];
    if (list.count == frames_max) {
      ::operator delete(memory);
      return;
    }
    ++list.count;
    list.first = ::new (memory) FreeFrame{list.first};
  }

 private:
  struct List {
    FreeFrame* first = nullptr;
    std::size_t count = 0;
  };
  std::array<List, classes> lists_;
};

thread_local FramePool pool;

std::size_t class_of(std::size_t size) { return (size - 1) / step_bytes; }

}  // namespace

void* allocate_frame(std::size_t size) {
  if (!pooled || class_of(size) >= classes) return ::operator new(size);
  return pool.take(class_of(size));
}

void release_frame(void* frame, std::size_t size) noexcept {
  if (!pooled || class_of(size) >= classes) {
    ::operator delete(frame);
    return;
  }
  pool.give(class_of(size), frame);
}

}  // namespace h2server::coro
