// For tests of archives: a folder to archive, and readers of what is made of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "content/archive/archive.h"
#include "content/support.h"
#include "file/folder.h"
#include "http/file_head.h"
#include "http/read_all.h"

namespace h2server::content {

inline constexpr std::size_t archive_bytes_max = 1UL << 30;
inline constexpr ArchiveFormat formats[] = {ArchiveFormat::tar, ArchiveFormat::zip};

// The paths of a tree, each with its file's content, or "/" for a folder.
using Tree = std::map<std::string, std::string>;

inline std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t byte = size; byte > 0; --byte) {
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + byte - 1));
  }
  return value;
}

// Reads a tar without extended headers.
inline Tree tree_of_tar(std::string_view tar) {
  Tree tree;
  while (!tar.empty() && tar.front() != '\0') {
    const std::string path = std::string(tar.substr(0, 100)).c_str();
    const std::size_t size = std::stoul(std::string(tar.substr(124, 11)), nullptr, 8);
    if (tar[156] == '5') {
      tree[path.substr(0, path.size() - 1)] = "/";
    } else {
      tree[path] = tar.substr(512, size);
    }
    tar.remove_prefix(512 + (size + 511) / 512 * 512);
  }
  EXPECT_EQ(tar, std::string(1024, '\0'));
  return tree;
}

// Reads a zip without zip64, by its central directory.
inline Tree tree_of_zip(std::string_view zip) {
  Tree tree;
  const std::size_t end = zip.size() - 22;
  EXPECT_EQ(number(zip, end, 4), 0x06054b50U);
  std::size_t at = number(zip, end + 16, 4);
  for (std::uint64_t left = number(zip, end + 10, 2); left > 0; --left) {
    std::string path(zip.substr(at + 46, number(zip, at + 28, 2)));
    const std::size_t size = number(zip, at + 24, 4);
    const std::size_t local = number(zip, at + 42, 4);
    const std::size_t content =
        local + 30 + number(zip, local + 26, 2) + number(zip, local + 28, 2);
    if (path.ends_with('/')) {
      path.pop_back();
      tree[path] = "/";
    } else {
      tree[path] = zip.substr(content, size);
    }
    at += 46 + number(zip, at + 28, 2) + number(zip, at + 30, 2);
  }
  EXPECT_EQ(at, end);
  return tree;
}

inline Tree tree_of(ArchiveFormat format, std::string_view archive) {
  return format == ArchiveFormat::tar ? tree_of_tar(archive) : tree_of_zip(archive);
}

class Archive : public testing::Test {
 protected:
  // The folder's path beneath the served one is "top".
  Archive() {
    std::filesystem::create_directory(directory_.path_of("top"));
    folder_ = *file::Folder::open(directory_.path(), {.make_file = http::make_file});
  }

  std::unique_ptr<BodySource> open(ArchiveFormat format, ArchiveOptions options = {},
                                   const std::string& path = "top") {
    return make_archive(folder_, path, "T", format, options);
  }

  static Result<std::string> read(BodySource& source) {
    return tests::run_now(http::read_all(source, archive_bytes_max, "archive"));
  }

  Result<std::string> archive(ArchiveFormat format, ArchiveOptions options = {}) {
    const std::unique_ptr<BodySource> source = open(format, options);
    return read(*source);
  }

  Tree tree(ArchiveFormat format, ArchiveOptions options = {}) {
    const Result<std::string> made = archive(format, options);
    EXPECT_TRUE(made) << made.error().message();
    return made ? tree_of(format, *made) : Tree{};
  }

  void link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, directory_.path_of(name));
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<const file::Folder> folder_;
};

}  // namespace h2server::content
