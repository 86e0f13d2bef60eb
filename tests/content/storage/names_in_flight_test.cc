#include "content/storage/names_in_flight.h"

#include <sys/wait.h>

#include <array>
#include <csignal>

#include "content/support.h"

namespace h2server::content {
namespace names_in_flight_test {

TEST(NamesInFlight, OneUploadOfANameAtOnce) {
  NamesInFlight names;
  std::optional<NameReservation> a = names.reserve("a");
  EXPECT_TRUE(a);
  EXPECT_FALSE(names.reserve("a"));
  EXPECT_TRUE(names.reserve("b"));
  EXPECT_TRUE(names.reserve("b")) << "the one before is gone";
  EXPECT_TRUE(names.reserve("x/a"));
  std::optional<NameReservation> moved = std::move(a);
  EXPECT_FALSE(names.reserve("a"));
  a.reset();
  EXPECT_FALSE(names.reserve("a")) << "what was moved from holds nothing";
  moved.reset();
  EXPECT_TRUE(names.reserve("a"));
}

TEST(NamesInFlight, AssignmentExchanges) {
  NamesInFlight names;
  std::optional<NameReservation> one = names.reserve("a");
  {
    std::optional<NameReservation> other = names.reserve("b");
    ASSERT_TRUE(one && other);
    *one = *std::move(other);
    EXPECT_FALSE(names.reserve("b"));
  }
  EXPECT_TRUE(names.reserve("a"));
  EXPECT_FALSE(names.reserve("b"));
}

TEST(NamesInFlight, AReservationMayOutliveThem) {
  std::optional<NameReservation> last;
  {
    NamesInFlight names;
    last = names.reserve("a");
  }
  EXPECT_TRUE(last);
  last.reset();
}

TEST(NamesInFlight, ThreadsExcludeEachOther) {
  NamesInFlight names;
  constexpr int threads_max = 8;
  std::atomic<int> ready{0};
  std::atomic<int> granted{0};
  std::vector<std::optional<NameReservation>> held(threads_max);
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_max; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < threads_max) std::this_thread::yield();
      held[static_cast<std::size_t>(i)] = names.reserve("a");
      if (held[static_cast<std::size_t>(i)]) ++granted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 1);
}

// Forked processes exclude each other, and a killed one holds nothing.
TEST(NamesInFlight, ProcessesExcludeEachOther) {
  NamesInFlight names;
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const base::Fd reader(ready[0]);
  const base::Fd writer(ready[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<NameReservation> a = names.reserve("a");
    if (::write(writer.get(), a ? "g" : "b", 1) == 1) ::pause();
    ::_exit(1);
  }
  char state = 0;
  ASSERT_EQ(::read(reader.get(), &state, 1), 1);
  EXPECT_EQ(state, 'g');
  EXPECT_FALSE(names.reserve("a"));
  EXPECT_FALSE(names.reserve("a")) << "the failure left nothing behind";
  EXPECT_TRUE(names.reserve("b"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(names.reserve("a"));
}

}  // namespace names_in_flight_test
}  // namespace h2server::content
