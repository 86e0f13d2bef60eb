// Whether what lies in one directory is served from another one as well.
#pragma once

namespace h2server::content {

// Returns true if one of two open directories is the other or lies in it, or if something that is
// mounted below one is a part of the other's file system tree: then a path below the one leads to
// files below the other. Links don't matter: they do not lead out of a directory that is served.
// Without /proc nothing is known, and the answer is false.
bool overlap(int one, int other);

}  // namespace h2server::content
