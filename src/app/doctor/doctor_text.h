// Reads small files of the kernel, and words numbers and names for h2server doctor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace h2server::app {

// Returns the first `bytes_max` bytes of a file; empty if it can't be read.
std::string read_small(const std::filesystem::path& file, std::size_t bytes_max = 64 * 1024);

// Returns the number with which the file begins. Nullopt if it begins with another word ("max") or
// can't be read.
std::optional<std::uint64_t> read_number(const std::filesystem::path& file);

// "1,048,576"
std::string grouped(std::uint64_t number);

// "1.5 GiB"
std::string bytes_text(std::uint64_t bytes);

// "1 worker", "2 workers"
std::string counted(std::uint64_t number, const std::string& noun);

}  // namespace h2server::app
