#include "coro/frame_pool.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>
#include <vector>

#include "base/sanitizers.h"
#include "h2server/task.h"

namespace h2server::coro {
namespace frame_pool_test {

#if !H2SERVER_SANITIZED  // those builds have no pool

// Bytes that malloc has lent, in all arenas.
std::size_t in_use() { return ::mallinfo2().uordblks; }

// Makes and frees frames of that size.
void burst(std::size_t size) {
  std::vector<void*> frames;
  for (int i = 0; i < 10'000; ++i) frames.push_back(allocate_frame(size));
  for (void* const frame : frames) release_frame(frame, size);
}

// Each has a thread, and so a pool, of its own.
TEST(FramePool, KeepsLittleOfABurst) {
  const auto check = [] {
    const std::size_t before = in_use();
    for (const std::size_t size : {2000, 1000, 500, 100}) burst(size);
    EXPECT_LT(in_use(), before + 3 * 1024 * 1024);
    free_spare_frames();
    EXPECT_LT(in_use(), before + 512 * 1024);
  };
  std::thread(check).join();
}

// More than malloc keeps for a thread.
TEST(FramePool, GivesFramesAgainAlsoAfterABurstOfOthers) {
  const auto check = [] {
    burst(2000);
    std::vector<void*> frames;
    for (int i = 0; i < 16; ++i) frames.push_back(allocate_frame(992));
    for (void* const frame : frames) release_frame(frame, 992);
    const std::size_t before = in_use();
    for (void*& frame : frames) frame = allocate_frame(970);  // of the same class
    EXPECT_LT(in_use(), before + 4 * 970);
    for (void* const frame : frames) release_frame(frame, 970);
  };
  std::thread(check).join();
}

#endif

}  // namespace frame_pool_test
}  // namespace h2server::coro
