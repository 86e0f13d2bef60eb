// Where the replays have their inputs from: files, and changes of them that are the same each time.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace h2server::fuzz {

// The file itself, or all files below the folder in their order. None where there is no such path.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);

// Some bytes changed, dropped, doubled or taken from `other`.
std::string mutate(std::string bytes, const std::string& other, std::minstd_rand& random);

}  // namespace h2server::fuzz
