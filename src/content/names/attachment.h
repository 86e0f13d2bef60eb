// Content-Disposition of a file that a browser is to save instead of showing it.
#pragma once

#include <string>
#include <string_view>

namespace h2server::content {

// Returns the value of the field for a file of that name (RFC 6266): `filename` for old recipients,
// with '_' in place of what is not printable ASCII, and, if that is not the name itself,
// `filename*` with the name in UTF-8 (RFC 8187, 3.2).
std::string attachment(std::string_view file_name);

}  // namespace h2server::content
