// Frames of coroutines that a thread keeps for its next ones (allocate_frame() in h2server/task.h).
#pragma once

namespace h2server::coro {

// Frees those of the calling thread.
void free_spare_frames() noexcept;

}  // namespace h2server::coro
