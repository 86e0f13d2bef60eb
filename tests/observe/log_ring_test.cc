#include "observe/log_ring.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace h2server::observe {
namespace log_ring_test {

using Sharing = LogRing::Sharing;

std::size_t page() { return static_cast<std::size_t>(::getpagesize()); }

struct Ring {
  LogBell bell;
  std::unique_ptr<LogRing> ring;

  explicit Ring(Sharing sharing = Sharing::one_thread, std::size_t pages = 1) {
    EXPECT_TRUE(bell.open());
    auto made = LogRing::make(sharing, bell, pages * page());
    EXPECT_TRUE(made);
    ring = std::move(*made);
  }

  bool append(std::string_view line, std::uint32_t target = 0) {
    return ring->append(line.size(), target,
                        [line](char* to) { return line.copy(to, line.size()); });
  }
  // "TARGET:LINES" of what is in front, which it removes.
  std::string take() {
    const LogRing::Batch batch = ring->front();
    if (batch.lines.empty()) return "";
    const std::string text = fmt::format("{}:{}", batch.target, batch.lines);
    ring->pop(batch.lines.size());
    return text;
  }
  [[nodiscard]] bool rung() const {
    pollfd event{bell.descriptor(), POLLIN, 0};
    return ::poll(&event, 1, 0) == 1;
  }
};

TEST(LogRing, LinesForOneTargetAreOneBatch) {
  Ring ring;
  EXPECT_EQ(ring.take(), "");
  ring.append("a\n", 3);
  ring.append("b\n", 3);
  ring.append("c\n", 1);
  ring.append("d\n", 3);
  EXPECT_EQ(ring.ring->size(), 8U);
  EXPECT_EQ(ring.take(), "3:a\nb\n");
  EXPECT_EQ(ring.take(), "1:c\n");
  ring.append("e\n", 3);
  EXPECT_EQ(ring.take(), "3:d\ne\n");
  EXPECT_EQ(ring.take(), "");
  ring.append("f\n", 3);
  EXPECT_EQ(ring.take(), "3:f\n");
  EXPECT_EQ(ring.ring->accepted(), 6U);
  EXPECT_EQ(ring.ring->dropped(), 0U);
}

TEST(LogRing, ABatchMayBeTakenInParts) {
  Ring ring;
  ring.append("ab\n", 1);
  ring.append("cd\n", 2);
  ring.ring->pop(2);
  EXPECT_EQ(ring.take(), "1:\n");
  EXPECT_EQ(ring.take(), "2:cd\n");
}

TEST(LogRing, LessMayBeWrittenThanReserved) {
  Ring ring;
  const auto write = [](char* to) { return std::string_view("x\n").copy(to, 2); };
  EXPECT_TRUE(ring.ring->append(page(), 0, write));
  EXPECT_EQ(ring.ring->size(), 2U);
  EXPECT_FALSE(ring.ring->append(page() - 1, 0, write));
  EXPECT_TRUE(ring.ring->append(page() - 2, 0, write));
  EXPECT_EQ(ring.take(), "0:x\nx\n");
}

TEST(LogRing, CountsWhatFindsNoRoom) {
  Ring ring;
  const std::string half(page() / 2, 'h');
  EXPECT_TRUE(ring.append(half));
  EXPECT_TRUE(ring.append(half));
  EXPECT_FALSE(ring.append("x"));
  EXPECT_FALSE(ring.append("y", 2));
  EXPECT_EQ(ring.ring->dropped(), 2U);
  EXPECT_EQ(ring.ring->accepted(), 2U);
  EXPECT_EQ(ring.take(), "0:" + half + half);
  EXPECT_TRUE(ring.append("z"));
  EXPECT_EQ(ring.take(), "0:z") << "the target of a dropped line was not kept";
  EXPECT_FALSE(ring.append(std::string(page() + 1, 'l'))) << "would never have room";
  EXPECT_FALSE(ring.append(std::string(3 * page(), 'l')));
  EXPECT_EQ(ring.ring->dropped(), 4U);
}

TEST(LogRing, HasNoEdge) {
  Ring ring;
  for (std::size_t size = 1; size < 100; ++size) {
    for (std::size_t round = 0; round < page() / size + 2; ++round) {
      std::string line(size, static_cast<char>('a' + round % 26));
      line.back() = '\n';
      ASSERT_TRUE(ring.append(line, round % 3));
      ASSERT_EQ(ring.take(), fmt::format("{}:{}", round % 3, line));
    }
  }
  EXPECT_EQ(ring.ring->dropped(), 0U);
}

TEST(LogRing, AFullLineAtEachOffset) {
  Ring ring;
  const std::string full(page() - 1, 'f');
  for (std::size_t offset = 0; offset <= page(); ++offset) {
    ASSERT_TRUE(ring.append(full));
    ASSERT_EQ(ring.take(), "0:" + full);
  }
}

// There is room for 4096 changes of the target.
TEST(LogRing, TooManyChangesDropLines) {
  Ring ring(Sharing::one_thread, 16);
  std::uint64_t accepted = 0;
  for (std::uint32_t line = 0; line < 5000; ++line) accepted += ring.append("\n", 1 + line);
  EXPECT_EQ(accepted, 4096U);
  EXPECT_EQ(ring.ring->dropped(), 5000U - 4096U);
  for (std::uint32_t line = 0; line < 4096; ++line) {
    ASSERT_EQ(ring.take(), fmt::format("{}:\n", 1 + line));
  }
  EXPECT_EQ(ring.take(), "");
  EXPECT_TRUE(ring.append("x\n", 7));
  EXPECT_EQ(ring.take(), "7:x\n");
}

TEST(LogRing, RingsOnlyForAThreadThatSleeps) {
  using Sleep = LogBell::Sleep;
  Ring ring;
  const std::string quarter(page() / 4, 'q');
  ring.append(quarter);
  EXPECT_FALSE(ring.rung()) << "the thread is at work";
  ring.bell.lie_down(Sleep::light);
  ring.append("x");
  EXPECT_FALSE(ring.rung()) << "it sleeps for a moment";
  ring.append(quarter);
  EXPECT_TRUE(ring.rung()) << "half full";
  EXPECT_EQ(ring.bell.sleep(), Sleep::none);
  ring.bell.rise();
  EXPECT_FALSE(ring.rung());
  ring.append(quarter);
  EXPECT_FALSE(ring.rung()) << "once";
  ring.take();
  ring.bell.lie_down(Sleep::deep);
  ring.append("x");
  EXPECT_TRUE(ring.rung()) << "the first line";
  ring.bell.rise();
  EXPECT_FALSE(ring.rung());
}

TEST(LogRing, RingsWhenTargetsChangeTooOften) {
  Ring ring(Sharing::one_thread, 16);
  ring.bell.lie_down(LogBell::Sleep::light);
  for (std::uint32_t line = 0; line < 2047; ++line) ring.append("\n", 1 + line);
  EXPECT_FALSE(ring.rung());
  ring.append("\n", 0);
  EXPECT_TRUE(ring.rung());
}

// What a worker sees of a ring that was emptied meanwhile is old until it looks again.
TEST(LogRing, ARingThatWasEmptiedIsNotHalfFull) {
  Ring ring;
  const std::string most(page() / 4 * 3, 'm');
  for (int round = 0; round < 8; ++round) {
    ring.append(most);
    ring.take();
    ring.bell.lie_down(LogBell::Sleep::light);
    ring.append("x");
    EXPECT_FALSE(ring.rung());
    ring.bell.rise();
    ring.take();
  }
}

std::vector<std::string> lines_in_order(Ring& ring, std::size_t count, std::thread& producer) {
  std::string text[2];
  std::size_t lines = 0;
  while (lines < count) {
    const LogRing::Batch batch = ring.ring->front();
    if (batch.lines.empty()) {
      std::this_thread::yield();
      continue;
    }
    text[batch.target] += batch.lines;
    lines += static_cast<std::size_t>(std::ranges::count(batch.lines, '\n'));
    ring.ring->pop(batch.lines.size());
  }
  producer.join();
  return {text[0], text[1]};
}

TEST(LogRing, KeepsTheOrderBetweenTwoThreads) {
  constexpr std::size_t count = 100'000;
  Ring ring;
  std::string expected[2];
  for (std::size_t line = 0; line < count; ++line) {
    expected[line % 5 == 0] += fmt::format("{}\n", line);
  }
  std::thread producer([&] {
    for (std::size_t line = 0; line < count; ++line) {
      const std::string text = fmt::format("{}\n", line);
      while (!ring.append(text, line % 5 == 0)) std::this_thread::yield();
    }
  });
  const auto got = lines_in_order(ring, count, producer);
  EXPECT_TRUE(got[0] == expected[0]);
  EXPECT_TRUE(got[1] == expected[1]);
  EXPECT_EQ(ring.ring->accepted(), count);
}

TEST(LogRing, ManyThreadsShareOne) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 20'000;
  Ring ring(Sharing::many_threads);
  std::thread producers([&] {
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      running.emplace_back([&ring, thread] {
        const std::string line =
            std::string(1 + thread * 7, static_cast<char>('a' + thread)) + "\n";
        for (std::size_t done = 0; done < each; ++done) {
          while (!ring.append(line, thread % 2)) std::this_thread::yield();
        }
      });
    }
    for (std::thread& thread : running) thread.join();
  });
  const auto got = lines_in_order(ring, threads * each, producers);
  std::size_t lines[threads] = {};
  for (std::size_t target = 0; target < 2; ++target) {
    std::string_view rest = got[target];
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const auto thread = static_cast<std::size_t>(rest[0] - 'a');
      ASSERT_LT(thread, threads);
      ASSERT_EQ(thread % 2, target);
      ASSERT_EQ(rest.substr(0, end), std::string(1 + thread * 7, rest[0]));
      ++lines[thread];
      rest.remove_prefix(end + 1);
    }
  }
  for (const std::size_t count : lines) EXPECT_EQ(count, each);
}

}  // namespace log_ring_test
}  // namespace h2server::observe
