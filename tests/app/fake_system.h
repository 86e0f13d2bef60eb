// A tree of files in place of /proc, /sys and /lib/modules, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/doctor/doctor_checks.h"

namespace h2server::app {

class FakeSystem {
 public:
  FakeSystem() {
    std::string pattern = testing::TempDir() + "doctor_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (const char* const name : {"proc", "sys", "modules"}) {
      std::filesystem::create_directories(folder_ / name);
    }
  }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  ~FakeSystem() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] SystemTree tree() const {
    return {.proc = path("proc"), .sys = path("sys"), .modules = path("modules")};
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  // Writes a file, such as "proc/meminfo". Returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return path(name);
  }
  // Makes a symbolic link, such as those of /proc/PID/fd.
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::filesystem::create_symlink(target, folder_ / name);
  }

 private:
  std::filesystem::path folder_;
};

// Expects each of the words in the text.
inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* const word : words)
    EXPECT_NE(text.find(word), std::string::npos) << text << '\n' << word;
}

}  // namespace h2server::app
