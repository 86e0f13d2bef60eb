// Compares the two HTTP/2 sessions without libFuzzer: on files and folders, on generated
// conversations, and on mutations of both. Every run uses the same inputs.
//
//   h2_replay [--conversations N] [--mutations N] [FILE|FOLDER]...
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "h2_compare.h"
#include "h2_conversation.h"
#include "inputs.h"

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
    } else {
      for (const std::filesystem::path& file : fuzz::files_of(argument)) {
        pool.push_back(fuzz::read_file(file));
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
    compare(fuzz::mutate(one, other, random), "mutation " + std::to_string(i));
  }
  std::printf("%zu inputs and %lu mutations: %d differences\n", pool.size(), mutations, failures);
  return failures == 0 ? 0 : 1;
}
