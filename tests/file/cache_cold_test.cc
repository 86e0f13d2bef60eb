// The file cache when it has to wait for the disk, on each engine.
#include <fcntl.h>

#include "content/support.h"
#include "file/cache_index.h"
#include "file/support.h"
#include "io/support.h"

namespace h2server::file {
namespace cache_cold_test {

using tests::TemporaryDirectory;

class ColdCache : public io::EngineFixture, public testing::WithParamInterface<io::EngineKind> {
 protected:
  ColdCache() : EngineFixture(io::open_engine_here(GetParam())) {
    CacheIndex::add_to(*engine_, cache_.cache());
  }

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

INSTANTIATE_TEST_SUITE_P(Engines, ColdCache, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

}  // namespace cache_cold_test
}  // namespace h2server::file
