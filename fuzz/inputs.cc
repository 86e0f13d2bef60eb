#include "inputs.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace h2server::fuzz {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (std::filesystem::is_regular_file(path)) return {path};
  if (!std::filesystem::is_directory(path)) return {};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string mutate(std::string bytes, const std::string& other, std::minstd_rand& random) {
  for (auto changes = random() % 4 + 1; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = random() % bytes.size();
    const std::size_t count = std::min<std::size_t>(random() % 32 + 1, bytes.size() - at);
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes[at] = static_cast<char>(random() % 2);
        break;
      case 3:
        bytes.erase(at, count);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, count));
        break;
      default:
        if (other.size() > at) bytes.replace(at, count, other.substr(at, count));
        break;
    }
  }
  return bytes;
}

}  // namespace h2server::fuzz
