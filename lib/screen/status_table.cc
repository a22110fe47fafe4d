#include "screen/node_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii_output.h"
#include "base/text.h"
#include "doc/write.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

// Importance of a line, most important first.
enum class Rank { kFailing, kFailingOptional, kProgressing, kQueued, kReady };

// Returns `text` in the rank's colour, if `color` is set.
std::string Colored(std::string text, Rank rank, bool color) {
  if (!color) return text;
  const std::string_view start = rank == Rank::kReady                                       ? base::kGreen
                                 : rank == Rank::kFailing || rank == Rank::kFailingOptional ? base::kRed
                                                                                            : base::kYellow;
  // Blanks that only fill the column stay uncoloured.
  std::size_t end = text.find_last_not_of(' ') + 1;
  return std::string(start).append(text, 0, end).append(base::kPlainColour).append(text, end);
}

constexpr std::size_t kInlineWidth = 110;  // from this width on the reason stands beside the image
constexpr std::size_t kScreenRows = 20;
constexpr std::size_t kLeastReady = 3;  // shown even if the screen is full of trouble
constexpr std::size_t kMostQueued = 5;
constexpr std::size_t kLongestError = 300;
constexpr std::string_view kQueuedMessage = "waits for its turn";  // as the state "queued" says

Rank RankOf(const status::StatusImage& image) {
  if (image.ready) return Rank::kReady;
  // Optional images do not count for readiness, so their failures come second.
  if (image.phase == plan::Phase::kFailing) return image.required ? Rank::kFailing : Rank::kFailingOptional;
  return image.pull.IsRunning() ? Rank::kProgressing : Rank::kQueued;
}

struct TableRow {
  std::string image, state, size, never;
  std::vector<std::string> why;  // one paragraph each
  std::string advice;
  Rank rank = Rank::kReady;
};

std::string NeverText(const status::StatusImage& image) {
  Rank rank = RankOf(image);
  // The image is on its way; a verdict on its absence would only confuse.
  if (rank == Rank::kProgressing || rank == Rank::kQueued) return "–";
  if (image.verdicts.never.result.empty()) return "–";
  return base::ToLower(image.verdicts.never.result.text());
}

std::string SizeText(const status::StatusImage& image, const status::StatusDocument& document) {
  std::string percent = image.pull.state == plan::PullState::kPulling ? PercentText(image.pull) : "";
  // Runtimes without visible bytes show at least the duration.
  if (percent.empty() && RankOf(image) == Rank::kProgressing)
    percent = PullDurationText(image.pull, document.time);
  if (!percent.empty()) return percent;
  return image.size_bytes > 0 ? base::HumanBytes(image.size_bytes) : "–";
}

std::vector<std::string> ReasonTexts(const status::StatusImage& image, const status::StatusDocument& document,
                                     bool wide) {
  std::vector<std::string> why;
  auto add = [&](const std::string& text) {
    if (!text.empty()) why.push_back(base::Truncate(text, kLongestError));
  };
  Rank rank = RankOf(image);
  if (!image.pin_problem.empty()) add("not pinned: " + image.pin_problem);
  if (rank == Rank::kReady) {
    if (!image.applies) add(image.message);
    // These images are open to all pods, but may be closed again.
    if (wide && (image.reason == plan::Reason::kPreloaded || image.reason == plan::Reason::kAssumedForPod))
      add(image.message);
    if (wide && image.pinned) add("pinned: kubelet's image garbage collection leaves it alone");
    if (image.origin.exposed) add("pulled with a mounted pull secret: every pod of the node can use it");
    if (wide && image.touch.state == plan::TouchState::kDone) {
      add("touched: every pod of the node can use it, with or without credentials");
    }
    // The image is open now, and the agent cannot make sure that it stays so.
    if (wide && image.touch.state == plan::TouchState::kIneffective)
      add("touching it does not help: " + image.touch.why);
    for (const std::string& words : RegistryText(image, document, wide)) add(words);
    return why;
  }
  std::string progress =
      image.pull.state == plan::PullState::kPulling ? PullProgressText(image.pull, document.time) : "";
  if (rank == Rank::kProgressing && !progress.empty()) {
    add(progress);
    // The state's own word says it already.
  } else if (rank != Rank::kQueued || image.reason != plan::Reason::kQueued ||
             image.message != kQueuedMessage) {
    add(image.message);
  }
  if (rank == Rank::kFailing || rank == Rank::kFailingOptional || image.pull.retry_requested_at)
    add(RetryText(image.pull, document.time));
  return why;
}

TableRow RowOf(const status::StatusImage& image, const status::StatusDocument& document,
               const TableOptions& options) {
  status::ReasonDescription words = status::WordsFor(image.reason.text());
  TableRow row;
  row.image = image.image;
  row.state = words.state;
  row.size = SizeText(image, document);
  row.never = NeverText(image);
  row.why = ReasonTexts(image, document, options.wide);
  row.rank = RankOf(image);
  if (!image.required && !image.ready) row.why.emplace_back("optional: readiness does not count it");
  if (!image.ready) row.advice = words.advice;
  if (options.wide) {
    if (std::string pods = ReadyAsText(image); !pods.empty()) row.why.push_back(std::move(pods));
    if (!image.digest.empty()) row.why.push_back(image.digest);
    if (!image.from.empty()) row.why.push_back("from " + base::Join(image.from, ", "));
    std::vector<std::string> aliases = status::OtherNames(image.image, image.aliases);
    if (!aliases.empty()) row.why.push_back("also known as " + base::Join(aliases, ", "));
  }
  return row;
}

// The rows to show, most important first, and how many were left out.
struct Selection {
  std::vector<TableRow> rows;
  std::size_t queued_left_out = 0, ready_left_out = 0;
};

Selection Select(const status::StatusDocument& document, const TableOptions& options) {
  std::vector<const status::StatusImage*> order;
  for (const status::StatusImage& image : document.images) order.push_back(&image);
  // Among ready entries, those that differ from the registry come first.
  std::ranges::stable_sort(order, [](const status::StatusImage* a, const status::StatusImage* b) {
    return std::pair(RankOf(*a), !IsStale(*a)) < std::pair(RankOf(*b), !IsStale(*b));
  });
  std::size_t ready = 0, queued = 0, lines = 0;  // lines: about as many as the others take
  for (const status::StatusImage* image : order) {
    Rank rank = RankOf(*image);
    ready += rank == Rank::kReady ? 1 : 0;
    queued += rank == Rank::kQueued ? 1 : 0;
    if (rank == Rank::kReady || rank == Rank::kQueued) continue;
    lines += 1 + ReasonTexts(*image, document, options.wide).size() + (rank == Rank::kProgressing ? 0 : 1);
  }
  // Nothing is folded away that fits on a screen.
  bool all = options.wide || lines + queued + ready <= kScreenRows;
  // One more row is shown rather than a line that says "1 more".
  std::size_t most_queued = all || queued <= kMostQueued + 1 ? queued : kMostQueued;
  // Failing and moving images are never folded, whatever the height of the screen.
  std::size_t used = std::min(lines + most_queued, kScreenRows);
  std::size_t most_ready = all ? ready : std::max(kLeastReady, kScreenRows - used);
  if (ready == most_ready + 1) most_ready = ready;  // the line that counts the rest would be as long

  Selection selection;
  for (const status::StatusImage* image : order) {
    Rank rank = RankOf(*image);
    // Both counters stay at zero once they are used up.
    if (rank == Rank::kQueued && most_queued-- == 0) {
      most_queued = 0;
      selection.queued_left_out++;
    } else if (rank == Rank::kReady && most_ready-- == 0) {
      most_ready = 0;
      selection.ready_left_out++;
    } else {
      selection.rows.push_back(RowOf(*image, document, options));
    }
  }
  return selection;
}

struct TableColumns {
  std::size_t image = 0, state = 0, size = 0, never = 7, why = 0;  // why: 0 if it stands below
};

TableColumns Measure(const std::vector<TableRow>& rows, const TableOptions& options, std::size_t width) {
  TableColumns columns{.image = 5, .state = 5, .size = 4};
  for (const TableRow& row : rows) {
    std::size_t name = DisplayWidth(options.wide ? row.image : ShortImage(row.image, row.image.size()));
    columns.image = std::max(columns.image, name);
    columns.state = std::max(columns.state, DisplayWidth(row.state));
    columns.size = std::max(columns.size, DisplayWidth(row.size));
  }
  // The image's name gives way first: states and sizes are short and must be readable.
  std::size_t others = columns.state + columns.size + columns.never + 3 * 2;
  if (!options.wide) {
    std::size_t room = width - others;
    if (width >= kInlineWidth) room -= 50;  // what a sentence needs to be read
    columns.image = std::min(columns.image, room);
  }
  if (width >= kInlineWidth && width > columns.image + others + 2) {
    columns.why = width - columns.image - others - 2;
    // A narrower column of reasons would be mostly line breaks.
    if (columns.why < 40) columns.why = 0;
  }
  return columns;
}

std::string RowText(const TableRow& row, const TableColumns& columns, const TableOptions& options,
                    std::size_t width) {
  std::string line = PadRight(options.wide ? row.image : ShortImage(row.image, columns.image), columns.image);
  line += "  " + Colored(PadRight(row.state, columns.state), row.rank, options.color);
  line += "  " + PadRight(row.size, columns.size) + "  " + PadRight(row.never, columns.never);
  std::string below;
  std::size_t indent =
      columns.why == 0 ? 4 : columns.image + columns.state + columns.size + columns.never + 8;
  std::string margin(indent, ' ');
  for (const std::string& why : row.why) below += Paragraph(why, margin, margin, width);
  if (!row.advice.empty()) below += Paragraph(row.advice, margin + "→ ", margin + "  ", width);
  if (columns.why > 0 && !below.empty()) return line + "  " + below.substr(indent);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n" + below;
}

// Puts pieces beside each other, with blanks between them, in lines of at most `width`.
std::string JoinInLines(const std::vector<std::string>& pieces, std::size_t width) {
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

std::string ListPiece(const status::StatusDocument& document) {
  if (document.list.sources.empty()) return "no list";
  std::optional<base::WallTime> newest;
  for (const plan::ListSource& source : document.list.sources) {
    if (source.loaded_at && (!newest || *newest < *source.loaded_at)) newest = source.loaded_at;
  }
  std::string piece = "list " + ShortHash(document.list.hash) + " (" +
                      base::Plural(document.list.sources.size(), "source", "sources");
  const std::string age = ElapsedText(newest, document.time);
  if (!age.empty()) piece += ", " + age + " old";
  return piece + ")";
}

std::string RuntimePiece(const status::StatusDocument& document, bool wide) {
  std::string piece = document.runtime.name.empty() ? "runtime unknown" : document.runtime.name;
  if (!document.runtime.version.empty()) piece += " " + document.runtime.version;
  if (!document.runtime.up) piece += " (down)";
  if (wide && !document.kubelet.None()) return piece + ", kubelet " + KubeletDetail(document.kubelet);
  return piece + ", " + KubeletText(document.kubelet);
}

// Returns which limit leaves how much room, and how much the absent images need.
std::string DiskText(const plan::DiskStatus& disk) {
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
  if (!document.ready && document.reason != plan::Reason::kImagesNotReady) {
    std::string advice = status::WordsFor(document.reason.text()).advice;
    const std::string what = document.message.empty() ? document.reason.text() : document.message;
    problems.push_back(what + (advice.empty() ? "" : "\n→ " + advice));
  }
  // The runtime is away, but its last report still counts for a while, so the node's own reason is another
  // one.
  if (!document.runtime.up && !document.runtime.error.empty() &&
      document.reason != plan::Reason::kRuntimeDown) {
    problems.push_back(document.runtime.error + "\n→ " + status::WordsFor("RuntimeDown").advice);
  }
  std::vector<std::string> refused = RejectedSources(document);
  problems.insert(problems.end(), refused.begin(), refused.end());
  if (document.disk && document.disk->pressure) {
    problems.push_back(DiskText(*document.disk));
  }
  std::vector<std::string> further = OtherProblems(document);
  problems.insert(problems.end(), further.begin(), further.end());
  std::vector<std::string> away = UnreachableText(document);
  problems.insert(problems.end(), away.begin(), away.end());
  problems.insert(problems.end(), document.list.warnings.begin(), document.list.warnings.end());
  return problems;
}

std::string NodeHeader(const status::StatusDocument& document, const TableOptions& options,
                       std::size_t width) {
  Rank rank = document.ready                            ? Rank::kReady
              : document.phase == plan::Phase::kFailing ? Rank::kFailing
                                                        : Rank::kProgressing;
  std::string word = document.ready ? "READY" : "NOT READY";
  std::string state = "node " + document.node + "   " + word;
  std::string count = std::to_string(document.required_ready) + " of " +
                      base::Plural(document.required, "required image", "required images") + " ready";
  std::string text =
      JoinInLines({state, count, ListPiece(document), RuntimePiece(document, options.wide)}, width);
  // Coloured after the pieces were laid out, since codes of colours have no width.
  if (options.color) text.replace(text.find(word), word.size(), Colored(word, rank, true));
  for (const std::string& problem : NodeProblems(document)) {
    // Advice gets a mark and an indent of its own.
    std::size_t advice = problem.find("\n→ ");
    text += Paragraph(problem.substr(0, advice), "! ", "  ", width);
    if (advice != std::string::npos) text += Paragraph(problem.substr(advice + 5), "  → ", "    ", width);
  }
  if (!document.hidden.empty()) text += Paragraph(kHiddenText, "", "", width);
  if (std::string no_bytes = NoProgressText(document); !no_bytes.empty())
    text += Paragraph(no_bytes, "", "", width);
  return text;
}

}  // namespace

std::string StatusTable(const status::StatusDocument& document, const TableOptions& options) {
  std::size_t width = std::max(options.width, kLeastWidth);
  std::string text = NodeHeader(document, options, width);
  if (document.images.empty()) return text;
  Selection selection = Select(document, options);
  TableColumns columns = Measure(selection.rows, options, width);
  text += "\n" + PadRight("IMAGE", columns.image) + "  " + PadRight("STATE", columns.state) + "  " +
          PadRight("SIZE", columns.size) + "  " + (columns.why > 0 ? "NEVER    WHY" : "NEVER") + "\n";
  std::set<std::string> advised;  // each piece of advice once
  for (TableRow& row : selection.rows) {
    if (row.rank == Rank::kReady && selection.queued_left_out > 0) {
      text += "… " + std::to_string(selection.queued_left_out) + " more queued\n";
      selection.queued_left_out = 0;
    }
    // Fifty images with one cause would repeat the same advice.
    if (!advised.insert(row.advice).second) row.advice.clear();
    text += RowText(row, columns, options, width);
  }
  if (selection.queued_left_out > 0)
    text += "… " + std::to_string(selection.queued_left_out) + " more queued\n";
  if (selection.ready_left_out > 0) {
    text += "… " + std::to_string(selection.ready_left_out) + " more ready (-o wide shows all)\n";
  }
  return text;
}

std::vector<std::string> RejectedSources(const status::StatusDocument& document) {
  std::vector<std::string> refused;
  for (const plan::ListSource& source : document.list.sources) {
    // A source that was never in force is the node's own reason already.
    if (source.error.empty() || !source.loaded_at) continue;
    refused.push_back("the newest " + source.name + " is not in force: " + source.error);
  }
  return refused;
}

std::vector<std::string> OtherProblems(const status::StatusDocument& document) {
  std::vector<std::string> further = document.problems;
  std::erase_if(further, [&](const std::string& problem) {
    // The node's message quotes the problem that keeps it from being ready.
    return !document.ready && document.message.ends_with(problem);
  });
  return further;
}

namespace {

// Returns a cell as RFC 4180 defines it. A cell that a spreadsheet would take for a formula gets a leading
// quote.
std::string Cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return "\"" + base::ReplaceAll(text, "\"", "\"\"") + "\"";
}

std::string TimeText(const std::optional<base::WallTime>& time) {
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
                                    image.phase.text(),
                                    image.reason.text(),
                                    image.pulled_with.text(),
                                    image.digest,
                                    std::to_string(image.size_bytes),
                                    std::to_string(image.pull.attempts),
                                    TimeText(image.pull.started_at),
                                    TimeText(image.pull.finished_at),
                                    seconds ? std::to_string(*seconds) : ""};
  for (std::string& cell : cells) cell = Cell(std::move(cell));
  return base::Join(cells, ",") + "\n";
}

std::string JsonRow(const status::StatusImage& image, const std::string& node) {
  doc::JsonWriter out;
  out.Object([&] {
    out.Member("node", node);
    out.Member("image", image.image);
    out.MemberBool("required", image.required);
    out.MemberBool("ready", image.ready);
    out.Member("phase", image.phase.text());
    out.Member("reason", image.reason.text());
    out.MemberOrNull("pulledWith", image.pulled_with.text());
    out.MemberOrNull("digest", image.digest);
    out.MemberNumber("sizeBytes", image.size_bytes);
    out.MemberNumber("attempts", image.pull.attempts);
    out.MemberOrNull("startedAt", image.pull.started_at);
    out.MemberOrNull("finishedAt", image.pull.finished_at);
    out.MemberOrNull("seconds", Seconds(image.pull));
  });
  return out.Take() + "\n";
}

}  // namespace

std::string ResultsHeader(ResultsFormat format) {
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
