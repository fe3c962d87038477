// The version of Caisson that a program is compiled with.
//
// The build reads these lines: the version of the CMake package and of the
// command is that of this file.
#pragma once

/// The x of x.y.z; 0 until the interface is stable.
#define CAISSON_VERSION_MAJOR 0
/// The y of x.y.z. While x is 0, names and messages may change with it; see
/// docs/compatibility.md.
#define CAISSON_VERSION_MINOR 1
/// The z of x.y.z.
#define CAISSON_VERSION_PATCH 0

/// As one number, to be compared: 100 is 0.1.0, and 10203 is 1.2.3.
#define CAISSON_VERSION                                        \
  (CAISSON_VERSION_MAJOR * 10000 + CAISSON_VERSION_MINOR * 100 \
   + CAISSON_VERSION_PATCH)

/// As text, such as "0.1.0".
#define CAISSON_VERSION_TEXT "0.1.0"
