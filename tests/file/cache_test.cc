#include "file/cache.h"

#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "content/support.h"
#include "file/support.h"

namespace h2server::file {
namespace cache_test {

using tests::FolderCache;
using tests::LoweredLimit;
using tests::run_now;
using tests::TemporaryDirectory;
using Kind = Lookup::Kind;

std::string content(const Lookup& found) {
  if (found.file == nullptr) return "-";
  return std::string(tests::bytes_of(*found.file));
}

struct CacheTest : testing::Test {
  // Returns the content of `path` at `now_ms`, or "-" without a file.
  std::string at(std::int64_t now_ms, const std::string& path = "a.txt") {
    return content(run_now(cache.find(nullptr, path, now_ms)));
  }

  TemporaryDirectory directory;
  FolderCache cache{directory.fd()};
};

TEST_F(CacheTest, KindsOfPaths) {
  directory.write("a.txt", "a");
  directory.write("sub/b.txt", "b");
  directory.write("empty", "");
  ASSERT_EQ(::mkfifo(directory.path_of("fifo").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("sub", directory.path_of("link").c_str()), 0);
  ASSERT_EQ(::symlink("loop", directory.path_of("loop").c_str()), 0);
  const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  directory.path_of("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  struct Row {
    std::string path;
    Kind kind;
    std::string content;
  };
  const std::vector<Row> rows = {
      {"a.txt", Kind::file, "a"},     {"/a.txt", Kind::file, "a"},
      {"sub/b.txt", Kind::file, "b"}, {"link/b.txt", Kind::file, "b"},
      {"empty", Kind::file, ""},      {"sub", Kind::directory, "-"},
      {"sub/", Kind::directory, "-"}, {"link", Kind::directory, "-"},
      {"", Kind::directory, "-"},     {"/", Kind::directory, "-"},
      {"gone", Kind::absent, "-"},    {"a.txt/", Kind::absent, "-"},
      {"a.txt/b", Kind::absent, "-"}, {"../a.txt", Kind::absent, "-"},
      {"fifo", Kind::absent, "-"},    {"socket", Kind::absent, "-"},
      {"loop", Kind::absent, "-"},    {std::string(300, 'x'), Kind::absent, "-"},
  };
  for (const Row& row : rows) {
    for (int again = 0; again < 2; ++again) {
      const Lookup found = run_now(cache.find(nullptr, row.path, 0));
      EXPECT_EQ(found.kind, row.kind) << row.path;
      EXPECT_EQ(content(found), row.content) << row.path;
    }
  }
  EXPECT_EQ(cache.entries(), rows.size());
}

TEST_F(CacheTest, HeldOrMappedBySize) {
  const CacheLimits limits{.held_bytes_max = 8};
  FolderCache small(directory.fd(), limits);
  for (const std::size_t size : {0, 1, 7, 8, 9, 5000}) {
    const std::string name = "f" + std::to_string(size);
    const std::string bytes(size, 'x');
    directory.write(name, bytes);
    const Lookup found = run_now(small.find(nullptr, name, 0));
    ASSERT_EQ(found.kind, Kind::file) << size;
    EXPECT_EQ(content(found), bytes);
    EXPECT_EQ(found.file->content().mapped(), size > 8) << size;
    EXPECT_EQ((found.file->content().descriptor() >= 0), size > 8) << size;
    EXPECT_TRUE(found.file->content().unchanged());
  }
}

TEST_F(CacheTest, AMappedFileKnowsThatItChanged) {
  FolderCache mapping(directory.fd(), {.held_bytes_max = 0});
  directory.write_settled("a", "one");
  const FileRef file = run_now(mapping.find(nullptr, "a", 0)).file;
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->content().unchanged());
  directory.write("b", "new");
  ASSERT_EQ(::renameat(directory.fd(), "b", directory.fd(), "a"), 0);
  EXPECT_TRUE(file->content().unchanged()) << "another file of that name is not this one";
  const FileRef next = run_now(mapping.find(nullptr, "a", 1000)).file;
  ASSERT_NE(next, nullptr);
  directory.set_modified("a", 5);
  EXPECT_FALSE(next->content().unchanged());
}

TEST_F(CacheTest, AbsenceIsRememberedAsLongAsItIsFresh) {
  EXPECT_EQ(at(5000), "-");
  directory.write("a.txt", "there");
  EXPECT_EQ(at(5999), "-");
  EXPECT_EQ(at(6000), "there");
  ASSERT_EQ(::unlinkat(directory.fd(), "a.txt", 0), 0);
  EXPECT_EQ(at(6999), "there");
  EXPECT_EQ(at(7000), "-");
  EXPECT_EQ(cache.entries(), 1U);
}

// A held file is trusted while it is fresh. A mapped file shows changes in place at once, so the
// cache has to notice them at once.
TEST_F(CacheTest, ChangesAreSeenWhenTheEntryIsChecked) {
  using Change = void (*)(const TemporaryDirectory&);
  struct Row {
    const char* name;
    Change change;
    std::string expected;
    bool in_place = false;
  };
  const std::vector<Row> rows = {
      {"nothing", [](const TemporaryDirectory&) {}, "first"},
      {"replaced by rename, same size and time",
       [](const TemporaryDirectory& d) {
         d.write_settled("new", "other");
         ASSERT_EQ(::renameat(d.fd(), "new", d.fd(), "a.txt"), 0);
       },
       "other"},
      {"truncated",
       [](const TemporaryDirectory& d) { ASSERT_EQ(::truncate(d.path_of("a.txt").c_str(), 2), 0); },
       "fi", true},
      {"truncated to nothing", [](const TemporaryDirectory& d) { d.write("a.txt", ""); }, "", true},
      {"rewritten, same size", [](const TemporaryDirectory& d) { d.write("a.txt", "tsrif"); },
       "tsrif", true},
      {"rewritten, same size, an earlier time",
       [](const TemporaryDirectory& d) { d.write_settled("a.txt", "older", 999'999'999); }, "older",
       true},
      {"rewritten, same size, same time",
       [](const TemporaryDirectory& d) { d.write_settled("a.txt", "again"); }, "again", true},
      {"grown, same time", [](const TemporaryDirectory& d) { d.write_settled("a.txt", "longer"); },
       "longer", true},
      {"removed", [](const TemporaryDirectory& d) { ASSERT_EQ(::unlinkat(d.fd(), "a.txt", 0), 0); },
       "-"},
      {"became a directory",
       [](const TemporaryDirectory& d) {
         ASSERT_EQ(::unlinkat(d.fd(), "a.txt", 0), 0);
         ASSERT_EQ(::mkdirat(d.fd(), "a.txt", 0755), 0);
       },
       "-"},
  };
  for (const bool mapped : {false, true}) {
    for (const Row& row : rows) {
      const TemporaryDirectory own;
      FolderCache checked(own.fd(),
                          {.held_bytes_max = mapped ? 0U : 1000U, .snapshot_bytes_max = 0});
      own.write_settled("a.txt", "first");
      const Lookup before = run_now(checked.find(nullptr, "a.txt", 0));
      ASSERT_EQ(content(before), "first");
      row.change(own);
      if (mapped && row.in_place) {
        EXPECT_EQ(content(run_now(checked.find(nullptr, "a.txt", 999))), row.expected) << row.name;
      } else {
        EXPECT_EQ(run_now(checked.find(nullptr, "a.txt", 999)).file, before.file)
            << row.name << ": believed";
      }
      const Lookup after = run_now(checked.find(nullptr, "a.txt", 1000));
      EXPECT_EQ(content(after), row.expected) << row.name;
      EXPECT_EQ(after.file == before.file, row.expected == "first") << row.name;
      EXPECT_EQ(run_now(checked.find(nullptr, "a.txt", 1998)).file, after.file)
          << row.name << ": fresh again";
    }
  }
}

TEST_F(CacheTest, Settled) {
  const std::int64_t now = base::unix_seconds();
  constexpr std::int64_t far = std::int64_t{1} << 60;  // more nanoseconds than 64 bits hold
  const std::vector<std::pair<std::int64_t, bool>> rows = {
      {now - 2, true},  {now - 3600, true},  {now - far, true},  {0, true},
      {now + 2, false}, {now + 3600, false}, {now + far, false},
  };
  for (const auto& [changed_s, settled] : rows) {
    FileVersion version;
    version.changed_s = changed_s;
    EXPECT_EQ(is_settled(version), settled) << changed_s - now;
  }
}

// A file that changed just now could change again without a visible difference.
TEST_F(CacheTest, UnsettledFilesAreReadAgain) {
  constexpr int attempts = 100;  // the first one suffices unless the machine is slow
  for (int i = 0; i < attempts; ++i) {
    const std::string name = std::to_string(i);
    directory.write(name, "fresh");
    const FileRef before = run_now(cache.find(nullptr, name, 0)).file;
    if (is_settled(before->content().version())) continue;
    EXPECT_EQ(run_now(cache.find(nullptr, name, 999)).file, before);
    EXPECT_NE(run_now(cache.find(nullptr, name, 1000)).file, before);
    return;
  }
  GTEST_SKIP() << "too slow a machine to look at a file while it is fresh";
}

TEST_F(CacheTest, ZeroFreshMsChecksEveryTime) {
  FolderCache checking(directory.fd(), {}, 0);
  EXPECT_EQ(content(run_now(checking.find(nullptr, "a", 0))), "-");
  directory.write_settled("a", "one");
  const Lookup one = run_now(checking.find(nullptr, "a", 0));
  EXPECT_EQ(content(one), "one");
  EXPECT_EQ(run_now(checking.find(nullptr, "a", 0)).file, one.file);
  directory.write("a", "two and more");
  EXPECT_EQ(content(run_now(checking.find(nullptr, "a", 0))), "two and more");
}

// Threads read the clock at different times, so a check may be later than a lookup that follows it.
TEST_F(CacheTest, ZeroFreshMsChecksEvenWhatWasCheckedLater) {
  FolderCache checking(directory.fd(), {}, 0);
  EXPECT_EQ(content(run_now(checking.find(nullptr, "a", 1000))), "-");
  EXPECT_EQ(checking.cache().known(checking.folder(), "a", 999), nullptr);
}

TEST_F(CacheTest, LeastRecentlyUsedGoesFirst) {
  FolderCache small(directory.fd(), {.entries_max = 3});
  for (const char* const name : {"a", "b", "c", "d"}) directory.write(name, name);
  const FileRef a = run_now(small.find(nullptr, "a", 0)).file;
  const FileRef b = run_now(small.find(nullptr, "b", 0)).file;
  run_now(small.find(nullptr, "c", 0));
  EXPECT_EQ(run_now(small.find(nullptr, "a", 0)).file, a);  // b is now the least recently used
  run_now(small.find(nullptr, "d", 0));
  EXPECT_EQ(small.entries(), 3U);
  EXPECT_EQ(run_now(small.find(nullptr, "a", 0)).file, a);
  EXPECT_NE(run_now(small.find(nullptr, "b", 0)).file, b) << "it was loaded anew";
  EXPECT_EQ(small.entries(), 3U);
  run_now(small.find(nullptr, "gone", 0));  // absent entries count, too
  run_now(small.find(nullptr, "gone too", 0));
  run_now(small.find(nullptr, "gone as well", 0));
  EXPECT_EQ(small.entries(), 3U);
  EXPECT_NE(run_now(small.find(nullptr, "a", 0)).file, a);
}

TEST_F(CacheTest, BytesAreBounded) {
  FolderCache small(directory.fd(), {.bytes_max = 100});
  for (const char* const name : {"a", "b", "c"}) directory.write(name, std::string(40, *name));
  EXPECT_EQ(small.bytes(), 0U);
  const FileRef a = run_now(small.find(nullptr, "a", 0)).file;
  EXPECT_EQ(small.bytes(), 41U);  // including the name
  const FileRef b = run_now(small.find(nullptr, "b", 0)).file;
  EXPECT_EQ(small.bytes(), 82U);
  run_now(small.find(nullptr, "c", 0));
  EXPECT_EQ(small.bytes(), 82U);
  EXPECT_EQ(small.entries(), 2U);
  EXPECT_EQ(run_now(small.find(nullptr, "b", 0)).file, b);
  EXPECT_NE(run_now(small.find(nullptr, "a", 0)).file, a);
  EXPECT_EQ(content({Kind::file, a}), std::string(40, 'a')) << "a FileRef survives eviction";
  EXPECT_TRUE(a->content().unchanged());
}

TEST_F(CacheTest, WhatIsLargerThanAllIsServedWithoutBeingKept) {
  FolderCache small(directory.fd(), {.bytes_max = 50});
  directory.write_settled("keep", "kept");
  directory.write_settled("grows", "small");
  directory.write("large", std::string(50, 'x'));  // including its name, it is too large
  const FileRef kept = run_now(small.find(nullptr, "keep", 0)).file;
  run_now(small.find(nullptr, "grows", 0));
  const std::size_t bytes = small.bytes();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(content(run_now(small.find(nullptr, "large", 0))), std::string(50, 'x'));
    EXPECT_EQ(small.bytes(), bytes);
    EXPECT_EQ(small.entries(), 2U);
  }
  EXPECT_EQ(run_now(small.find(nullptr, "keep", 0)).file, kept);
  directory.write("grows", std::string(60, 'x'));
  EXPECT_EQ(content(run_now(small.find(nullptr, "grows", 1000))), std::string(60, 'x'));
  EXPECT_EQ(small.entries(), 1U) << "the old version went";
  EXPECT_EQ(small.bytes(), 8U);
}

TEST_F(CacheTest, BytesFollowWhatIsReplaced) {
  directory.write_settled("a.txt", "12345");
  at(0);
  EXPECT_EQ(cache.bytes(), 10U);
  directory.write_settled("a.txt", "123", 5);
  at(1000);
  EXPECT_EQ(cache.bytes(), 8U);
  ASSERT_EQ(::unlinkat(directory.fd(), "a.txt", 0), 0);
  at(2000);
  EXPECT_EQ(cache.bytes(), 5U);
}

// --- a system that is short of something --------------------------------------------------------

TEST_F(CacheTest, ShortOfDescriptorsHeldFilesAreServed) {
  for (const char* const name : {"a", "b", "c"}) directory.write_settled(name, name);
  tests::on_a_new_thread([&] {
    FolderCache holding(directory.fd());
    const FileRef a = run_now(holding.find(nullptr, "a", 0)).file;
    const LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    EXPECT_EQ(content(run_now(holding.find(nullptr, "b", 0))), "b");
    EXPECT_EQ(content(run_now(holding.find(nullptr, "c", 0))), "c");
    EXPECT_EQ(run_now(holding.find(nullptr, "gone", 0)).kind, Kind::absent);
    EXPECT_EQ(run_now(holding.find(nullptr, "a", 1000)).file, a) << "checked, and kept";
    EXPECT_EQ(holding.entries(), 4U);
  });
}

TEST_F(CacheTest, ShortOfDescriptorsMappedFilesFailAndAreNotRemembered) {
  for (const char* const name : {"a", "b", "c"}) directory.write_settled(name, name);
  tests::on_a_new_thread([&] {
    FolderCache mapping(directory.fd(), {.held_bytes_max = 0});
    const FileRef a = run_now(mapping.find(nullptr, "a", 0)).file;
    {
      const LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
      EXPECT_EQ(content(run_now(mapping.find(nullptr, "b", 0))), "b")
          << "it has the descriptor that was spare";
      EXPECT_EQ(run_now(mapping.find(nullptr, "c", 0)).kind, Kind::failed);
      EXPECT_EQ(mapping.entries(), 2U) << "nobody else's trouble";
      EXPECT_EQ(run_now(mapping.find(nullptr, "a", 999)).file, a);
    }
    EXPECT_EQ(content(run_now(mapping.find(nullptr, "c", 0))), "c");
  });
}

TEST_F(CacheTest, MappedFilesAreBounded) {
  FolderCache small(directory.fd(), {.mapped_max = 2, .held_bytes_max = 4});
  directory.write_settled("held", "held");
  for (const char* const name : {"a", "b", "c"}) directory.write_settled(name, "mapped");
  const FileRef held = run_now(small.find(nullptr, "held", 0)).file;
  const FileRef a = run_now(small.find(nullptr, "a", 0)).file;
  const FileRef b = run_now(small.find(nullptr, "b", 0)).file;
  EXPECT_EQ(run_now(small.find(nullptr, "a", 0)).file, a);  // b is now the least recently used
  run_now(small.find(nullptr, "c", 0));
  EXPECT_EQ(small.entries(), 3U);
  EXPECT_EQ(run_now(small.find(nullptr, "held", 0)).file, held);
  EXPECT_EQ(run_now(small.find(nullptr, "a", 0)).file, a);
  EXPECT_NE(run_now(small.find(nullptr, "b", 0)).file, b);
  EXPECT_EQ(small.entries(), 3U);
}

// By two that loaded it at the same time. Only a settled file has one content for one version, and
// an object of a store has no inode.
TEST_F(CacheTest, ASettledFileIsHeldOnce) {
  struct Row {
    std::uint64_t inode;
    bool settled;
    bool once;
  };
  for (const Row& row : {Row{1, true, true}, Row{1, false, false}, Row{0, true, false}}) {
    FolderCache other(directory.fd());
    const auto keep = [&] {
      const FileVersion version{.inode = row.inode, .size = 4};
      auto loaded = std::make_unique<const Content>(version, std::make_unique<char[]>(4));
      const FileRef file = http::make_file(std::move(loaded), "a", 0);
      return other.cache().keep(std::make_shared<const CacheEntry>(
          other.folder(), "a", Lookup{Kind::file, file}, row.settled, 0, false));
    };
    const Cache::Entry first = keep();
    EXPECT_EQ(keep() == first, row.once) << row.inode << ' ' << row.settled;
    EXPECT_EQ(other.entries(), 1U);
  }
}

TEST_F(CacheTest, WhatMayNotBeReadIsForbidden) {
  directory.write("closed", "x");
  directory.write("hidden/x", "x");
  ASSERT_EQ(::chmod(directory.path_of("closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(directory.path_of("hidden").c_str(), 0), 0);
  const bool root = ::geteuid() == 0;
  if (root) ::setfsuid(65534);  // affects only this thread
  const Kind closed = run_now(cache.find(nullptr, "closed", 0)).kind;
  const Kind hidden = run_now(cache.find(nullptr, "hidden/x", 0)).kind;
  if (root) ::setfsuid(0);
  EXPECT_EQ(closed, Kind::forbidden);
  EXPECT_EQ(hidden, Kind::forbidden);
  ASSERT_EQ(::chmod(directory.path_of("hidden").c_str(), 0755), 0);
  EXPECT_EQ(run_now(cache.find(nullptr, "hidden/x", 999)).kind, Kind::forbidden);
  EXPECT_EQ(content(run_now(cache.find(nullptr, "hidden/x", 1000))), "x");
}

}  // namespace cache_test
}  // namespace h2server::file
