#include "content/archive/archive_walk.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "content/archive_support.h"

namespace h2server::content {
namespace archive_walk_test {

// --- Changes while the archive is made ---

class ChangingArchive : public Archive {
 protected:
  // Reads the first piece: "a" is being read, and the names of the folder are known.
  void begin(ArchiveFormat format) {
    directory_.write("top/a", std::string(1'000'000, 'a'));
    source_ = open(format);
    const Result<std::string_view> piece = tests::run_now(source_->read());
    ASSERT_TRUE(piece);
    begun_ = *piece;
    ASSERT_LT(begun_.size(), 200'000U);
  }
  Result<std::string> rest() {
    Result<std::string> more = read(*source_);
    if (!more) return more;
    return begun_ + *more;
  }

  std::unique_ptr<BodySource> source_;
  std::string begun_;
};

TEST_F(ChangingArchive, AFileThatShrinksFailsTheBody) {
  for (const ArchiveFormat format : formats) {
    begin(format);
    std::filesystem::resize_file(directory_.path_of("top/a"), 999'999);
    const Result<std::string> made = rest();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().what, "archive: a file has become shorter");
  }
}

TEST_F(ChangingArchive, AFileThatGrowsHasItsFirstSize) {
  for (const ArchiveFormat format : formats) {
    begin(format);
    std::filesystem::resize_file(directory_.path_of("top/a"), 1'000'001);
    const Result<std::string> made = rest();
    ASSERT_TRUE(made);
    EXPECT_EQ(tree_of(format, *made).at("T/a"), std::string(1'000'000, 'a'));
  }
}

TEST_F(ChangingArchive, AFileThatIsRemovedWhileItIsReadIsWhole) {
  begin(ArchiveFormat::tar);
  std::filesystem::remove(directory_.path_of("top/a"));
  EXPECT_EQ(tree_of_tar(*rest()).at("T/a"), std::string(1'000'000, 'a'));
}

TEST_F(ChangingArchive, WhatVanishesIsNamedAtTheEnd) {
  directory_.write("top/b", "b");
  directory_.write("top/c/x", "x");
  directory_.write("top/d\ne", "line end");
  directory_.write("top/z", "z");
  for (const ArchiveFormat format : formats) {
    directory_.write("top/b", "b");
    directory_.write("top/c/x", "x");
    directory_.write("top/d\ne", "line end");
    begin(format);
    std::filesystem::remove(directory_.path_of("top/b"));
    std::filesystem::remove_all(directory_.path_of("top/c"));
    std::filesystem::remove(directory_.path_of("top/d\ne"));
    const Result<std::string> made = rest();
    ASSERT_TRUE(made);
    const bool zip = format == ArchiveFormat::zip;
    const std::string expected =
        "These files and folders could not be read and are not in this archive:\n\n"
        "T/b: No such file or directory\nT/c: No such file or directory\n" +
        std::string(zip ? "T/d_e" : "T/d?e") + ": No such file or directory\n";
    Tree tree = tree_of(format, *made);
    EXPECT_EQ(tree.at("T/NOT INCLUDED.txt"), expected);
    EXPECT_EQ(tree.at("T/z"), "z");
    EXPECT_EQ(tree.size(), 4U);
  }
}

TEST_F(ChangingArchive, TheReportTakesAFreeName) {
  directory_.write("top/b", "b");
  directory_.write("top/not included.TXT", "of the user");
  directory_.write("top/NOT INCLUDED 2.txt", "too");
  begin(ArchiveFormat::zip);
  std::filesystem::remove(directory_.path_of("top/b"));
  const Tree tree = tree_of_zip(*rest());
  EXPECT_EQ(tree.at("T/not included.TXT"), "of the user");
  EXPECT_EQ(tree.at("T/NOT INCLUDED 2.txt"), "too");
  EXPECT_TRUE(tree.at("T/NOT INCLUDED 3.txt").contains("T/b: "));
}

TEST_F(ChangingArchive, ReplacedByAFifoOrALinkThatLeadsOut) {
  directory_.write("top/b", "b");
  directory_.write("top/c/x", "x");
  begin(ArchiveFormat::tar);
  std::filesystem::remove(directory_.path_of("top/b"));
  ASSERT_EQ(::mkfifo(directory_.path_of("top/b").c_str(), 0644), 0);
  std::filesystem::remove_all(directory_.path_of("top/c"));
  link("/etc", "top/c");
  EXPECT_EQ(tree_of_tar(*rest()).size(), 2U);  // T and T/a
}

TEST_F(Archive, UnreadableFilesAreNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every file";
  directory_.write("top/a", "a");
  directory_.write("top/b", "b");
  directory_.write("top/c/x", "x");
  ::chmod(directory_.path_of("top/b").c_str(), 0);
  ::chmod(directory_.path_of("top/c").c_str(), 0);
  for (const ArchiveFormat format : formats) {
    const Tree found = tree(format);
    EXPECT_EQ(found.size(), 3U);
    EXPECT_TRUE(found.at("T/NOT INCLUDED.txt")
                    .ends_with("\n\nT/b: Permission denied\nT/c: Permission denied\n"));
  }
  ::chmod(directory_.path_of("top/c").c_str(), 0700);
}

TEST_F(Archive, LackOfDescriptorsFailsTheBody) {
  directory_.write("top/a", "a");
  Result<std::string> made;
  tests::on_a_new_thread([&] {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    made = archive(ArchiveFormat::tar);
  });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, EMFILE);
}

// --- Limits ---

class WalkWithLimits : public Archive {
 protected:
  Result<std::string> walk(const ArchiveLimits& limits) {
    ArchiveWalk walk(folder_, "top", "T", ArchiveFormat::tar, {}, limits);
    std::string all;
    for (steps_ = 0; !walk.ended(); ++steps_) {
      std::string piece;
      const Result<void> done = walk.step(piece);
      if (!done) return std::unexpected(done.error());
      piece_bytes_max_ = std::max(piece_bytes_max_, piece.size());
      all += piece;
    }
    return all;
  }

  std::size_t steps_ = 0;
  std::size_t piece_bytes_max_ = 0;
};

TEST_F(WalkWithLimits, Depth) {
  directory_.write("top/a/b/c/x", "x");
  directory_.write("top/a/b/y", "y");
  EXPECT_EQ(tree_of_tar(*walk({.depth_max = 4})).size(), 6U);
  const Tree tree = tree_of_tar(*walk({.depth_max = 3}));
  EXPECT_EQ(tree.size(), 5U);
  EXPECT_TRUE(tree.at("T/NOT INCLUDED.txt").ends_with("\nT/a/b/c: too many folders above it\n"));
}

// Those of the folders above count, and those of a folder that has been left do not.
TEST_F(WalkWithLimits, Names) {
  constexpr std::string_view too_many = "archive: the folders have too many names";
  directory_.write("top/a/" + std::string(200, 'x'), "");
  directory_.write("top/b/" + std::string(200, 'y'), "");
  EXPECT_TRUE(walk({.names_bytes_max = 300}));
  const Result<std::string> one = walk({.names_bytes_max = 200});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().what, too_many);
  directory_.write("top/" + std::string(200, 'z'), "");
  EXPECT_TRUE(walk({.names_bytes_max = 500}));
  const Result<std::string> both = walk({.names_bytes_max = 300});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().what, too_many);
}

TEST_F(WalkWithLimits, Steps) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(::mkfifo(directory_.path_of("top/" + std::to_string(i)).c_str(), 0644), 0);
  }
  directory_.write("top/large", std::string(100'000, 'x'));
  ASSERT_TRUE(walk({.piece_bytes = 10'000, .entries_per_step = 10}));
  EXPECT_GE(steps_, 20U);
  EXPECT_LE(piece_bytes_max_, 10'000U + 512U + 512U);
}

TEST_F(WalkWithLimits, TheReportIsBounded) {
  for (int i = 0; i < 400; ++i) {
    std::filesystem::create_directory(
        directory_.path_of("top/" + std::string(200, 'x') + std::to_string(i)));
  }
  const std::string made = *walk({.depth_max = 1});
  EXPECT_LT(made.size(), 70'000U);
  EXPECT_TRUE(made.contains("\u2026 and "));
}

}  // namespace archive_walk_test
}  // namespace h2server::content
