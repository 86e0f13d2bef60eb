// Handling of inputs for which libnghttp2 legitimately differs from the native session.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace h2server::fuzz {

// Replaces the frames in `bytes` that the sessions treat differently. `bytes` begins with a
// preface. Drops an incomplete frame at the end and completes an incomplete field block, because
// one session checks them earlier than the other.
void neutralize(std::string& bytes);

// Returns the first offset, not below `from`, at which `bytes` may be cut. libnghttp2 counts a
// CONTINUATION again for each piece in which its head arrives, and allows eight.
std::size_t next_cut(std::string_view bytes, std::size_t from);

}  // namespace h2server::fuzz
