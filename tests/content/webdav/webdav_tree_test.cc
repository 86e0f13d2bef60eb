#include "content/webdav/webdav_tree.h"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "content/storage/upload_path.h"
#include "content/support.h"
#include "content/webdav/webdav_dead_properties.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_places.h"

namespace h2server::content {
namespace webdav_tree_test {

namespace fs = std::filesystem;

class WebdavTree : public testing::Test {
 protected:
  WebdavTree() : uploads_(*UploadDirectory::open(directory_.fd())) {}

  // Returns "path:status ..." of what failed.
  static std::string text_of(const TreeFailures& failures) {
    std::string text;
    for (const TreeFailure& failure : failures) {
      if (!text.empty()) text += ' ';
      text.append(failure.path).append(failure.is_folder ? "/" : "");
      text.append(":").append(std::to_string(failure.status));
    }
    return text;
  }
  std::string remove(const std::string& path) { return text_of(remove_tree(*uploads_, path)); }
  std::string copy(const std::string& from, const std::string& to, bool replace = false) {
    const CopyOptions options{.replace = replace, .uploads = options_};
    return text_of(copy_tree(*uploads_, from, to, options).failures);
  }
  std::string move(const std::string& from, const std::string& to, bool replace = false) {
    return text_of(move_tree(*uploads_, from, to, replace, options_).failures);
  }
  // Returns "path=content ..." of all files, whatever their names.
  [[nodiscard]] std::string all_files() const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      if (!entry.is_regular_file()) continue;
      const std::string path = fs::relative(entry.path(), directory_.path());
      files.insert(path + '=' + directory_.read(path).value_or("-"));
    }
    std::string text;
    for (const std::string& file : files) text.append(text.empty() ? "" : " ").append(file);
    return text;
  }
  [[nodiscard]] bool exists(const std::string& path) const {
    return fs::exists(fs::symlink_status(directory_.path_of(path)));
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<UploadDirectory> uploads_;
  UploadOptions options_{.reserve_bytes = 0};
};

TEST_F(WebdavTree, Paths) {
  struct Row {
    std::string_view path;
    bool visible;
    bool safe;
  };
  const std::vector<Row> rows = {
      {"", true, true},       {"a", true, true},          {"a/b c/d", true, true},
      {"a/", false, false},   {"/a", false, false},       {"a//b", false, false},
      {".", false, false},    {"a/..", false, false},     {".a/b", false, false},
      {"a/.b", false, false}, {"h2_tmp_1", false, false}, {"a/h2_tmp_1/b", false, false},
      {"a ", true, false},    {"a./b", true, false},      {"a\x01", true, false},
      {"a\\b", true, false},  {"a\xff", true, false},     {"\xc3\xa4", true, true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_visible_path(row.path), row.visible) << row.path;
    EXPECT_EQ(is_safe_path(row.path), row.safe) << row.path;
  }
  EXPECT_FALSE(is_safe_path(std::string(256, 'a')));
  EXPECT_FALSE(is_visible_path(std::string(4001, 'a')));
  EXPECT_TRUE(is_at_or_below("a/b", "a"));
  EXPECT_TRUE(is_at_or_below("a", "a"));
  EXPECT_TRUE(is_at_or_below("a", ""));
  EXPECT_FALSE(is_at_or_below("ab", "a"));
  EXPECT_FALSE(is_at_or_below("a", "a/b"));
}

TEST_F(WebdavTree, LinksAreNotFollowed) {
  directory_.write("a/x", "1");
  fs::create_symlink("a", directory_.path_of("link"));
  fs::create_symlink("x", directory_.path_of("a/y"));
  fs::create_symlink("/etc", directory_.path_of("out"));
  for (const char* const path : {"link", "link/x", "a/y", "out", "out/passwd", "none", "../a"}) {
    const auto state = look_at_path(uploads_->fd(), path);
    ASSERT_FALSE(state) << path;
    EXPECT_EQ(state.error(), ENOENT) << path;
  }
  EXPECT_EQ(look_at_path(uploads_->fd(), "a/x/z").error(), ENOTDIR);
  EXPECT_EQ(look_at_path(uploads_->fd(), "a/x")->version.size, 1U);
  EXPECT_TRUE(look_at_path(uploads_->fd(), "")->is_folder);
  EXPECT_EQ(remove("link"), "link:404");
  EXPECT_EQ(remove("link/x"), "link/x:404");
  EXPECT_EQ(copy("a/y", "b"), "b:404");
  EXPECT_EQ(copy("a/x", "link/z"), "link/z:409");
  EXPECT_EQ(move("a/x", "link/z"), "link/z:409");
  EXPECT_EQ(make_folder(*uploads_, "out/x", options_).error(), 409);
  EXPECT_EQ(make_file(*uploads_, "link/x").error(), 409);
  EXPECT_EQ(directory_.read("a/x"), "1");
}

TEST_F(WebdavTree, Removal) {
  directory_.write("f", "12345");
  directory_.write("d/x", "123");
  directory_.write("d/e/y", "1");
  fs::create_directory(directory_.path_of("d/empty"));
  uploads_->space().keep(100, 0);
  EXPECT_EQ(remove("f"), "");
  EXPECT_EQ(uploads_->space().stored(), 95U);
  EXPECT_EQ(remove("d"), "");
  EXPECT_EQ(uploads_->space().stored(), 91U);
  EXPECT_EQ(directory_.names(), std::vector<std::string>());
  EXPECT_EQ(remove("d"), "d:404");
}

// What is hidden, temporary or a link is kept, and so are the folders around it.
TEST_F(WebdavTree, RemovalKeepsWhatIsNotShown) {
  directory_.write("d/x", "123");
  directory_.write("d/e/.hidden", "1");
  directory_.write("d/f/h2_tmp_1_2", "1");
  directory_.write("d/g/y", "1");
  fs::create_directory(directory_.path_of("d/k"));
  fs::create_symlink("x", directory_.path_of("d/k/link"));
  const std::string failures = remove("d");
  for (const char* const kept : {"d/e/:409", "d/f/:409", "d/k/:409"}) {
    EXPECT_NE(failures.find(kept), std::string::npos) << failures;
  }
  EXPECT_EQ(std::ranges::count(failures, ':'), 3);  // not the folder around them
  EXPECT_FALSE(exists("d/x"));
  EXPECT_FALSE(exists("d/g"));
  EXPECT_TRUE(exists("d/e/.hidden"));
  EXPECT_TRUE(exists("d/k/link"));
}

// More names than are in memory at a time, among them ones that stay.
TEST_F(WebdavTree, RemovalOfALargeFolder) {
  constexpr std::size_t count = TreeLimits::names_max + 50;
  fs::create_directory(directory_.path_of("d"));
  const base::Fd folder(::open(directory_.path_of("d").c_str(), O_RDONLY | O_DIRECTORY));
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(::symlinkat("x", folder.get(), ("l" + std::to_string(i)).c_str()), 0);
  }
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(::mknodat(folder.get(), std::to_string(i).c_str(), S_IFREG | 0644, 0), 0);
  }
  EXPECT_EQ(remove("d"), "d/:409");
  for (std::size_t i = 0; i < count; ++i)
    ::unlinkat(folder.get(), ("l" + std::to_string(i)).c_str(), 0);
  EXPECT_EQ(remove("d"), "");
}

// They have opened the folder before.
TEST_F(WebdavTree, RemovalWhileOthersStore) {
  fs::create_directory(directory_.path_of("d"));
  const base::Fd folder(::open(directory_.path_of("d").c_str(), O_RDONLY | O_DIRECTORY));
  const auto store = [&folder](int number) {
    return base::Fd(::openat(folder.get(), std::to_string(number).c_str(),
                             O_WRONLY | O_CREAT | O_CLOEXEC, 0644))
        .valid();
  };
  std::atomic<bool> begun{false};
  std::thread storing([&] {
    for (int number = 0; number < 500; ++number) {
      const bool stored = store(number);
      begun.store(true);
      if (!stored) return;  // ENOENT: the folder is no more
    }
  });
  while (!begun.load()) std::this_thread::yield();
  EXPECT_EQ(remove("d"), "");
  storing.join();
  EXPECT_FALSE(exists("d"));
}

// More failures than are listed: what holds something is still not emptied again at each level,
// which would take 2^40 rounds.
TEST_F(WebdavTree, ManyFailuresAndADeepFolderThatStays) {
  const auto hide = [this](const std::string& path) {
    fs::create_directories(directory_.path_of(path));
    std::ofstream(directory_.path_of(path + "/.hidden"));
  };
  for (std::size_t i = 0; i < 3 * TreeLimits::failures_max; ++i) hide("d/f" + std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    std::string deep = "d/" + std::to_string(i);
    for (int depth = 0; depth < 40; ++depth) deep += "/d";
    hide(deep);
  }
  EXPECT_EQ(remove_tree(*uploads_, "d").size(), TreeLimits::failures_max);
  EXPECT_TRUE(exists("d"));
}

TEST_F(WebdavTree, TreesAreBounded) {
  std::string path = "d";
  for (unsigned i = 0; i < TreeLimits::depth_max; ++i) path += "/d";
  fs::create_directories(directory_.path_of(path));
  EXPECT_NE(copy("d", "c").find(":403"), std::string::npos);
  EXPECT_NE(remove("d").find(":403"), std::string::npos);
  EXPECT_TRUE(exists("d"));
  EXPECT_EQ(remove("d/d"), "");
  EXPECT_EQ(remove("d"), "");
}

// What clients have made they can remove.
TEST_F(WebdavTree, NothingIsMadeTooDeep) {
  std::string deepest = "d";
  while (is_safe_path(deepest + "/d")) deepest += "/d";
  EXPECT_EQ(depth_of(deepest) + 1, TreeLimits::depth_max);
  fs::create_directories(directory_.path_of(deepest));
  EXPECT_EQ(copy("d", "c"), "");
  directory_.write("e/a", "1");
  EXPECT_NE(copy("c", "e/c").find(":403"), std::string::npos);
  EXPECT_EQ(move("c", "e/m"), "e/m:403");
  EXPECT_EQ(move("c/d", "e/m"), "");
  for (const char* const name : {"c", "d", "e"}) EXPECT_EQ(remove(name), "") << name;
}

TEST_F(WebdavTree, Copies) {
  const std::string big(3'000'000, 'x');
  directory_.write("d/big", big);
  directory_.write("d/e/y", "1");
  directory_.write("d/.hidden", "1");
  directory_.write("d/h2_tmp_1_2", "1");
  fs::create_symlink("big", directory_.path_of("d/link"));
  EXPECT_EQ(copy("d", "c"), "");
  EXPECT_EQ(directory_.read("c/big"), big);
  EXPECT_EQ(directory_.read("c/e/y"), "1");
  for (const char* const left_out : {"c/.hidden", "c/h2_tmp_1_2", "c/link"}) {
    EXPECT_FALSE(exists(left_out)) << left_out;
  }
  EXPECT_EQ(uploads_->space().stored(), big.size() + 1);
  EXPECT_EQ(uploads_->space().claimed(), 0U);
  EXPECT_TRUE(copy_tree(*uploads_, "d", "shallow", {.shallow = true, .uploads = options_})
                  .failures.empty());
  EXPECT_TRUE(fs::is_empty(directory_.path_of("shallow")));
  EXPECT_EQ(copy("d/e/y", "d/big"), "d/big:412");
  EXPECT_EQ(copy("d/e/y", "d/big", true), "");  // a file replaces a file
  EXPECT_EQ(directory_.read("d/big"), "1");
  EXPECT_EQ(uploads_->space().stored(), 2U);
  EXPECT_EQ(copy("d/e/y", "none/y"), "none/y:409");
  EXPECT_EQ(copy("none", "x"), "x:404");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"c", "d", "shallow"}));
}

TEST_F(WebdavTree, ChangesEndWithTheirTask) {
  directory_.write("d/a", "1");
  directory_.write("d/e/b", "2");
  directory_.write("other/c", "3");
  coro::StopState task;
  const file::StopFlag stop(&task);
  EXPECT_FALSE(stop.is_set());
  task.stop(StopReason::client_left);
  EXPECT_TRUE(stop.is_set());
  const TreeOutcome copy = copy_tree(*uploads_, "d", "copy", {.uploads = options_, .stop = &stop});
  ASSERT_FALSE(copy.failures.empty());
  EXPECT_EQ(copy.failures.front().status, 503);
  EXPECT_FALSE(exists("copy"));
  const TreeOutcome move = move_tree(*uploads_, "other", "d", true, options_, &stop);
  ASSERT_FALSE(move.failures.empty());
  EXPECT_EQ(move.failures.front().status, 503);
  EXPECT_TRUE(exists("other/c"));
  const TreeFailures removal = remove_tree(*uploads_, "d", &stop);
  ASSERT_FALSE(removal.empty());
  EXPECT_EQ(removal.front().status, 503);
  EXPECT_TRUE(exists("d/e/b"));
}

TEST_F(WebdavTree, CopiesObeyTheLimits) {
  directory_.write("d/a", "1234");
  directory_.write("d/b", "123");
  options_.file_bytes_max = 3;
  EXPECT_EQ(copy("d", "c"), "c/a:413");
  EXPECT_EQ(directory_.read("c/b"), "123");
  EXPECT_EQ(directory_.read("c/a"), std::nullopt);
  options_ = {.directory_bytes_max = 12, .reserve_bytes = 0, .folders = true};
  EXPECT_EQ(copy("d/a", "e"), "e:413");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"c", "d"}));
  options_ = {.reserve_bytes = std::uint64_t{1} << 62};
  EXPECT_EQ(copy("d/a", "e"), "e:507");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

TEST_F(WebdavTree, ChargesForWhatASourceGrowsByMeanwhile) {
  for (const bool allowed : {true, false}) {
    SCOPED_TRACE(allowed);
    directory_.write("a/x", "12345");
    std::vector<std::uint64_t> charged;
    const auto charge = [&](std::uint64_t bytes) {
      if (charged.empty()) directory_.write("a/x", "1234567890");
      charged.push_back(bytes);
      return allowed || charged.size() == 1;
    };
    const CopyOptions options{.uploads = options_, .charge = charge};
    const TreeOutcome outcome = copy_tree(*uploads_, "a", allowed ? "b" : "c", options);
    EXPECT_EQ(charged, (std::vector<std::uint64_t>{5, 5}));
    EXPECT_EQ(outcome.bytes, allowed ? 10U : 0U);
    EXPECT_EQ(text_of(outcome.failures), allowed ? "" : "c/x:413");
  }
}

TEST_F(WebdavTree, ReplacesWhatIsThere) {
  for (const bool moves : {false, true}) {
    directory_.write("f", "12");
    directory_.write("d/e/y", "3");
    directory_.write("c/a", "45678");
    directory_.write("c/g/h", "9");
    uploads_->space().keep(9, uploads_->space().stored());
    const auto change = [&](const std::string& from, const std::string& to, bool replace) {
      return moves ? move(from, to, replace) : copy(from, to, replace);
    };
    EXPECT_EQ(change("d", "c", false), "c:412");
    EXPECT_EQ(change("d", "c", true), "");  // a folder a folder
    EXPECT_EQ(all_files(), moves ? "c/e/y=3 f=12" : "c/e/y=3 d/e/y=3 f=12");
    EXPECT_EQ(change("f", "c", true), "");  // a file a folder
    EXPECT_EQ(all_files(), moves ? "c=12" : "c=12 d/e/y=3 f=12");
    directory_.write("d/e/y", "3");
    EXPECT_EQ(change("d", "c", true), "");  // a folder a file
    EXPECT_EQ(all_files(), moves ? "c/e/y=3" : "c/e/y=3 d/e/y=3 f=12");
    EXPECT_EQ(uploads_->space().stored(), moves ? 0U : 4U) << "d is written anew for the last move";
    for (const char* const name : {"c", "d", "f"}) fs::remove_all(directory_.path_of(name));
    EXPECT_EQ(directory_.names(), std::vector<std::string>());
  }
}

TEST_F(WebdavTree, KeepsTheTargetWithoutRoom) {
  directory_.write("d/a", "1234");
  directory_.write("d/e/b", "5678");
  directory_.write("c/x", "old");
  directory_.write("f", "old");
  const std::string before = all_files();
  const UploadOptions full[] = {{.directory_bytes_max = 20, .reserve_bytes = 0, .folders = true},
                                {.reserve_bytes = std::uint64_t{1} << 62}};
  for (const UploadOptions& options : full) {
    options_ = options;
    const std::string status = options.directory_bytes_max != 0 ? ":413" : ":507";
    EXPECT_EQ(copy("d", "c", true), "c" + status);
    EXPECT_EQ(copy("d", "f", true), "f" + status);
    EXPECT_EQ(copy("d", "new"), "new" + status) << "the sum is looked at first";
    EXPECT_EQ(all_files(), before);
  }
  EXPECT_EQ(copy("d/a", "c", true), "c:507");
  EXPECT_EQ(copy("d/a", "f", true), "f:507");
  EXPECT_EQ(all_files(), before);
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

TEST_F(WebdavTree, KeepsTheTargetIfACopyFails) {
  directory_.write("d/a", "1234");
  directory_.write("d/b", "123");
  directory_.write("c/x", "old");
  directory_.write("f", "old");
  uploads_->space().keep(13, 0);
  const std::string before = all_files();
  options_.file_bytes_max = 3;
  EXPECT_EQ(copy("d", "c", true), "c/a:413");
  EXPECT_EQ(copy("d", "f", true), "f/a:413");
  EXPECT_EQ(copy("d/a", "f", true), "f:413");
  EXPECT_EQ(copy("d/a", "c", true), "c:413");
  EXPECT_EQ(all_files(), before);
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"c", "d", "f"}));
  EXPECT_EQ(uploads_->space().stored(), 13U);
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

// What is not shown can't be removed, so the folder around it is not replaced.
TEST_F(WebdavTree, KeepsTargetsThatHoldMoreThanIsShown) {
  directory_.write("d/a", "1");
  directory_.write("c/x", "2");
  directory_.write("c/g/.hidden", "3");
  fs::create_directory(directory_.path_of("c/l"));
  fs::create_symlink("x", directory_.path_of("c/l/link"));
  const std::string before = all_files();
  for (const char* const from : {"d", "d/a"}) {
    for (const std::string& failures : {copy(from, "c", true), move(from, "c", true)}) {
      EXPECT_NE(failures.find("c/g/:409"), std::string::npos) << failures;
      EXPECT_NE(failures.find("c/l/:409"), std::string::npos) << failures;
      EXPECT_EQ(std::ranges::count(failures, ':'), 2) << failures;
    }
  }
  EXPECT_EQ(all_files(), before);
  EXPECT_TRUE(exists("c/l/link"));
}

// Some file systems can't exchange two names.
TEST_F(WebdavTree, ExchangesPlaces) {
  directory_.write("d/a", "1");
  directory_.write("c", "2");
  const Place d = *open_place(uploads_->fd(), "d");
  const Place c = *open_place(uploads_->fd(), "c");
  const Place spare = *open_place(uploads_->fd(), "spare");
  EXPECT_TRUE(exchange_places(d, c, spare));
  EXPECT_EQ(all_files(), "c/a=1 d=2");
  EXPECT_TRUE(exchange_in_steps(d, c, spare));
  EXPECT_EQ(all_files(), "c=2 d/a=1");
  const Place none = *open_place(uploads_->fd(), "none");
  EXPECT_EQ(exchange_places(none, c, spare).error(), ENOENT);
  EXPECT_EQ(exchange_in_steps(none, c, spare).error(), ENOENT);
  EXPECT_EQ(exchange_in_steps(d, none, spare).error(), ENOENT);
  EXPECT_EQ(all_files(), "c=2 d/a=1");
}

// Those of a server that was killed, but not those of one that runs.
TEST_F(WebdavTree, RemovesAbandonedTrees) {
  SparePlaces mine(uploads_->fd());
  const std::string held = mine.next()->name;
  directory_.write(held + "/a", "1");
  directory_.write("h2_tmp_1_2_3/a", "1");
  directory_.write("h2_tmp_1_2_3/b/c", "1");
  directory_.write("h2_tmp_1_2_4/.hidden", "1");
  directory_.write("h2_tmp_1_2_4/a", "1");
  directory_.write("h2_tmp_upload_x/a", "1");
  directory_.write("d/h2_tmp_1_2_5/a", "1");
  remove_abandoned_trees(*uploads_);
  for (const std::string& kept :
       {held + "/a", std::string("h2_tmp_1_2_4/.hidden"), std::string("h2_tmp_upload_x/a"),
        std::string("d/h2_tmp_1_2_5/a")}) {
    EXPECT_TRUE(exists(kept)) << kept;
  }
  EXPECT_FALSE(exists("h2_tmp_1_2_4/a"));
  EXPECT_FALSE(exists("h2_tmp_1_2_3"));
}

TEST_F(WebdavTree, Moves) {
  directory_.write("a", "12");
  directory_.write("b", "345");
  directory_.write("d/x", "1");
  uploads_->space().keep(6, 0);
  EXPECT_EQ(move("a", "b"), "b:412");
  EXPECT_EQ(move("a", "b", true), "");
  EXPECT_EQ(directory_.read("b"), "12");
  EXPECT_EQ(uploads_->space().stored(), 3U);
  EXPECT_EQ(move("d", "e"), "");
  EXPECT_EQ(directory_.read("e/x"), "1");
  EXPECT_EQ(move("e", "e/f"), "e/f:409");
  EXPECT_EQ(move("b", "none/b"), "none/b:409");
  EXPECT_EQ(move("none", "x"), "x:404");
  EXPECT_EQ(move("b", "e/x/y"), "e/x/y:409");
}

TEST_F(WebdavTree, MakesFoldersAndFiles) {
  EXPECT_TRUE(make_folder(*uploads_, "d", options_));
  EXPECT_EQ(make_folder(*uploads_, "d", options_).error(), 405);
  EXPECT_EQ(make_folder(*uploads_, "x/y", options_).error(), 409);
  EXPECT_TRUE(make_file(*uploads_, "d/f"));
  EXPECT_EQ(make_file(*uploads_, "d/f").error(), 409);
  EXPECT_EQ(make_folder(*uploads_, "d/f", options_).error(), 405);
  EXPECT_EQ(make_folder(*uploads_, "d/f/g", options_).error(), 409);
  EXPECT_EQ(directory_.read("d/f"), "");
}

// --- properties of clients --------------------------------------------------------------------

class WebdavDeadProperties : public WebdavTree {
 protected:
  void SetUp() override {
    directory_.write("f", "content");
    const auto file = open_below(uploads_->fd(), "f", O_RDONLY);
    const auto written = write_dead_properties(file->get(), {{{"u:", "a"}, "<a/>"}});
    if (!written && written.error() == ENOTSUP) GTEST_SKIP() << "no extended attributes here";
    ASSERT_TRUE(written);
  }
  std::string properties(const std::string& path) {
    const auto file = open_below(uploads_->fd(), path, O_RDONLY);
    std::string text;
    for (const DeadProperty& property : read_dead_properties(file->get())) {
      text.append(property.name.space).append(" ").append(property.name.local).append(" ");
      text.append(property.element).append(";");
    }
    return text;
  }
};

TEST_F(WebdavDeadProperties, Last) {
  EXPECT_EQ(properties("f"), "u: a <a/>;");
  EXPECT_EQ(copy("f", "g"), "");
  EXPECT_EQ(properties("g"), "u: a <a/>;");
  EXPECT_EQ(move("g", "h"), "");
  EXPECT_EQ(properties("h"), "u: a <a/>;");
  const auto file = open_below(uploads_->fd(), "h", O_RDONLY);
  EXPECT_TRUE(write_dead_properties(file->get(), {{{"", "b"}, "x"}, {{"v:", "c"}, "y"}}));
  EXPECT_EQ(properties("h"), " b x;v: c y;");
  EXPECT_TRUE(write_dead_properties(file->get(), {}));
  EXPECT_EQ(properties("h"), "");
  EXPECT_EQ(read_raw_properties(file->get()), "");
}

TEST_F(WebdavDeadProperties, AreBounded) {
  const auto file = open_below(uploads_->fd(), "f", O_RDONLY);
  const std::string long_value(DeadPropertyLimits::bytes_max, 'x');
  EXPECT_EQ(write_dead_properties(file->get(), {{{"", "b"}, long_value}}).error(), ENOSPC);
  EXPECT_EQ(properties("f"), "u: a <a/>;");
  for (const std::string& broken :
       {std::string("x"), std::string("x\0y", 3), std::string("\0\0z\0", 4)}) {
    EXPECT_TRUE(write_raw_properties(file->get(), broken));
    EXPECT_EQ(properties("f"), "") << broken;
  }
}

}  // namespace webdav_tree_test
}  // namespace h2server::content
