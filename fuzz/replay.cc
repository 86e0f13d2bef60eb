// Runs a fuzzer's function without libFuzzer: on every file, and on reproducible mutations of them.
// Aborts if an invariant is broken, and saves the input first.
//
//   fuzz_NAME_replay [--mutations N] FILE|FOLDER...
//
// The N mutations rotate over the arguments and over the files of each, so a few seeds get as many
// as a corpus of thousands of files. A folder that does not exist is reported and skipped, so that
// a clone without the corpora can replay its own seeds.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzzer.h"
#include "inputs.h"

namespace {

using namespace h2server;

constexpr std::size_t mutated_bytes_max = 4096;  // as `make fuzz` limits libFuzzer's inputs

// The input that runs now, for the signal handler.
std::string_view current_input;
std::string current_name;
std::string kept_path;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) return;  // no recovery: the process is ending
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Async-signal-safe.
extern "C" void keep_input(int number) {
  write_all(STDERR_FILENO, current_name);
  const int file = open(kept_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) {
    write_all(file, current_input);
    close(file);
    write_all(STDERR_FILENO, ": kept as ");
    write_all(STDERR_FILENO, kept_path);
  }
  write_all(STDERR_FILENO, "\n");
  raise(number);  // SA_RESETHAND has restored the default action
}

void keep_input_when_killed(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string() + ".input";
  kept_path = (std::filesystem::temp_directory_path() / name).string();
  struct sigaction action{};
  action.sa_handler = keep_input;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE}) sigaction(number, &action, nullptr);
}

void run(std::string_view input, std::string name) {
  current_input = input;
  current_name = std::move(name);
  fuzz::check(input);
}

// Runs all files of the path. Returns their contents, cut to mutated_bytes_max.
std::vector<std::string> run_files(const std::filesystem::path& path) {
  std::vector<std::string> inputs;
  for (const std::filesystem::path& file : fuzz::files_of(path)) {
    std::string input = fuzz::read_file(file);
    run(input, file.string());
    input.resize(std::min(input.size(), mutated_bytes_max));
    inputs.push_back(std::move(input));
  }
  if (inputs.empty()) std::printf("%s: no files, passed over\n", path.c_str());
  return inputs;
}

void run_mutations(const std::vector<std::vector<std::string>>& pools, unsigned long count) {
  std::minstd_rand random(1);
  for (unsigned long i = 0; i < count; ++i) {
    const std::vector<std::string>& pool = pools[i % pools.size()];
    const std::string& one = pool[i / pools.size() % pool.size()];
    const std::string& other = pool[random() % pool.size()];
    run(fuzz::mutate(one, other, random), "mutation " + std::to_string(i));
  }
}

}  // namespace

int main(int count, char** arguments) {
  keep_input_when_killed(arguments[0]);
  unsigned long mutations = 0;
  std::vector<std::vector<std::string>> pools;
  std::size_t files = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--mutations" && i + 1 < count) {
      mutations = std::strtoul(arguments[++i], nullptr, 10);
      continue;
    }
    std::vector<std::string> inputs = run_files(argument);
    files += inputs.size();
    if (!inputs.empty()) pools.push_back(std::move(inputs));
  }
  if (pools.empty()) {
    std::printf("no inputs\n");
    return 1;
  }
  run_mutations(pools, mutations);
  std::printf("%zu files and %lu mutations\n", files, mutations);
  return 0;
}
