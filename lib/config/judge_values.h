// Converts one raw value to its type, or adds a mistake that names its source. Internal to config/. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "config/agent_config.h"
#include "config/judge.h"
#include "config/raw_config.h"

namespace prefetch::config {

using SaidText = std::optional<SourcedValue<std::string>>;

bool IsOn(const std::optional<SourcedValue<bool>>& said);

// These return an empty string if nothing is set.
std::string AbsolutePath(const SaidText& said, Mistakes& mistakes);
std::string RuntimeEndpoint(const SaidText& said, Mistakes& mistakes);
std::string ProxyUrl(const SaidText& said, Mistakes& mistakes);

// These return the default if nothing is set.
std::string SocketPath(const SaidText& said, Mistakes& mistakes);
ListenAddress ListenAt(const SaidText& said, Mistakes& mistakes);
base::LogLevel LogLevelOf(const SaidText& said, Mistakes& mistakes);
std::optional<base::LogFormat> LogFormatOf(const SaidText& said, Mistakes& mistakes);

// "10.0.0.7:10250", "[::1]:9477", ":9477".
std::optional<ListenAddress> ParseHostPort(const std::string& text);

}  // namespace prefetch::config
