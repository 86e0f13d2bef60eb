#include "io/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "io/support.h"

namespace h2server::io {
namespace fair_queue_test {

class FairQueueTest : public testing::Test {
 protected:
  FileOp& add(std::uint64_t client) {
    FileCall call = FileCall::run(nullptr, nullptr, false);
    call.client = client;
    queue_.add(ops_.emplace_back(*engine_, call));
    return ops_.back();
  }
  // The clients of the calls that are taken, in their order.
  std::string take_all() {
    std::string clients;
    while (const FileOp* const op = queue_.take()) clients += std::to_string(op->call.client);
    return clients;
  }

  const std::unique_ptr<Engine> engine_ = open_engine_here(EngineKind::epoll);
  std::deque<FileOp> ops_;
  FairQueue queue_{3};
};

TEST_F(FairQueueTest, ClientsTakeTurns) {
  FileOp& first = add(1);
  add(1);
  FileOp& third = add(1);
  add(2);
  add(3);
  add(2);
  EXPECT_EQ(queue_.size(), 6U);
  EXPECT_EQ(queue_.take(), &first);
  EXPECT_EQ(queue_.take()->call.client, 2U);
  EXPECT_EQ(queue_.take()->call.client, 3U);
  EXPECT_EQ(queue_.take()->call.client, 1U);
  EXPECT_EQ(queue_.take()->call.client, 2U);
  EXPECT_EQ(queue_.take(), &third);
  EXPECT_EQ(queue_.take(), nullptr);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, AClientHasSoManyCallsAtOnce) {
  for (int i = 0; i < 5; ++i) add(1);
  EXPECT_EQ(take_all(), "111");
  EXPECT_FALSE(queue_.has_next());
  EXPECT_EQ(queue_.size(), 2U);
  add(2);
  EXPECT_EQ(take_all(), "2");
  queue_.end(1);
  EXPECT_TRUE(queue_.has_next());
  EXPECT_EQ(take_all(), "1");
  for (int i = 0; i < 3; ++i) queue_.end(1);
  EXPECT_EQ(take_all(), "1");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, CallsForNobodyAreNotBounded) {
  for (int i = 0; i < 5; ++i) add(0);
  EXPECT_EQ(take_all(), "00000");
}

TEST_F(FairQueueTest, CallsAreWithdrawn) {
  FileOp& first = add(1);
  FileOp& second = add(1);
  FileOp& other = add(2);
  EXPECT_TRUE(queue_.remove(second));
  EXPECT_FALSE(queue_.remove(second));
  EXPECT_TRUE(queue_.remove(other));
  EXPECT_EQ(queue_.take(), &first);
  EXPECT_FALSE(queue_.remove(first));  // it runs
  queue_.end(1);
  EXPECT_FALSE(queue_.remove(first));
  EXPECT_TRUE(queue_.empty());
  add(2);
  EXPECT_EQ(take_all(), "2");
}

}  // namespace fair_queue_test
}  // namespace h2server::io
