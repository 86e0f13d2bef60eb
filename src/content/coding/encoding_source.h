// Bodies that are encoded while they are sent. Each belongs to one response and its worker's
// thread; the encoder works on another thread if there is much to do and the worker has an event
// loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "content/coding/coding.h"
#include "h2server/body.h"
#include "h2server/file.h"

namespace h2server::content {

// Returns true if another body may be encoded while it is sent. An encoder takes up to 1.2 MiB
// until the client has read its body, which may take long, so the process has a limited number:
// 128, and as many as a quarter of the memory budget allows. Any thread.
[[nodiscard]] bool has_room_to_encode() noexcept;

// Encodes what `source` yields, which must not be null. Its errors, its trailers and its stop pass
// through. `size` is its size in bytes, if it is known; otherwise each piece is flushed, since a
// program that streams without a size wants its bytes to be seen.
std::unique_ptr<BodySource> encode_source(std::unique_ptr<BodySource> source, Coding coding,
                                          std::optional<std::uint64_t> size);
std::unique_ptr<BodySource> encode_text(std::string text, Coding coding);
// Fails if the file changes before all of it is read.
std::unique_ptr<BodySource> encode_file(FileRef file, Coding coding);

}  // namespace h2server::content
