// The page's style and script, as the build embeds them (embed.py).
#pragma once

#include <string_view>

namespace prefetch::report {

extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // page.js

}  // namespace prefetch::report
