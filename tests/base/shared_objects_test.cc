#include "base/shared_objects.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::base {
namespace shared_objects_test {

TEST(SharedObjects, OneForEachKeyWhileItIsHeld) {
  SharedObjects<std::string, int> objects;
  std::shared_ptr<int> first = objects.get("a", 1);
  EXPECT_EQ(*first, 1);
  EXPECT_EQ(objects.get("a", 2), first);
  EXPECT_EQ(*objects.get("b", 3), 3);
  std::shared_ptr<int> second = objects.get("a", 2);
  first.reset();
  EXPECT_EQ(*objects.get("a", 4), 1) << "somebody holds it";
  second.reset();
  EXPECT_EQ(*objects.get("a", 4), 4);
}

}  // namespace shared_objects_test
}  // namespace h2server::base
