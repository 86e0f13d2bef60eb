// Detects directories that have files in common.
#pragma once

namespace h2server::content {

// Returns true if one of two open directories is the other or lies in it, or if a mount below one
// shows a part of the other's file system tree, so that a path below the one leads to files below
// the other. Ignores links, since they do not lead out of a served directory. Returns false if
// /proc is not available.
bool overlap(int one, int other);

}  // namespace h2server::content
