#include "base/memory/pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::base {
namespace pool_test {

struct Thing {
  Thing() { ++alive; }
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;
  ~Thing() { --alive; }
  void clear() noexcept { text.clear(); }

  std::string text;
  static inline int alive = 0;
};

TEST(Pool, GivesThingsAgainClearedButWithTheirMemory) {
  Pool<Thing> pool;
  Thing* address = nullptr;
  std::size_t capacity = 0;
  {
    const auto thing = pool.take();
    thing->text.assign(1000, 'x');
    address = thing.get();
    capacity = thing->text.capacity();
  }
  const auto again = pool.take();
  EXPECT_EQ(again.get(), address);
  EXPECT_TRUE(again->text.empty());
  EXPECT_EQ(again->text.capacity(), capacity);
  EXPECT_NE(pool.take().get(), address);
}

TEST(Pool, KeepsABoundedNumberAndFreesThemAll) {
  {
    Pool<Thing> pool;
    {
      std::vector<Pool<Thing>::Pointer> things;
      for (int i = 0; i < 1000; ++i) things.push_back(pool.take());
      EXPECT_EQ(Thing::alive, 1000);
    }
    EXPECT_EQ(Thing::alive, 256);
  }
  EXPECT_EQ(Thing::alive, 0);
}

}  // namespace pool_test
}  // namespace h2server::base
