// The nearest of some names to one that was misspelt.
#pragma once

#include <span>
#include <string_view>

namespace h2server::config {

// Returns the name with the smallest distance (letters that are added, left out, replaced, or
// swapped with the next one), or an empty view if even that would be a guess.
[[nodiscard]] std::string_view nearest_of(std::string_view word,
                                          std::span<const std::string_view> names);

}  // namespace h2server::config
