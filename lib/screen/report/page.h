// The page of `prefetchctl status -o html`: one file that needs nothing else, for readers without the
// cluster's credentials and without prefetchctl. Pure.
//
// Its script and its style are part of it, and the policy in its head names both by hash: nothing else runs
// or is fetched, whatever an image, a node or a registry is called. Without script, everything not ready
// shows.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "screen/report/gather.h"

namespace prefetch::screen::report {

// `time` is the time at which the nodes were asked.
std::string Page(const Report& report, base::WallTime time);

// The page's style and script: page.css and page.js.
const std::map<std::string, std::string_view>& PageFiles();

}  // namespace prefetch::screen::report
