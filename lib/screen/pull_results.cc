#include "screen/status_table.h"

#include <chrono>

#include "base/text.h"
#include "doc/json_writer.h"

namespace prefetch::screen {
namespace {

// Returns a cell as RFC 4180 defines it. A cell that a spreadsheet would take for a formula gets a leading
// quote.
std::string Cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return "\"" + base::ReplaceAll(text, "\"", "\"\"") + "\"";
}

std::string TimeWord(const std::optional<base::WallTime>& time) {
  return time ? base::Rfc3339(*time) : "";
}

// Returns the duration of an attempt that has ended.
std::optional<std::uint64_t> Seconds(const status::StatusPull& pull) {
  // A finish before the start belongs to the attempt before.
  if (!pull.started_at || !pull.finished_at || *pull.finished_at < *pull.started_at) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(*pull.finished_at - *pull.started_at).count());
}

std::string CsvRow(const status::StatusImage& image, const std::string& node) {
  auto seconds = Seconds(image.pull);
  std::vector<std::string> cells = {node,
                                    image.image,
                                    image.required ? "true" : "false",
                                    image.ready ? "true" : "false",
                                    image.phase,
                                    image.reason,
                                    image.pulled_with,
                                    image.digest,
                                    std::to_string(image.size_bytes),
                                    std::to_string(image.pull.attempts),
                                    TimeWord(image.pull.started_at),
                                    TimeWord(image.pull.finished_at),
                                    seconds ? std::to_string(*seconds) : ""};
  for (std::string& cell : cells) cell = Cell(std::move(cell));
  return base::Join(cells, ",") + "\n";
}

std::string JsonRow(const status::StatusImage& image, const std::string& node) {
  doc::JsonWriter out;
  out.BeginObject();
  out.Member("node", node);
  out.Member("image", image.image);
  out.MemberBool("required", image.required);
  out.MemberBool("ready", image.ready);
  out.Member("phase", image.phase);
  out.Member("reason", image.reason);
  out.MemberOrNull("pulledWith", image.pulled_with);
  out.MemberOrNull("digest", image.digest);
  out.MemberNumber("sizeBytes", image.size_bytes);
  out.MemberNumber("attempts", image.pull.attempts);
  out.MemberOrNull("startedAt", image.pull.started_at);
  out.MemberOrNull("finishedAt", image.pull.finished_at);
  if (auto seconds = Seconds(image.pull)) {
    out.MemberNumber("seconds", *seconds);
  } else {
    out.MemberNull("seconds");
  }
  out.EndObject();
  return out.Take() + "\n";
}

}  // namespace

std::string ResultsHead(ResultsFormat format) {
  if (format == ResultsFormat::kJson) return "";
  return "node,image,required,ready,phase,reason,pulledWith,digest,sizeBytes,attempts,startedAt,finishedAt,"
         "seconds\n";
}

std::string ResultRows(const status::StatusDocument& document, const std::string& node,
                       ResultsFormat format) {
  std::string rows;
  for (const status::StatusImage& image : document.images) {
    // Entries for other platforms would count as failures in a spreadsheet.
    if (!image.applies) continue;
    rows += format == ResultsFormat::kCsv ? CsvRow(image, node) : JsonRow(image, node);
  }
  return rows;
}

}  // namespace prefetch::screen
