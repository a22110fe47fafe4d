#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/clock.h"
#include "base/enum_name.h"
#include "base/mutex.h"
#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

std::atomic<LogLevel> least_level{LogLevel::kInfo};
std::atomic<int> chosen_format{-1};  // -1: not chosen, ask the terminal

struct Sink {
  Mutex mutex;
  std::function<void(std::string_view)> function PREFETCH_GUARDED_BY(mutex);
};
Sink& TheSink() {
  static Sink* sink = new Sink;  // never destroyed: threads may log while statics go down
  return *sink;
}

// Without a choice, people at a terminal get plain lines, and collectors of logs get JSON.
LogFormat CurrentFormat() {
  int format = chosen_format.load();
  if (format >= 0) return static_cast<LogFormat>(format);
  return isatty(STDERR_FILENO) ? LogFormat::kPlain : LogFormat::kJson;
}

// As JSON writes a character that it must not hold: beyond 16 bits, a pair of them.
void AppendJsonEscape(std::string& out, char32_t point) {
  if (point >= 0x10000) {
    AppendJsonEscape(out, 0xd800 + ((point - 0x10000) >> 10U));
    point = 0xdc00 + ((point - 0x10000) & 0x3ffU);
  }
  char escaped[8];
  std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(point) & 0xffffU);
  out += escaped;
}

}  // namespace

LogField::LogField(std::string_view name, std::chrono::nanoseconds value) : name_(name) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(value).count());
  text_ = text;
}

void AppendJsonEscaped(std::string& out, std::string_view text) {
  // Invalid bytes would make the whole line unreadable for JSON parsers, so they are replaced first.
  std::string clean;
  if (!IsUtf8(text)) {
    clean = ToUtf8(text);
    text = clean;
  }
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t control = ControlAt(text);
    // Only what JSON requires is escaped, and what a terminal would obey. Other characters stay readable.
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (control > 0) {
      AppendJsonEscape(out, CharacterAt(text, 0).point);
    } else {
      out += c;
    }
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
}

// Both formats escape line breaks, so that no message can end its line and begin another one.
std::string FormatLogLine(LogFormat format, std::string_view time, LogLevel level, std::string_view message,
                          const LogFields& fields) {
  std::string line;
  if (format == LogFormat::kJson) {
    line += R"({"time":")";
    line += time;
    line += R"(","level":")";
    line += ToLower(EnumName(level));
    line += R"(","msg":")";
    AppendJsonEscaped(line, message);
    line += '"';
    for (const LogField& field : fields) {
      line += ",\"";
      AppendJsonEscaped(line, field.name());
      line += "\":";
      if (field.quoted()) line += '"';
      AppendJsonEscaped(line, field.text());
      if (field.quoted()) line += '"';
    }
    line += '}';
    return line;
  }
  line += time;
  line += ' ';
  line += ToLower(EnumName(level));
  line += "  ";
  AppendJsonEscaped(line, message);
  for (const LogField& field : fields) {
    line += "  ";
    line += field.name();
    line += '=';
    // Quoted only where a reader could not see the field's end otherwise.
    bool quote = field.text().empty() || field.text().find_first_of(" \"=\n\t\r") != std::string::npos;
    if (quote) line += '"';
    AppendJsonEscaped(line, field.text());
    if (quote) line += '"';
  }
  return line;
}

void Log(LogLevel level, std::string_view message, const LogFields& fields) {
  // Before anything is formatted, so that debug messages cost nothing while they are off.
  if (level < least_level.load(std::memory_order_relaxed)) return;
  std::string line =
      FormatLogLine(CurrentFormat(), Rfc3339(std::chrono::system_clock::now()), level, message, fields);
  Sink& sink = TheSink();
  Lock lock(sink.mutex);
  if (sink.function) {
    sink.function(line);
    return;
  }
  line += '\n';
  // One write for the whole line, so that lines of other processes on the same stderr do not mix with it. A
  // log that cannot be written is no reason to stop working.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void SetLogLevel(LogLevel least) {
  least_level.store(least);
}
void SetLogFormat(LogFormat format) {
  chosen_format.store(static_cast<int>(format));
}
void SetLogSink(std::function<void(std::string_view line)> function) {
  Sink& sink = TheSink();
  Lock lock(sink.mutex);
  sink.function = std::move(function);
}

}  // namespace prefetch::base
