// Where libnghttp2 legitimately differs from the native session.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace h2server::fuzz {

// Changes the frames in `bytes`, which begin with a preface, whose treatment differs into ones
// where it does not. An incomplete frame at the end is dropped and an incomplete field block is
// completed: one session looks at them earlier than the other.
void neutralize(std::string& bytes);

// Where `bytes` may be cut, at `from` or behind it: libnghttp2 counts a CONTINUATION again for each
// piece in which its head arrives, and allows eight.
std::size_t next_cut(std::string_view bytes, std::size_t from);

}  // namespace h2server::fuzz
