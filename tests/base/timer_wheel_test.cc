#include "base/timer_wheel.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace h2server::base {
namespace timer_wheel_test {

constexpr std::int64_t tick = TimerWheel::tick_ms;
constexpr std::int64_t round_ms = 512 * tick;
constexpr std::int64_t begin_ms = 1'000'000;

// Counts how often its timer fires.
struct Alarm {
  explicit Alarm(std::function<void()> then = {}) : action(std::move(then)) {
    timer.owner = this;
    timer.fire = [](Timer& due) {
      Alarm& self = *static_cast<Alarm*>(due.owner);
      ++self.fired;
      if (self.action) self.action();
    };
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  Timer timer;
  std::function<void()> action;
  int fired = 0;
};

class TimerWheelTest : public testing::Test {
 protected:
  // Advances in steps of 10 ms, as an engine would.
  void advance_to(std::int64_t until_ms) {
    for (; now_ms_ < until_ms; now_ms_ += 10) wheel_.advance(now_ms_);
    now_ms_ = until_ms;
    wheel_.advance(now_ms_);
  }

  std::int64_t now_ms_ = begin_ms;
  TimerWheel wheel_{begin_ms};
};

TEST_F(TimerWheelTest, WaitsForeverWithoutATimer) {
  EXPECT_EQ(wheel_.wait_ms(now_ms_), -1);
  Alarm alarm;
  wheel_.arm(alarm.timer, begin_ms + 10);
  wheel_.disarm(alarm.timer);
  wheel_.disarm(alarm.timer);
  EXPECT_FALSE(alarm.timer.armed());
  EXPECT_EQ(wheel_.wait_ms(now_ms_), -1);
}

TEST_F(TimerWheelTest, FiresOnceAndNeitherEarlyNorMuchTooLate) {
  for (const std::int64_t after_ms :
       {std::int64_t{0}, std::int64_t{1}, tick - 1, tick, tick + 1, 10 * tick, round_ms - 1,
        round_ms, round_ms + 1, 3 * round_ms + 17}) {
    TimerWheel wheel(begin_ms);
    Alarm alarm;
    const std::int64_t due_ms = begin_ms + after_ms;
    wheel.arm(alarm.timer, due_ms);
    std::int64_t fired_ms = 0;
    for (std::int64_t now_ms = begin_ms; now_ms <= due_ms + 3 * tick; ++now_ms) {
      wheel.advance(now_ms);
      if (fired_ms == 0 && alarm.fired > 0) fired_ms = now_ms;
    }
    EXPECT_EQ(alarm.fired, 1) << after_ms;
    EXPECT_GE(fired_ms, due_ms) << after_ms;
    EXPECT_LE(fired_ms, due_ms + tick) << after_ms;
    EXPECT_FALSE(alarm.timer.armed());
  }
}

TEST_F(TimerWheelTest, WaitsUntilATimerIsDueAndThenItFires) {
  for (const std::int64_t after_ms : {std::int64_t{1}, 5 * tick, round_ms + 5, 7 * round_ms}) {
    TimerWheel wheel(begin_ms);
    Alarm alarm;
    wheel.arm(alarm.timer, begin_ms + after_ms);
    std::int64_t now_ms = begin_ms;
    for (int turns = 0; alarm.fired == 0; ++turns) {
      ASSERT_LT(turns, 20);
      const int wait_ms = wheel.wait_ms(now_ms);
      ASSERT_GE(wait_ms, 0);
      now_ms += wait_ms;
      wheel.advance(now_ms);
    }
    EXPECT_GE(now_ms, begin_ms + after_ms);
    EXPECT_LE(now_ms, begin_ms + after_ms + tick);
    EXPECT_EQ(wheel.wait_ms(now_ms), -1);
  }
}

TEST_F(TimerWheelTest, WaitsForTheEarliest) {
  Alarm late;
  Alarm early;
  wheel_.arm(late.timer, begin_ms + round_ms + 1000);
  wheel_.arm(early.timer, begin_ms + 1000);
  EXPECT_LE(wheel_.wait_ms(now_ms_), 1000 + tick);
  EXPECT_GE(wheel_.wait_ms(now_ms_), 1000);
  wheel_.disarm(early.timer);
  EXPECT_GE(wheel_.wait_ms(now_ms_), 1000);
  EXPECT_LE(wheel_.wait_ms(now_ms_), round_ms + 1000 + tick);
  advance_to(begin_ms + 2 * round_ms);
  EXPECT_EQ(late.fired, 1);
}

TEST_F(TimerWheelTest, ADistantTimerDoesNotMakeTheWaitNegative) {
  for (const std::int64_t after_ms : {3'000'000'000, 4'294'967'295, 1'000'000'000'000}) {
    TimerWheel wheel(begin_ms);
    Alarm alarm;
    wheel.arm(alarm.timer, begin_ms + after_ms);
    EXPECT_GE(wheel.wait_ms(begin_ms), 1'000'000'000) << after_ms;  // and not 0
  }
}

TEST_F(TimerWheelTest, MovesAnArmedTimerOnlyToAnEarlierTime) {
  Alarm alarm;
  wheel_.arm(alarm.timer, begin_ms + 1000);
  wheel_.arm(alarm.timer, begin_ms + 5000);
  EXPECT_EQ(alarm.timer.due_ms, begin_ms + 1000);  // fires early; its owner re-arms it
  wheel_.arm(alarm.timer, begin_ms + 500);
  EXPECT_EQ(alarm.timer.due_ms, begin_ms + 500);
  advance_to(begin_ms + 500 + tick);
  EXPECT_EQ(alarm.fired, 1);
  advance_to(begin_ms + 6000);
  EXPECT_EQ(alarm.fired, 1);
}

TEST_F(TimerWheelTest, ATimerMayArmItselfAgain) {
  Alarm alarm;
  alarm.action = [&] {
    if (alarm.fired < 5) wheel_.arm(alarm.timer, now_ms_ + 100);
  };
  wheel_.arm(alarm.timer, begin_ms + 100);
  advance_to(begin_ms + 2000);
  EXPECT_EQ(alarm.fired, 5);
}

TEST_F(TimerWheelTest, ATimerThatArmsItselfForNowWaitsForTheNextTick) {
  Alarm alarm;
  alarm.action = [&] { wheel_.arm(alarm.timer, now_ms_); };
  wheel_.arm(alarm.timer, begin_ms);
  now_ms_ += tick;
  wheel_.advance(now_ms_);
  EXPECT_EQ(alarm.fired, 1);
  now_ms_ += tick;
  wheel_.advance(now_ms_);
  EXPECT_EQ(alarm.fired, 2);
  wheel_.disarm(alarm.timer);
}

TEST_F(TimerWheelTest, ATimerMayDisarmThoseDueWithIt) {
  Alarm victim;
  Alarm killer([&] { wheel_.disarm(victim.timer); });
  wheel_.arm(killer.timer, begin_ms + 10);
  wheel_.arm(victim.timer, begin_ms + 10);
  advance_to(begin_ms + 1000);
  EXPECT_EQ(killer.fired, 1);
  EXPECT_EQ(victim.fired, 0);
  EXPECT_FALSE(victim.timer.armed());
  EXPECT_EQ(wheel_.wait_ms(now_ms_), -1);
}

TEST_F(TimerWheelTest, ATimerMayMoveThoseDueWithIt) {
  Alarm other;
  Alarm mover([&] {
    wheel_.disarm(other.timer);
    wheel_.arm(other.timer, now_ms_ + 500);
  });
  wheel_.arm(mover.timer, begin_ms + 10);
  wheel_.arm(other.timer, begin_ms + 10);
  advance_to(begin_ms + 400);
  EXPECT_EQ(other.fired, 0);
  advance_to(begin_ms + 1000);
  EXPECT_EQ(other.fired, 1);
}

TEST_F(TimerWheelTest, FiresEverythingAfterALongSleep) {
  std::vector<std::unique_ptr<Alarm>> alarms;
  for (int i = 0; i < 1000; ++i) {
    wheel_.arm(alarms.emplace_back(std::make_unique<Alarm>())->timer, begin_ms + i * 100);
  }
  wheel_.advance(begin_ms + 10 * round_ms);
  for (const auto& alarm : alarms) EXPECT_EQ(alarm->fired, 1);
  EXPECT_EQ(wheel_.wait_ms(begin_ms + 10 * round_ms), -1);
}

// Random timers, checked against their due times.
TEST_F(TimerWheelTest, KeepsEveryPromise) {
  std::mt19937 random(1);
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<std::int64_t> due(200, -1);
  for (std::size_t i = 0; i < due.size(); ++i) {
    alarms.push_back(std::make_unique<Alarm>([&, i] {
      EXPECT_GE(now_ms_, due[i]);
      EXPECT_LE(now_ms_, due[i] + tick + 40);
      due[i] = -1;
    }));
  }
  for (int step = 0; step < 20'000; ++step) {
    now_ms_ += random() % 40;
    wheel_.advance(now_ms_);
    const std::size_t i = random() % due.size();
    if (due[i] >= 0 && random() % 2 == 0) {
      wheel_.disarm(alarms[i]->timer);
      due[i] = -1;
    } else if (due[i] < 0) {
      due[i] = now_ms_ + random() % (2 * round_ms);
      wheel_.arm(alarms[i]->timer, due[i]);
    }
  }
  for (auto& alarm : alarms) wheel_.disarm(alarm->timer);
}

}  // namespace timer_wheel_test
}  // namespace h2server::base
