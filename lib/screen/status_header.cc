#include "screen/status_header.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ascii_output.h"
#include "base/text.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

// Puts pieces beside each other, with blanks between them, in lines of at most `width`.
std::string Beside(const std::vector<std::string>& pieces, std::size_t width) {
  std::string text, line;
  for (const std::string& piece : pieces) {
    if (piece.empty()) continue;
    if (!line.empty() && DisplayWidth(line) + 3 + DisplayWidth(piece) > width) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + piece;
  }
  return text + line + "\n";
}

std::string Plural(std::uint64_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::string ListPiece(const status::StatusDocument& document) {
  if (document.list.sources.empty()) return "no list";
  std::optional<base::WallTime> newest;
  for (const status::StatusSource& source : document.list.sources) {
    if (source.loaded_at && (!newest || *newest < *source.loaded_at)) newest = source.loaded_at;
  }
  std::string piece = "list " + ShortHash(document.list.hash) + " (" +
                      Plural(document.list.sources.size(), "source", "sources");
  if (newest && document.time) {
    auto age = std::chrono::duration_cast<std::chrono::seconds>(*document.time - *newest);
    piece += ", " + base::HumanTime(age) + " old";
  }
  return piece + ")";
}

std::string RuntimePiece(const status::StatusDocument& document, bool wide) {
  std::string piece = document.runtime.name.empty() ? "runtime unknown" : document.runtime.name;
  if (!document.runtime.version.empty()) piece += " " + document.runtime.version;
  if (!document.runtime.up) piece += " (down)";
  if (wide && !document.kubelet.None()) return piece + ", kubelet " + KubeletDetail(document.kubelet);
  return piece + ", " + KubeletWords(document.kubelet);
}

// Returns which limit leaves how much room, and how much the absent images need.
std::string DiskWords(const status::StatusDisk& disk) {
  std::string text =
      "the image filesystem " + disk.path + " has " + base::HumanBytes(disk.available_bytes) + " free";
  if (disk.kept_free_bytes > 0) {
    std::uint64_t usable = disk.available_bytes - std::min(disk.available_bytes, disk.kept_free_bytes);
    text += " and must keep " + base::HumanBytes(disk.kept_free_bytes) +
            " free (diskHighPercent, diskMinFreeBytes, kubelet's imageGCLowThresholdPercent), which leaves " +
            base::HumanBytes(usable) + " to images";
  }
  if (disk.needed_bytes == 0) return text + "; the sizes of the absent images are not known yet";
  return text + "; the absent images need about " + base::HumanBytes(disk.needed_bytes);
}

// Returns problems of the node rather than of an image, one paragraph each, the most important first.
std::vector<std::string> NodeProblems(const status::StatusDocument& document) {
  std::vector<std::string> problems;
  // Images that are not ready are shown below, one by one.
  if (!document.ready && document.reason != "ImagesNotReady") {
    std::string advice = status::WordsFor(document.reason).advice;
    const std::string what = document.message.empty() ? document.reason : document.message;
    problems.push_back(what + (advice.empty() ? "" : "\n→ " + advice));
  }
  // The runtime is away, but its last report still counts for a while, so the node's own reason is another
  // one.
  if (!document.runtime.up && !document.runtime.error.empty() && document.reason != "RuntimeDown") {
    problems.push_back(document.runtime.error + "\n→ " + status::WordsFor("RuntimeDown").advice);
  }
  std::vector<std::string> refused = RefusedSources(document);
  problems.insert(problems.end(), refused.begin(), refused.end());
  if (document.disk && document.disk->pressure) {
    problems.push_back(DiskWords(*document.disk));
  }
  std::vector<std::string> further = FurtherProblems(document);
  problems.insert(problems.end(), further.begin(), further.end());
  std::vector<std::string> away = UnreachableWords(document);
  problems.insert(problems.end(), away.begin(), away.end());
  problems.insert(problems.end(), document.list.warnings.begin(), document.list.warnings.end());
  return problems;
}

}  // namespace

std::vector<std::string> RefusedSources(const status::StatusDocument& document) {
  std::vector<std::string> refused;
  for (const status::StatusSource& source : document.list.sources) {
    // A source that was never in force is the node's own reason already.
    if (source.error.empty() || !source.loaded_at) continue;
    refused.push_back("the newest " + source.name + " is not in force: " + source.error);
  }
  return refused;
}

std::vector<std::string> FurtherProblems(const status::StatusDocument& document) {
  std::vector<std::string> further = document.problems;
  std::erase_if(further, [&](const std::string& problem) {
    // The node's message quotes the problem that keeps it from being ready.
    return !document.ready && document.message.ends_with(problem);
  });
  return further;
}

std::string Painted(std::string text, Rank rank, bool color) {
  if (!color) return text;
  const std::string_view start = rank == Rank::kReady                                       ? base::kGreen
                                 : rank == Rank::kFailing || rank == Rank::kFailingOptional ? base::kRed
                                                                                            : base::kYellow;
  // Blanks that only fill the column stay uncoloured.
  std::size_t end = text.find_last_not_of(' ') + 1;
  return std::string(start).append(text, 0, end).append(base::kPlainColour).append(text, end);
}

std::string NodeHeader(const status::StatusDocument& document, const TableOptions& options,
                       std::size_t width) {
  Rank rank = document.ready ? Rank::kReady : document.phase == "Failing" ? Rank::kFailing : Rank::kMoving;
  std::string word = document.ready ? "READY" : "NOT READY";
  std::string state = "node " + document.node + "   " + word;
  std::string count = std::to_string(document.required_ready) + " of " +
                      Plural(document.required, "required image", "required images") + " ready";
  std::string text = Beside({state, count, ListPiece(document), RuntimePiece(document, options.wide)}, width);
  // Coloured after the pieces were laid out, since codes of colours have no width.
  if (options.color) text.replace(text.find(word), word.size(), Painted(word, rank, true));
  for (const std::string& problem : NodeProblems(document)) {
    // Advice gets a mark and an indent of its own.
    std::size_t advice = problem.find("\n→ ");
    text += Paragraph(problem.substr(0, advice), "! ", "  ", width);
    if (advice != std::string::npos) text += Paragraph(problem.substr(advice + 5), "  → ", "    ", width);
  }
  if (!document.hidden.empty()) text += Paragraph(kHiddenWords, "", "", width);
  if (std::string no_bytes = NoBytesWords(document); !no_bytes.empty())
    text += Paragraph(no_bytes, "", "", width);
  return text;
}

}  // namespace prefetch::screen
