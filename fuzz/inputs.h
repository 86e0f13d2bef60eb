// Inputs of the replay programs: files and reproducible mutations.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace h2server::fuzz {

// Returns the file, or all files below the folder, sorted; none if the path does not exist.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);

// Changes, drops or doubles some bytes, or replaces them by bytes of `other`.
std::string mutate(std::string bytes, const std::string& other, std::minstd_rand& random);

}  // namespace h2server::fuzz
