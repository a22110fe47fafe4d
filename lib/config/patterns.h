// Patterns of the values of settings, for the JSON Schema (ECMA 262). Internal to config/.
#pragma once

namespace prefetch::config {

// The whole rules are in config/setting_values.cc and agent_config.cc.
inline constexpr const char* kPath = "^/";
inline constexpr const char* kNotEmpty = "[^\\u0000]";
inline constexpr const char* kHostPort =
    "^(\\[.+\\]|[^:\\[\\]]*):0*(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|"
    "6553[0-5])$";
inline constexpr const char* kOtherHostPort =
    "^(\\[.+\\]|[^:\\[\\]]+):0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|"
    "6553[0-5])$";
inline constexpr const char* kProxy = "^https?://";
// From image::kOldestKnownKubelet on, and the versions whose rules are known; numbers have four digits at
// most.
inline constexpr const char* kVersion =
    "^v?(0{0,3}1\\.(0{0,2}(3[1-9]|[4-9][0-9])|0?[1-9][0-9]{2}|[1-9][0-9]{3})|"
    "(0{0,3}[2-9]|0{0,2}[1-9][0-9]|0?[1-9][0-9]{2}|[1-9][0-9]{3})\\.[0-9]{1,4})(\\.[0-9]{1,4})?([+-]|$)";
inline constexpr const char* kRules = "^v?0{0,3}1\\.0{0,2}3[1-7](\\.[0-9]{1,4})?([+-]|$)";
inline constexpr const char* kImagePattern = "^[^\\u0000-\\u0020\\u007f]{1,500}$";
inline constexpr const char* kLabelKey = "^[a-z0-9.-]{1,253}/[A-Za-z0-9._-]{1,63}$";
inline constexpr const char* kLabelName = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$";

}  // namespace prefetch::config
