#include "status/status_json.h"

#include "base/text.h"

namespace prefetch::status {
namespace {

constexpr const char* kHidden =
    "hidden: messages and problems, which the agent shows over its local socket\n";

// Messages can hold line breaks (all errors of a list source, one a line).
std::string OneLine(std::string_view text) {
  return base::ReplaceAll(text, "\n", "; ");
}

std::string HashOrNone(const std::string& hash) {
  return hash.empty() ? "none" : hash;
}

std::string EntryLine(const plan::ImageState& image, View view) {
  std::string line = image.ready ? "[+] " : "[-] ";
  line += image.want->reference.written();
  if (!image.want->required) line += " (optional)";
  line += " ";
  line += plan::ReasonName(image.reason);
  return view == View::kPublic ? line + "\n" : line + ": " + OneLine(image.message) + "\n";
}

}  // namespace

std::string ReadyzText(const plan::Snapshot& snapshot, const plan::ReadyAnswer& answer, bool verbose,
                       View view) {
  const bool open = view == View::kPublic;
  std::string text = answer.ready ? "ready: " : "not ready: ";
  text += OneLine(open ? answer.public_message : answer.message) + "\n";
  text += "list " + HashOrNone(snapshot.list.hash) + "\n";
  for (const plan::ListSource& source : snapshot.list.sources) {
    text += "source " + source.name + " " + HashOrNone(source.hash);
    if (!source.error.empty() && source.loaded_at) {
      text += " (a newer version is not in force" + (open ? "" : ": " + OneLine(source.error)) + ")";
    }
    text += "\n";
  }
  if (!verbose) return text;
  for (const std::string& problem : snapshot.problems) {
    if (!open) text += "problem " + OneLine(problem) + "\n";
  }
  for (const plan::ImageState* image : answer.entries) text += EntryLine(*image, view);
  if (open) text += kHidden;
  return text;
}

}  // namespace prefetch::status
