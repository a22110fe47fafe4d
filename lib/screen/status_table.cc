#include "screen/status_table.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "screen/document_words.h"
#include "screen/status_header.h"
#include "screen/status_spellings.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kInlineWidth = 110;  // from this width on the reason stands beside the image
constexpr std::size_t kScreenRows = 20;
constexpr std::size_t kLeastReady = 3;  // shown even if the screen is full of trouble
constexpr std::size_t kMostQueued = 5;
constexpr std::size_t kLongestError = 300;
constexpr std::string_view kItsTurn = "waits for its turn";  // as the state "queued" says

Rank RankOf(const status::StatusImage& image) {
  if (image.ready) return Rank::kReady;
  // Optional images do not count for readiness, so their failures come second.
  if (image.phase == "Failing") return image.required ? Rank::kFailing : Rank::kFailingOptional;
  return image.pull.state == "Pulling" || image.pull.state == "Unpacking" ? Rank::kMoving : Rank::kQueued;
}

struct Row {
  std::string image, state, size, never;
  std::vector<std::string> why;  // one paragraph each
  std::string advice;
  Rank rank = Rank::kReady;
};

std::string NeverWord(const status::StatusImage& image) {
  Rank rank = RankOf(image);
  // The image is on its way; a verdict on its absence would only confuse.
  if (rank == Rank::kMoving || rank == Rank::kQueued) return "–";
  if (image.verdicts.never.result.empty()) return "–";
  return base::ToLower(image.verdicts.never.result);
}

std::string SizeWord(const status::StatusImage& image, const status::StatusDocument& document) {
  std::string percent = image.pull.state == "Pulling" ? PercentWord(image.pull) : "";
  // Runtimes without visible bytes show at least the duration.
  if (percent.empty() && RankOf(image) == Rank::kMoving) percent = TimeOfPull(image.pull, document.time);
  if (!percent.empty()) return percent;
  return image.size_bytes > 0 ? base::HumanBytes(image.size_bytes) : "–";
}

std::vector<std::string> WhyOf(const status::StatusImage& image, const status::StatusDocument& document,
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
    if (wide && (image.reason == "Preloaded" || image.reason == "AssumedForPod")) add(image.message);
    if (wide && image.pinned) add("pinned: kubelet's image garbage collection leaves it alone");
    if (image.exposed) add("pulled with a mounted pull secret: every pod of the node can use it");
    if (wide && image.touch.state == "Done") {
      add("touched: every pod of the node can use it, with or without credentials");
    }
    // The image is open now, and the agent cannot make sure that it stays so.
    if (wide && image.touch.state == "Ineffective") add("touching it does not help: " + image.touch.why);
    for (const std::string& words : RegistryWords(image, document, wide)) add(words);
    return why;
  }
  std::string progress = image.pull.state == "Pulling" ? PullWords(image.pull, document.time) : "";
  if (rank == Rank::kMoving && !progress.empty()) {
    add(progress);
    // The state's own word says it already.
  } else if (rank != Rank::kQueued || image.reason != "Queued" || image.message != kItsTurn) {
    add(image.message);
  }
  if (rank == Rank::kFailing || rank == Rank::kFailingOptional || image.pull.retry_requested_at)
    add(RetryWords(image.pull, document.time));
  return why;
}

Row RowOf(const status::StatusImage& image, const status::StatusDocument& document,
          const TableOptions& options) {
  status::ReasonWords words = status::WordsFor(image.reason);
  Row row;
  row.image = image.image;
  row.state = words.state;
  row.size = SizeWord(image, document);
  row.never = NeverWord(image);
  row.why = WhyOf(image, document, options.wide);
  row.rank = RankOf(image);
  if (!image.required && !image.ready) row.why.emplace_back("optional: readiness does not count it");
  if (!image.ready) row.advice = words.advice;
  if (options.wide) {
    if (std::string pods = ReadyAsWords(image); !pods.empty()) row.why.push_back(std::move(pods));
    if (!image.digest.empty()) row.why.push_back(image.digest);
    if (!image.from.empty()) row.why.push_back("from " + base::Join(image.from, ", "));
    std::vector<std::string> aliases = status::OtherNames(image.image, image.aliases);
    if (!aliases.empty()) row.why.push_back("also known as " + base::Join(aliases, ", "));
  }
  return row;
}

// The rows to show, most important first, and how many were left out.
struct Selection {
  std::vector<Row> rows;
  std::size_t queued_left_out = 0, ready_left_out = 0;
};

Selection Select(const status::StatusDocument& document, const TableOptions& options) {
  std::vector<const status::StatusImage*> order;
  for (const status::StatusImage& image : document.images) order.push_back(&image);
  // Among ready entries, those that differ from the registry come first.
  std::stable_sort(order.begin(), order.end(),
                   [](const status::StatusImage* a, const status::StatusImage* b) {
                     return std::pair(RankOf(*a), !IsStale(*a)) < std::pair(RankOf(*b), !IsStale(*b));
                   });
  std::size_t ready = 0, queued = 0, lines = 0;  // lines: about as many as the others take
  for (const status::StatusImage* image : order) {
    Rank rank = RankOf(*image);
    ready += rank == Rank::kReady ? 1 : 0;
    queued += rank == Rank::kQueued ? 1 : 0;
    if (rank == Rank::kReady || rank == Rank::kQueued) continue;
    lines += 1 + WhyOf(*image, document, options.wide).size() + (rank == Rank::kMoving ? 0 : 1);
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

struct Columns {
  std::size_t image = 0, state = 0, size = 0, never = 7, why = 0;  // why: 0 if it stands below
};

Columns Measure(const std::vector<Row>& rows, const TableOptions& options, std::size_t width) {
  Columns columns{.image = 5, .state = 5, .size = 4};
  for (const Row& row : rows) {
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

std::string RowText(const Row& row, const Columns& columns, const TableOptions& options, std::size_t width) {
  std::string line = PadRight(options.wide ? row.image : ShortImage(row.image, columns.image), columns.image);
  line += "  " + Painted(PadRight(row.state, columns.state), row.rank, options.color);
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

}  // namespace

std::string StatusTable(const status::StatusDocument& document, const TableOptions& options) {
  std::size_t width = std::max(options.width, kLeastWidth);
  std::string text = NodeHeader(document, options, width);
  if (document.images.empty()) return text;
  Selection selection = Select(document, options);
  Columns columns = Measure(selection.rows, options, width);
  text += "\n" + PadRight("IMAGE", columns.image) + "  " + PadRight("STATE", columns.state) + "  " +
          PadRight("SIZE", columns.size) + "  " + (columns.why > 0 ? "NEVER    WHY" : "NEVER") + "\n";
  std::set<std::string> advised;  // each piece of advice once
  for (Row& row : selection.rows) {
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

}  // namespace prefetch::screen
