// The file cache when it has to wait for the disk, on each engine.
#include <fcntl.h>
#include <malloc.h>

#include "content/support.h"
#include "file/cache_index.h"
#include "file/support.h"
#include "io/support.h"

namespace h2server::file {
namespace cache_cold_test {

using tests::TemporaryDirectory;

class ColdCache : public io::EngineFixture, public testing::WithParamInterface<io::EngineKind> {
 protected:
  ColdCache() : EngineFixture(io::open_engine_here(GetParam())) {}

  void make_cold(const std::string& name) const {
    const base::Fd file(::open(directory_.path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  Task<void> look_up(std::string name, Lookup& found) {
    found = co_await cache_.find(engine_.get(), std::move(name), 0);
  }

  const TemporaryDirectory directory_;
  // Lookups wait for each other however slow the disk is.
  tests::FolderCache cache_{directory_.fd(), {.wait_ms_max = 600'000}};
};

std::string_view content(const Lookup& found) {
  return found.file == nullptr ? "" : tests::bytes_of(*found.file);
}

TEST_P(ColdCache, ManyMayWishForTheSameFile) {
  CacheIndex::add_to(*engine_, cache_.cache());
  const std::string text(50'000, 't');
  directory_.write("a", text);
  make_cold("a");
  EXPECT_EQ(cache_.cache().known(cache_.folder(), "a", 0), nullptr);
  std::array<Lookup, 5> found;
  for (Lookup& one : found) start(look_up("a", one));
  run();
  for (const Lookup& one : found) {
    EXPECT_EQ(content(one), text);
    EXPECT_EQ(one.file, found[0].file) << "read once";
  }
  EXPECT_EQ(cache_.entries(), 1U);
  const Cache::Entry known = cache_.cache().known(cache_.folder(), "a", 0);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(content(known->lookup), text);
}

TEST_P(ColdCache, DifferentWishesDoNotMixUp) {
  CacheIndex::add_to(*engine_, cache_.cache());
  std::array<Lookup, 20> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    directory_.write("file" + std::to_string(i), "content " + std::to_string(i));
    make_cold("file" + std::to_string(i));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    start(look_up("file" + std::to_string(i), found[i]));
  }
  Lookup absent;
  start(look_up("none", absent));
  run();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(content(found[i]), "content " + std::to_string(i));
  }
  EXPECT_EQ(absent.kind, Lookup::Kind::absent);
}

// As in a scheme whose connections have loops of their own: lookups do not know of each other.
TEST_P(ColdCache, HoldsAFileOnceWithoutAnIndex) {
  const std::string text(50'000, 't');
  directory_.write_settled("a", text);
  make_cold("a");
  std::array<Lookup, 5> found;
  for (Lookup& one : found) start(look_up("a", one));
  run();
  for (const Lookup& one : found) {
    EXPECT_EQ(content(one), text);
    EXPECT_EQ(one.file, found[0].file) << "each had its own";
  }
}

// Bytes that the process has allocated, but for those of entries. 0 with a sanitizer.
std::int64_t allocated_bytes(tests::FolderCache& cache) {
  return static_cast<std::int64_t>(::mallinfo2().uordblks) -
         static_cast<std::int64_t>(cache.bytes());
}

TEST_P(ColdCache, ReadsHoldNothingWhileTheyWait) {
  constexpr std::size_t size = 60'000;
  std::array<Lookup, 40> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string name = "file" + std::to_string(i);
    directory_.write_settled(name, std::string(size, static_cast<char>('A' + i)));
    make_cold(name);
  }
  tests::Obstacle obstacle;
  for (int i = 0; i < 4; ++i) start(obstacle.stand(engine_.get(), {.reads = true}));
  const std::int64_t before = allocated_bytes(cache_);
  for (std::size_t i = 0; i < found.size(); ++i) {
    start(look_up("file" + std::to_string(i), found[i]));
  }
  EXPECT_LT(allocated_bytes(cache_) - before, static_cast<std::int64_t>(10 * size));
  obstacle.remove();
  run();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(content(found[i]), std::string(size, static_cast<char>('A' + i)));
  }
}

// An upload's write may take long.
TEST_P(ColdCache, ReadsDoNotWaitForWrites) {
  directory_.write_settled("a", "text");
  make_cold("a");
  tests::Obstacle write;
  for (int i = 0; i < 4; ++i) start(write.stand(engine_.get(), {}));
  Lookup found;
  bool in_time = false;
  io::SleepOp last_resort(*engine_, 60'000);
  start([](io::SleepOp& limit, tests::Obstacle& one, bool& ended) -> Task<void> {
    const bool over = co_await limit;
    ended = !over;
    one.remove();
  }(last_resort, write, in_time));
  start([](Task<void> lookup, io::SleepOp& limit) -> Task<void> {
    co_await lookup;
    if (limit.pending()) limit.cancel();
  }(look_up("a", found), last_resort));
  run();
  EXPECT_TRUE(in_time);
  EXPECT_EQ(content(found), "text");
}

INSTANTIATE_TEST_SUITE_P(Engines, ColdCache, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

}  // namespace cache_cold_test
}  // namespace h2server::file
