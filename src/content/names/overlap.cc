#include "content/names/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace h2server::content {

namespace {

// A subtree of a file system, wherever it is mounted.
struct Tree {
  std::string device;
  std::string path;  // from the file system's own root
};

// A line of mountinfo; see proc(5).
struct Mount {
  std::string number;
  Tree tree;
  std::string point;
};

// mountinfo writes a space in a path as \040.
std::string unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const bool escape = text.size() >= 4 && text[0] == '\\';
    plain += escape
                 ? static_cast<char>((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'))
                 : text[0];
    text.remove_prefix(escape ? 4 : 1);
  }
  return plain;
}

std::vector<Mount> read_mounts() {
  std::vector<Mount> mounts;
  std::ifstream lines("/proc/thread-self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Mount mount;
    std::string parent;
    std::string root;
    std::string point;
    words >> mount.number >> parent >> mount.tree.device >> root >> point;
    mount.tree.path = unescape(root);
    mount.point = unescape(point);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// Returns what follows `outer` in `path`, with its slash, or nullopt if `path` is not `outer` or
// below.
std::optional<std::string_view> below(std::string_view path, std::string_view outer) {
  if (outer == "/") outer = {};
  if (!path.starts_with(outer)) return std::nullopt;
  path.remove_prefix(outer.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return path == "/" ? std::string_view() : path;
}

std::string mount_number_of(int directory) {
  std::ifstream lines(fmt::format("/proc/thread-self/fdinfo/{}", directory));
  for (std::string name, value; lines >> name >> value;) {
    if (name == "mnt_id:") return value;
  }
  return {};
}

// Returns the trees that can be reached from an open directory.
std::vector<Tree> trees_of(int directory, const std::vector<Mount>& mounts) {
  std::error_code failure;
  const std::string path =
      std::filesystem::read_symlink(fmt::format("/proc/thread-self/fd/{}", directory), failure);
  const std::string number = mount_number_of(directory);
  std::vector<Tree> trees;
  for (const Mount& mount : mounts) {
    if (mount.number == number) {
      const std::optional<std::string_view> rest = below(path, mount.point);
      const std::string root = mount.tree.path == "/" ? "" : mount.tree.path;
      if (rest) trees.push_back({mount.tree.device, root + std::string(*rest)});
    } else if (!path.empty() && below(mount.point, path)) {
      trees.push_back(mount.tree);
    }
  }
  return trees;
}

}  // namespace

bool overlap(int one, int other) {
  const std::vector<Mount> mounts = read_mounts();
  const std::vector<Tree> others = trees_of(other, mounts);
  return std::ranges::any_of(trees_of(one, mounts), [&](const Tree& tree) {
    return std::ranges::any_of(others, [&](const Tree& against) {
      return tree.device == against.device &&
             (below(tree.path, against.path) || below(against.path, tree.path));
    });
  });
}

}  // namespace h2server::content
