#include "file/slow_file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "content/support.h"
#include "file/cache_index.h"
#include "file/parts_source.h"
#include "file/slow_descriptor.h"
#include "file/support.h"
#include "http/outgoing_body.h"
#include "io/support.h"

namespace h2server::file {
namespace slow_file_system_test {

using tests::run_now;
using tests::TemporaryDirectory;

TEST(SlowFileSystem, Types) {
  struct Row {
    const char* name;
    std::uint32_t type;  // of linux/magic.h or statfs(2)
    bool waits;
  };
  const std::vector<Row> rows = {{"ext4", 0xef53, false},
                                 {"xfs", 0x58465342, false},
                                 {"btrfs", 0x9123683e, false},
                                 {"tmpfs", 0x01021994, false},
                                 {"overlayfs", 0x794c7630, false},
                                 {"zfs", 0x2fc12fc1, false},
                                 {"f2fs", 0xf2f52010, false},
                                 {"squashfs", 0x73717368, false},
                                 {"exfat", 0x2011bab0, false},
                                 {"proc", 0x9fa0, false},
                                 {"nfs", 0x6969, true},
                                 {"fuse, virtiofs", 0x65735546, true},
                                 {"cifs", 0xff534d42, true},
                                 {"smb2", 0xfe534d42, true},
                                 {"smb", 0x517b, true},
                                 {"9p", 0x01021997, true},
                                 {"ceph", 0x00c36400, true},
                                 {"afs", 0x5346414f, true},
                                 {"kafs", 0x6b414653, true},
                                 {"coda", 0x73757245, true},
                                 {"ncp", 0x564c, true},
                                 {"lustre", 0x0bd00bd0, true},
                                 {"gfs2", 0x01161970, true},
                                 {"ocfs2", 0x7461636f, true},
                                 {"gpfs", 0x47504653, true},
                                 {"vboxsf", 0x786f4256, true},
                                 {"one that is not known", 1, true}};
  for (const Row& row : rows) EXPECT_EQ(type_may_wait(row.type), row.waits) << row.name;
}

TEST(SlowFileSystem, OfADescriptor) {
  const base::Fd memory(::memfd_create("slow_file_system_test", MFD_CLOEXEC));
  EXPECT_FALSE(may_wait(memory.get()));
  const base::Fd place(::open("/proc", O_PATH | O_CLOEXEC));
  EXPECT_FALSE(may_wait(place.get()));
  EXPECT_TRUE(may_wait(-1)) << "it can't be asked";
}

// What the file system was asked on which thread: those that made files or asked for its type.
std::mutex seen_mutex;
std::set<std::thread::id> seen;
void see() {
  const std::lock_guard lock(seen_mutex);
  seen.insert(std::this_thread::get_id());
}
bool see_slow(int) noexcept {
  see();
  return true;
}
// Slow is only what is on another file system than /.
bool slow_below_root(int descriptor) noexcept {
  see();
  const base::Fd root(::open("/", O_PATH | O_CLOEXEC));
  return version_of(descriptor).value().device != version_of(root.get()).value().device;
}

FileRef make_and_see(std::unique_ptr<const Content> content, std::string_view path,
                     std::int64_t now_s) {
  see();
  return http::make_file(std::move(content), path, now_s);
}

class SlowFolder : public io::EngineFixture, public testing::WithParamInterface<io::EngineKind> {
 protected:
  SlowFolder() : EngineFixture(io::open_engine_here(GetParam())) {
    CacheIndex::add_to(*engine_, cache_);
    io::Engine::set_current(engine_.get());
    open_folder(directory_.fd(), see_slow);
  }
  ~SlowFolder() override { io::Engine::set_current(nullptr); }

  void open_folder(int directory, bool (*is_slow)(int) noexcept) {
    folder_ = std::make_unique<Folder>(
        "", base::Fd(::fcntl(directory, F_DUPFD_CLOEXEC, 0)),
        FolderOptions{.make_file = make_and_see, .fresh_ms = 1'000'000, .is_slow = is_slow},
        cache_);
    seen.clear();
  }
  Lookup find(const std::string& path) {
    Lookup found;
    run(store(path, found));
    return found;
  }
  Task<void> store(std::string path, Lookup& found) {
    found = co_await folder_->find(std::move(path));
  }
  // Returns the body, or "error".
  std::string read(BodySource& source) {
    std::string all;
    run(read_all(source, all));
    return all;
  }
  static Task<void> read_all(BodySource& source, std::string& all) {
    for (;;) {
      const Result<std::string_view> piece = co_await source.read();
      if (!piece) all = "error";
      if (!piece || piece->empty()) co_return;
      all += *piece;
    }
  }
  [[nodiscard]] static bool seen_here() {
    const std::lock_guard lock(seen_mutex);
    return seen.contains(std::this_thread::get_id());
  }
  [[nodiscard]] static std::size_t threads_seen() {
    const std::lock_guard lock(seen_mutex);
    return seen.size();
  }

  static constexpr std::size_t large = 200'000;
  const TemporaryDirectory directory_;
  Cache cache_{{.snapshot_age_s_min = 0}};
  std::unique_ptr<Folder> folder_;
};

TEST_P(SlowFolder, ASmallFileIsLoadedByAThreadAndThenKnown) {
  directory_.write_settled("a", "small");
  const Lookup found = find("a");
  ASSERT_EQ(found.kind, Lookup::Kind::file);
  EXPECT_EQ(tests::bytes_of(*found.file), "small");
  EXPECT_FALSE(found.file->content().may_wait());
  EXPECT_FALSE(seen_here());
  EXPECT_GT(threads_seen(), 0U);
  EXPECT_TRUE(folder_->known("a").has_value());
  EXPECT_EQ(find("gone").kind, Lookup::Kind::absent);
  EXPECT_TRUE(folder_->known("gone").has_value());
}

TEST_P(SlowFolder, ALargeFileIsNeitherMappedNorKnownWithoutALook) {
  directory_.write_settled("a", std::string(large, 'x'));
  const Lookup found = find("a");
  ASSERT_EQ(found.kind, Lookup::Kind::file);
  const Content& content = found.file->content();
  EXPECT_TRUE(content.may_wait());
  EXPECT_TRUE(content.changes_with_file());
  EXPECT_FALSE(content.mapped());
  EXPECT_EQ(content.bytes(), nullptr);
  EXPECT_EQ(::fcntl(content.descriptor(), F_GETFL) & O_PATH, O_PATH) << "its end does not wait";
  EXPECT_FALSE(folder_->known("a").has_value()) << "an event loop can't check it";
  const std::uint64_t loads = cache_.stats().loads;
  EXPECT_EQ(find("a").file->content().descriptor(), content.descriptor()) << "the same";
  EXPECT_EQ(cache_.stats().loads, loads + 1);
  EXPECT_FALSE(seen_here());
}

TEST_P(SlowFolder, ManyMayWishForTheSameFile) {
  directory_.write_settled("a", std::string(large, 'x'));
  std::array<Lookup, 5> found;
  for (Lookup& one : found) start(store("a", one));
  run();
  for (const Lookup& one : found) {
    ASSERT_NE(one.file, nullptr);
    EXPECT_EQ(one.file->size(), large);
  }
  EXPECT_FALSE(seen_here());
}

TEST_P(SlowFolder, AChangeIsSeenByTheNextLook) {
  directory_.write_settled("a", std::string(large, 'x'));
  const Lookup first = find("a");
  directory_.write_settled("a", std::string(large, 'y'), 1'100'000'000);
  EXPECT_FALSE(first.file->content().unchanged());
  const Lookup second = find("a");
  ASSERT_NE(second.file, nullptr);
  std::string bytes(3, '\0');
  EXPECT_TRUE(second.file->content().copy(bytes, large - 3, true));
  EXPECT_EQ(bytes, "yyy");
  EXPECT_FALSE(first.file->content().copy(bytes, 0, true));
}

TEST_P(SlowFolder, AFileInUseGetsASnapshotWhichIsKnown) {
  directory_.write_settled("a", std::string(large, 'x'));
  for (int use = 0; use < 4; ++use) find("a");
  const std::optional<Lookup> known = folder_->known("a");
  ASSERT_TRUE(known.has_value());
  EXPECT_TRUE(known->file->content().is_snapshot());
  EXPECT_EQ(tests::bytes_of(*known->file), std::string(large, 'x'));
  EXPECT_FALSE(seen_here());
}

TEST_P(SlowFolder, AThreadFollowsAPathToAnotherMount) {
  const base::Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_folder(root.get(), slow_below_root);
  EXPECT_FALSE(folder_->may_wait());
  EXPECT_EQ(find("proc/version").kind, Lookup::Kind::file);
  EXPECT_FALSE(seen_here());
  EXPECT_GT(threads_seen(), 0U);
  EXPECT_EQ(find("proc/none").kind, Lookup::Kind::absent);
  EXPECT_EQ(find("../..").kind, Lookup::Kind::absent) << "nor does a path lead outside";
}

TEST_P(SlowFolder, DescriptorsOfFoldersAreOpenedByAThread) {
  directory_.write("d/a", "a");
  std::optional<Result<Folder::Opened, int>> opened;
  const auto open = [&](std::string path) -> Task<void> {
    Result<Folder::Opened, int> found =
        co_await folder_->open_beneath(std::move(path), O_RDONLY | O_DIRECTORY);
    opened.emplace(std::move(found));
  };
  run(open("d"));
  ASSERT_TRUE(opened->has_value());
  EXPECT_TRUE((*opened)->slow);
  EXPECT_EQ((*opened)->version, version_of((*opened)->descriptor.get()).value());
  EXPECT_FALSE(seen_here());
  run(open("d/a"));
  EXPECT_EQ(opened->error(), ENOTDIR);
}

// --- bodies -----------------------------------------------------------------------------------

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

TEST_P(SlowFolder, ABodyIsPulled) {
  const std::string text = pattern(large);
  directory_.write_settled("a", text);
  const FileRef file = find("a").file;
  struct Row {
    std::uint64_t first;
    std::uint64_t count;
  };
  for (const Row& row : {Row{0, large}, Row{1, 1}, Row{3, 64 * 1024}, Row{70'000, 0}}) {
    Response response(200);
    response.set_body(Response::FilePart{file, row.first, row.count});
    http::OutgoingBody body;
    body.open(response, {.inline_bytes_max = 1000});
    EXPECT_EQ(body.finished(), row.count == 0);
    EXPECT_EQ(body.next_size(SIZE_MAX), 0U);
    EXPECT_EQ(body.not_resident(), nullptr);
    EXPECT_TRUE(body.whole(SIZE_MAX).empty());
    EXPECT_TRUE(body.is_pulled());
    ASSERT_NE(body.source(), nullptr);
    EXPECT_FALSE(body.source()->reads_request());
    EXPECT_TRUE(read(*body.source()) == text.substr(row.first, row.count)) << row.first;
  }
}

TEST_P(SlowFolder, SeveralRangesAreReadByAThread) {
  const std::string text = pattern(large);
  directory_.write_settled("a", text);
  PartsSource source(find("a").file, {{"one", 10, 20}, {"two", 100'000, 100'000}, {"end", 0, 0}});
  EXPECT_TRUE(read(source) == "one" + text.substr(10, 20) + "two" + text.substr(100'000) + "end");
}

// The file system may not respond at all, to many.
TEST_P(SlowFolder, ABodyHoldsNothingBeforeAThreadHasRead) {
  directory_.write_settled("a", std::string(large, 'x'));
  const FileRef file = find("a").file;
  const WaitingOptions reads = on_slow_file_system(file->content().version().device);
  tests::Obstacle obstacle;
  for (int i = 0; i < 4; ++i) start(obstacle.stand(engine_.get(), reads));
  PartsSource source(file, {{"", 0, large}});
  start([](BodySource& one) -> Task<void> {
    const Result<std::string_view> piece = co_await one.read();
    EXPECT_EQ(piece->size(), PartsSource::slow_piece_bytes_max);
  }(source));
  EXPECT_EQ(source.bytes_held(), 0U);
  obstacle.remove();
  run();
  EXPECT_EQ(source.bytes_held(), PartsSource::slow_piece_bytes_max);
}

TEST_P(SlowFolder, ABodyFailsIfItsFileChanges) {
  directory_.write_settled("a", std::string(large, 'x'));
  const FileRef file = find("a").file;
  struct Row {
    const char* name;
    std::string content;
  };
  for (const Row& row : {Row{"other bytes", std::string(large, 'y')}, Row{"shorter", "x"}}) {
    PartsSource source(file, {{"", 0, large}});
    directory_.write_settled("a", row.content, 1'100'000'000);
    EXPECT_EQ(read(source), "error") << row.name;
    EXPECT_EQ(SlowDescriptor::left_open(), 0U);
  }
}

// A client that leaves must not make the loop wait for close().
TEST_P(SlowFolder, ABodyThatIsGivenUpIsClosedByTheNextThread) {
  directory_.write_settled("a", std::string(large, 'x'));
  const FileRef file = find("a").file;
  {
    PartsSource source(file, {{"", 0, large}});
    run([](BodySource& one) -> Task<void> {
      const Result<std::string_view> piece = co_await one.read();
      EXPECT_EQ(piece->size(), PartsSource::slow_piece_bytes_max);
    }(source));
    EXPECT_EQ(SlowDescriptor::left_open(), 0U);
  }
  EXPECT_EQ(SlowDescriptor::left_open(), 1U);
  PartsSource next(file, {{"", 0, large}});
  EXPECT_EQ(read(next).size(), large);
  EXPECT_EQ(SlowDescriptor::left_open(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, SlowFolder, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

}  // namespace slow_file_system_test
}  // namespace h2server::file
