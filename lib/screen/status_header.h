// The lines above the rows of `prefetchctl status`: the node and its problems. Internal to screen/. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "screen/status_table.h"

namespace prefetch::screen {

// Most important first.
enum class Rank { kFailing, kFailingOptional, kMoving, kQueued, kReady };

// In the rank's colour, if there is colour.
std::string Painted(std::string text, Rank rank, bool color);

std::string NodeHeader(const status::StatusDocument& document, const TableOptions& options,
                       std::size_t width);

}  // namespace prefetch::screen
