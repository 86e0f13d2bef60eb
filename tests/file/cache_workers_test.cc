// The cache shared by workers: each on a thread with an engine of its own.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "content/support.h"
#include "file/cache_index.h"
#include "file/support.h"
#include "io/support.h"

namespace h2server::file {
namespace cache_workers_test {

using tests::bytes_of;
using tests::FolderCache;
using tests::TemporaryDirectory;

// Time limit of what must happen, after which a test fails.
constexpr std::chrono::seconds patience{60};
constexpr std::uint32_t patience_ms = 60'000;

class CacheWorkers : public testing::TestWithParam<io::EngineKind> {
 protected:
  // Runs a coroutine on a new thread, whose engine has an index of `cache`.
  template <class Run>
  static std::thread work(Cache& cache, Run run) {
    return std::thread([&cache, run] {
      const std::unique_ptr<io::Engine> engine = io::open_engine_here(GetParam());
      CacheIndex::add_to(*engine, cache);
      io::Engine::set_current(engine.get());
      TaskGroup tasks;
      tasks.start(until_done(*engine, run(*engine)));
      if (tasks.running() > 0) engine->run();
      io::Engine::set_current(nullptr);
    });
  }

  const TemporaryDirectory directory_;

 private:
  static Task<void> until_done(io::Engine& engine, Task<void> task) {
    co_await task;
    engine.stop();
  }
};

// Counts how often a file is made. The first one is made only when all lookups are under way.
std::atomic<int> made{0};
std::atomic<int> looking{0};
constexpr int workers_max = 4;
FileRef make_and_count(std::unique_ptr<const Content> content, std::string_view path,
                       std::int64_t now_s) {
  made.fetch_add(1);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (looking.load() < workers_max && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return http::make_file(std::move(content), path, now_s);
}

Task<void> find(const Folder& folder, std::string path, int times, FileRef& found) {
  looking.fetch_add(1);
  for (int i = 0; i < times; ++i) {
    Lookup lookup = co_await folder.find(path);
    EXPECT_TRUE(i == 0 || lookup.file == found);
    found = std::move(lookup.file);
    const std::optional<Lookup> known = folder.known(path);
    EXPECT_TRUE(known.has_value()) << "now in the index";
  }
}

TEST_P(CacheWorkers, LoadAFileOnceForAll) {
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    const std::string name = std::to_string(round);
    directory_.write_settled(name, "content");
    const base::Fd written(::open(directory_.path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(written.get()), 0);
    ASSERT_EQ(::posix_fadvise(written.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    // On a busy machine, a worker may begin late.
    Cache cache({.wait_ms_max = patience_ms});
    const Folder folder("", base::Fd(::fcntl(directory_.fd(), F_DUPFD_CLOEXEC, 0)),
                        {.make_file = make_and_count, .fresh_ms = 1'000'000}, cache);
    made.store(0);
    looking.store(0);
    std::array<FileRef, workers_max> found;
    std::vector<std::thread> workers;
    for (FileRef& one : found) {
      workers.push_back(
          work(cache, [&folder, name, &one](io::Engine&) { return find(folder, name, 3, one); }));
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(made.load(), 1);
    for (const FileRef& one : found) {
      ASSERT_NE(one, nullptr);
      EXPECT_EQ(one.get(), found[0].get()) << "the same file";
      EXPECT_EQ(bytes_of(*one), "content") << "it outlives its worker";
    }
  }
}

// The worker looks nothing up any more; only the wake-up makes it release the file.
TEST_P(CacheWorkers, DroppedFilesAreReleasedByIdleWorkers) {
  directory_.write_settled("a", "aaaa");
  directory_.write_settled("b", "bbbb");
  FolderCache small(directory_.fd(), {.entries_max = 1}, 1'000'000);
  std::weak_ptr<const File> of_worker;
  std::atomic<bool> cached{false};
  std::atomic<bool> stopping{false};
  std::thread worker = work(small.cache(), [&](io::Engine& engine) -> Task<void> {
    return [](io::Engine& own, const Folder& folder, std::weak_ptr<const File>& file,
              std::atomic<bool>& done, std::atomic<bool>& stop) -> Task<void> {
      Lookup lookup = co_await folder.find("a");
      file = lookup.file;
      lookup.file = nullptr;
      done.store(true);
      while (!stop.load()) {
        io::SleepOp pause(own, 1);
        co_await pause;
      }
    }(engine, small.folder(), of_worker, cached, stopping);
  });
  while (!cached.load()) std::this_thread::yield();
  EXPECT_FALSE(of_worker.expired());
  EXPECT_EQ(bytes_of(*small.folder().find_now("b").file), "bbbb");  // evicts the other
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!of_worker.expired() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(of_worker.expired());
  stopping.store(true);
  worker.join();
}

// Where nothing is believed, a load that began before a lookup does not answer it.
TEST_P(CacheWorkers, LoadForThemselvesWhereNothingIsFresh) {
  directory_.write_settled("a", "one");
  FolderCache cache(directory_.fd(), {}, 0);
  std::vector<std::thread> workers;
  for (int i = 0; i < workers_max; ++i) {
    workers.push_back(work(cache.cache(), [&](io::Engine&) -> Task<void> {
      return [](const Folder& folder, const TemporaryDirectory& directory) -> Task<void> {
        for (int round = 0; round < 200; ++round) {
          const std::string name = std::to_string(round);
          if (round % 10 == 0) directory.write_settled(name, "new");
          const Lookup lookup = co_await folder.find(name);
          EXPECT_EQ(lookup.kind == Lookup::Kind::file, round % 10 == 0) << round;
        }
      }(cache.folder(), directory_);
    }));
  }
  for (std::thread& worker : workers) worker.join();
}

// A worker whose handler blocks keeps the others waiting only so long.
TEST_P(CacheWorkers, DoNotWaitForALoadThatTakesTooLong) {
  directory_.write_settled("a", "content");
  Cache cache;
  std::atomic<bool> blocking{false};
  std::atomic<bool> going_on{false};
  static std::atomic<bool>* entered;
  static std::atomic<bool>* leave;
  entered = &blocking;
  leave = &going_on;
  const auto make_slowly = [](std::unique_ptr<const Content> content, std::string_view path,
                              std::int64_t now_s) {
    const bool first = !entered->exchange(true);
    while (first && !leave->load()) std::this_thread::yield();
    return http::make_file(std::move(content), path, now_s);
  };
  const Folder folder("", base::Fd(::fcntl(directory_.fd(), F_DUPFD_CLOEXEC, 0)),
                      {.make_file = make_slowly, .fresh_ms = 1'000'000}, cache);
  FileRef of_slow;
  FileRef of_other;
  std::thread slow = work(cache, [&](io::Engine&) { return find(folder, "a", 1, of_slow); });
  while (!blocking.load()) std::this_thread::yield();
  work(cache, [&](io::Engine&) { return find(folder, "a", 1, of_other); }).join();
  EXPECT_NE(of_other, nullptr);
  going_on.store(true);
  slow.join();
  EXPECT_NE(of_slow, nullptr);
}

// Engines end while another thread evicts what their indexes hold.
TEST_P(CacheWorkers, EndWhileOthersEvict) {
  for (int i = 0; i < 20; ++i) directory_.write_settled(std::to_string(i), "content");
  FolderCache small(directory_.fd(), {.entries_max = 2}, 1'000'000);
  std::atomic<bool> ended{false};
  std::thread evicting([&] {
    for (int i = 0; !ended.load(); i = (i + 1) % 20) {
      tests::run_now(small.find(nullptr, std::to_string(i), 0));
    }
  });
  for (int round = 0; round < 100; ++round) {
    FileRef found;
    work(small.cache(), [&](io::Engine&) -> Task<void> {
      return [](const Folder& folder, FileRef& file) -> Task<void> {
        for (int i = 0; i < 5; ++i) {
          const Lookup lookup = co_await folder.find(std::to_string(i));
          file = lookup.file;
        }
      }(small.folder(), found);
    }).join();
    EXPECT_NE(found, nullptr);
  }
  ended.store(true);
  evicting.join();
}

TEST_P(CacheWorkers, SeeAChangeThatAnotherOneFound) {
  directory_.write_settled("a", "one");
  FolderCache cache(directory_.fd(), {}, 1'000'000);
  EXPECT_EQ(bytes_of(*cache.folder().find_now("a").file), "one");
  std::thread worker = work(cache.cache(), [&](io::Engine&) -> Task<void> {
    return [](FolderCache& all, const TemporaryDirectory& directory) -> Task<void> {
      const Lookup before = co_await all.folder().find("a");
      EXPECT_EQ(bytes_of(*before.file), "one");
      EXPECT_TRUE(all.folder().known("a").has_value());
      directory.write_settled("a", "other");
      std::thread([&all] {
        constexpr std::int64_t much_later = std::int64_t{1} << 50;
        tests::run_now(all.find(nullptr, "a", much_later));
      }).join();
      EXPECT_FALSE(all.folder().known("a").has_value()) << "the old entry was dropped";
      const Lookup after = co_await all.folder().find("a");
      EXPECT_EQ(bytes_of(*after.file), "other");
    }(cache, directory_);
  });
  worker.join();
}

INSTANTIATE_TEST_SUITE_P(Engines, CacheWorkers, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

// The cache does not see the hits of an index, but learns of them when it evicts.
TEST_P(CacheWorkers, KeepWhatTheyUse) {
  for (const char* const name : {"hot", "a", "b", "c", "d"}) directory_.write_settled(name, name);
  FolderCache small(directory_.fd(), {.entries_max = 3}, 1'000'000);
  std::thread worker = work(small.cache(), [&](io::Engine&) -> Task<void> {
    return [](const Folder& folder) -> Task<void> {
      const Lookup first = co_await folder.find("hot");
      for (const char* const name : {"a", "b", "c", "d"}) {
        EXPECT_TRUE(folder.known("hot").has_value()) << name;
        const Lookup other = co_await folder.find(name);
        EXPECT_NE(other.file, nullptr);
      }
      const std::optional<Lookup> last = folder.known("hot");
      EXPECT_TRUE(last.has_value() && last->file == first.file);
    }(small.folder());
  });
  worker.join();
}

TEST(Cache, ManyHotMappedFilesDoNotThrash) {
  const TemporaryDirectory directory;
  FolderCache cache(directory.fd(), {.held_bytes_max = 4}, 1'000'000);
  constexpr int count = 65;
  std::vector<FileRef> files;
  for (int i = 0; i < count; ++i) {
    directory.write_settled(std::to_string(i), "larger than four bytes");
    files.push_back(cache.folder().find_now(std::to_string(i)).file);
  }
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(cache.folder().find_now(std::to_string(i)).file, files[static_cast<std::size_t>(i)]);
  }
}

TEST(Cache, KeepsADescriptorInEightForMappedFiles) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const auto& [descriptors, mapped] :
       {std::pair<rlim_t, std::size_t>{1000, 125}, {8192, 1024}, {100'000, 1024}}) {
    if (descriptors > before.rlim_max) continue;
    const tests::LoweredLimit limit(RLIMIT_NOFILE, descriptors);
    EXPECT_EQ(Cache().mapped_max(), mapped) << descriptors;
  }
}

}  // namespace cache_workers_test
}  // namespace h2server::file
