// The keys of objects, as h2server/store.h describes them. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace h2server::content {

inline constexpr std::size_t key_bytes_max = 1024;  // of AWS, in UTF-8

bool is_object_key(std::string_view text) noexcept;
// Returns true for "" and for a key with "/" behind it.
bool is_key_prefix(std::string_view text) noexcept;

}  // namespace h2server::content
