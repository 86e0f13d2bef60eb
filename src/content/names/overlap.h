// Detects directories that have files in common.
#pragma once

namespace h2server::content {

// Returns true if a path below one of two open directories leads to files below the other: they are
// equal, one contains the other, or a mount below one shows a part of the other. Ignores links,
// since they do not lead out of a served directory. Returns false if /proc is not available.
bool overlap(int one, int other);

}  // namespace h2server::content
