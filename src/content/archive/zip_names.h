// The names of a zip's entries: those that Windows, macOS and Linux can all store.
//
// Pure functions and a class for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace h2server::content {

// Makes a segment of a path from the name of a file. U+FFFD replaces what is not UTF-8. '_'
// replaces control characters, what Windows forbids (\ : * ? " < > | /), and dots and spaces at the
// end; it is put in front of the names of devices (CON, NUL, COM1 …, also with an extension).
std::string zip_name(std::string_view name);

// Makes the names of one folder distinct where the case of letters does not count: Latin-1, Greek
// and Cyrillic letters and ASCII; others are compared as they are. Holds 8 bytes for each name, and
// about 100 for each duplicate.
class ZipNames {
 public:
  // Called with every name of the folder, as in the file system, before the first next().
  void expect(std::string_view name);
  // Returns zip_name(name), with " (2)" or a higher number if an earlier call returned its like.
  std::string next(std::string_view name);

 private:
  [[nodiscard]] bool is_expected(std::size_t key) const;

  // Hashes of the folded names. If two are equal by chance, a name has a needless number.
  std::vector<std::size_t> expected_;
  bool sorted_ = true;
  std::unordered_map<std::size_t, std::uint32_t> duplicates_;  // how often next() returned them
  std::unordered_set<std::size_t> numbered_;
};

}  // namespace h2server::content
