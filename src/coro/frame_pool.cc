// Free lists of coroutine frames, per thread and size class. Sanitizer builds use the heap instead,
// so that a use after free is detected.
#include "coro/frame_pool.h"

#include <array>
#include <cstddef>
#include <new>

#include "base/sanitizers.h"
#include "h2server/task.h"

namespace h2server::coro {

namespace {

constexpr bool pooled = !H2SERVER_SANITIZED;
constexpr std::size_t step_bytes = 32;
constexpr std::size_t classes = 64;  // frames up to 2 KiB; larger ones are rare
// Of a thread; the rest of a burst is freed. Each class may have a few frames however many the
// others have.
constexpr std::size_t bytes_max = 2 * 1024 * 1024;
constexpr std::size_t class_bytes_least = 16 * 1024;

struct FreeFrame {
  FreeFrame* next;
};

class FramePool {
 public:
  ~FramePool() { clear(); }

  void clear() noexcept {
    for (List& list : lists_) {
      while (list.first != nullptr) {
        FreeFrame* const frame = list.first;
        list.first = frame->next;
        ::operator delete(frame);
      }
      list.bytes = 0;
    }
    bytes_ = 0;
  }

  void* take(std::size_t index) {
    const std::size_t size = (index + 1) * step_bytes;
    List& list = lists_[index];
    if (list.first == nullptr) return ::operator new(size);
    FreeFrame* const frame = list.first;
    list.first = frame->next;
    list.bytes -= size;
    bytes_ -= size;
    return frame;
  }

  void give(std::size_t index, void* memory) noexcept {
    const std::size_t size = (index + 1) * step_bytes;
    List& list = lists_[index];
    if (bytes_ + size > bytes_max && list.bytes + size > class_bytes_least) {
      ::operator delete(memory);
      return;
    }
    list.bytes += size;
    bytes_ += size;
    list.first = ::new (memory) FreeFrame{list.first};
  }

 private:
  struct List {
    FreeFrame* first = nullptr;
    std::size_t bytes = 0;
  };
  std::array<List, classes> lists_;
  std::size_t bytes_ = 0;  // in all lists
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

void free_spare_frames() noexcept { pool.clear(); }

}  // namespace h2server::coro
