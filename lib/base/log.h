// One line an event to stderr: time, level, message, fields. JSON lines, or plain text on a terminal.
//
//   Info("image pulled", {{"image", ref}, {"imageRef", id}, {"took", took}});
//
// Messages are fixed strings; what varies is a field. Field names are kubelet's where it has them (image,
// imageRef). Works before any set-up. Any thread may call; a line is written by one write(2).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kJson, kPlain };

// A name and a value. Numbers and booleans stay what they are in JSON; a duration is in seconds.
class LogField {
 public:
  LogField(std::string_view name, std::string_view value) : name_(name), text_(value), quoted_(true) {}
  LogField(std::string_view name, const char* value) : LogField(name, std::string_view(value)) {}
  LogField(std::string_view name, const std::string& value) : LogField(name, std::string_view(value)) {}
  LogField(std::string_view name, bool value) : name_(name), text_(value ? "true" : "false") {}
  LogField(std::string_view name, std::int64_t value) : name_(name), text_(std::to_string(value)) {}
  LogField(std::string_view name, int value) : name_(name), text_(std::to_string(value)) {}
  LogField(std::string_view name, std::size_t value) : name_(name), text_(std::to_string(value)) {}
  LogField(std::string_view name, std::chrono::nanoseconds value);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  bool quoted() const { return quoted_; }

 private:
  std::string name_;
  std::string text_;
  bool quoted_ = false;
};

using LogFields = std::vector<LogField>;

void Log(LogLevel level, std::string_view message, const LogFields& fields);
inline void Debug(std::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void Info(std::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void Warn(std::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void Err(std::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kError, message, fields);
}

// Minimum level and format of the log. Defaults: info; plain if stderr is a terminal, else JSON. Called by
// main before threads start, and by tests.
void SetLogLevel(LogLevel least);
void SetLogFormat(LogFormat format);
// Lines go to `sink` (without newline) instead of stderr; nullptr puts stderr back. For tests.
void SetLogSink(std::function<void(std::string_view line)> sink);

// Returns one event as a line, without newline. Pure; `time` is already formatted.
std::string FormatLogLine(LogFormat format, std::string_view time, LogLevel level, std::string_view message,
                          const LogFields& fields);

// Appends `text` to `out` as the inside of a JSON string: quotes, the characters of base::ControlAt and
// bytes that are not UTF-8 are escaped or replaced, so that no input can break a line or steer a terminal.
void AppendJsonEscaped(std::string& out, std::string_view text);

}  // namespace prefetch::base
