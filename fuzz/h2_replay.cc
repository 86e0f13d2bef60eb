// Compares the two HTTP/2 sessions without a fuzzer: on files (of folders), on conversations that
// are made up, and on mutations of both. The same ones each time.
//
//   h2_replay [--conversations N] [--mutations N] [FILE|FOLDER]...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "h2_compare.h"
#include "h2_conversation.h"

namespace {

using namespace h2server;

int failures = 0;

void compare(const std::string& input, const std::string& name) {
  const std::string difference = fuzz::compare_h2(input);
  if (difference.empty()) return;
  ++failures;
  std::printf("%s: the sessions differ:\n%s", name.c_str(), difference.c_str());
  const std::filesystem::path kept =
      std::filesystem::temp_directory_path() / ("h2_replay_" + std::to_string(failures));
  std::ofstream(kept, std::ios::binary) << input;
  std::printf("(kept as %s)\n", kept.c_str());
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Some bytes changed, dropped, doubled or taken from `other`.
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

}  // namespace

int main(int count, char** arguments) {
  unsigned long conversations = 200;
  unsigned long mutations = 5000;
  std::vector<std::string> pool;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--conversations" && i + 1 < count) {
      conversations = std::strtoul(arguments[++i], nullptr, 10);
    } else if (argument == "--mutations" && i + 1 < count) {
      mutations = std::strtoul(arguments[++i], nullptr, 10);
    } else if (std::filesystem::exists(argument)) {
      for (const std::filesystem::path& file : files_of(argument)) {
        pool.push_back(read(file));
        compare(pool.back(), file.string());
      }
    }
  }
  for (unsigned seed = 0; seed < conversations; ++seed) {
    pool.push_back(fuzz::make_h2_conversation(seed));
    compare(pool.back(), "conversation " + std::to_string(seed));
  }
  std::minstd_rand random(1);
  for (unsigned long i = 0; i < mutations && !pool.empty(); ++i) {
    const std::string& one = pool[random() % pool.size()];
    const std::string& other = pool[random() % pool.size()];
    compare(mutate(one, other, random), "mutation " + std::to_string(i));
  }
  std::printf("%zu inputs and %lu mutations: %d differences\n", pool.size(), mutations, failures);
  return failures == 0 ? 0 : 1;
}
