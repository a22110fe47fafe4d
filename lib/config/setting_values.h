// Converts one raw value to its type, or adds a mistake that names its source. Internal to config/. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "config/agent_config.h"
#include "config/make_config.h"
#include "config/raw_config.h"

namespace prefetch::config {

using SourcedText = std::optional<SourcedValue<std::string>>;

bool IsOn(const std::optional<SourcedValue<bool>>& given);

// These return an empty string if nothing is set.
std::string AbsolutePath(const SourcedText& given, Mistakes& mistakes);
std::string RuntimeEndpoint(const SourcedText& given, Mistakes& mistakes);
std::string ProxyUrl(const SourcedText& given, Mistakes& mistakes);

// These return the default if nothing is set.
std::string SocketPath(const SourcedText& given, Mistakes& mistakes);
ListenAddress ListenAt(const SourcedText& given, Mistakes& mistakes);
base::LogLevel LogLevelOf(const SourcedText& given, Mistakes& mistakes);
std::optional<base::LogFormat> LogFormatOf(const SourcedText& given, Mistakes& mistakes);

// "10.0.0.7:10250", "[::1]:9477", ":9477".
std::optional<ListenAddress> ParseHostPort(const std::string& text);

}  // namespace prefetch::config
