// Compiled once for all commands: CLI11 is three quarters of what each of their files costs.
#ifndef PREFETCH_CMD_PREFETCHCTL_PCH_CLI11_H
#define PREFETCH_CMD_PREFETCHCTL_PCH_CLI11_H

#include <CLI/CLI.hpp>

#endif
