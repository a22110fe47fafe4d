// The screens of one node: of `prefetchctl status`, `explain` and `wait`. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "image/reference.h"
#include "plan/desired.h"
#include "status/documents.h"

namespace prefetch::screen {

// The screen of `prefetchctl status`: is the node ready, and if not, the obstacles and their remedies.

struct TableOptions {
  std::size_t width = 80;  // columns of the terminal; less than 60 counts as 60
  bool wide = false;  // every image, cause and node, with all that is known; lines may be longer than `width`
  bool not_ready = false;  // of a fleet: the nodes that are not ready, one a line, below the causes
  bool color = false;      // repeats the words' meaning
};

// Lines with a newline each. Most important first: failing, moving, ready. Failing images are
// never folded away; queued and ready ones are, beyond what one screen holds. Pure.
std::string StatusTable(const status::StatusDocument& document, const TableOptions& options);

// Results: one row for each image of each node, for spreadsheets and CI artifacts.
enum class ResultsFormat { kCsv, kJson };

// The lines before the first row; empty for JSON, whose rows are an object a line.
std::string ResultsHeader(ResultsFormat format);

// The rows of one node, a line each. `node` is the name that the cluster has for it.
// Columns: node, image, required, ready, phase, reason, pulledWith, digest, sizeBytes, attempts, startedAt,
// finishedAt, seconds (from start to end of the newest attempt). Unknown values are empty, or null.
std::string ResultRows(const status::StatusDocument& document, const std::string& node, ResultsFormat format);

// The screen of `prefetchctl explain`. Pure.

// Returns everything known about one image on one node, in kubelet's own decision order: presence, kubelet's
// settings and record, the verdict for each pull policy with its rule. Credentials, the last pull, and advice
// follow. Lines have at most `width` columns (less than 60 counts as 60) but for words that are longer. Pure.
std::string ExplainText(const status::ImageDocument& document, std::size_t width);

// The lines of `prefetchctl wait` while it waits, and at the end.

// Returns one line without newline, at most `width` columns: the numbers of ready, moving and failing images.
std::string WaitLine(const status::StatusDocument& document, std::size_t width);

// Returns a text that changes when a log should get a new line: with counts and failures, not with bytes.
std::string WaitKey(const status::StatusDocument& document);

// Returns the lines below the first on a terminal: each image that moves or fails, `most` lines of at most
// `width` columns.
std::vector<std::string> WaitDetails(const status::StatusDocument& document, std::size_t width,
                                     std::size_t most);

enum class WaitOutcome {
  kReady,
  // A missing image is settled, or of a fleet too many nodes have one; the rest is not waited for.
  kFailedFast,
  kTimedOut,
};

// Returns how a wait for a node or a fleet ended, as a line: "timed out after 10 min: RATIO".
std::string OutcomeText(WaitOutcome end, const std::string& ratio, std::chrono::seconds waited);

// Returns the text for the end of the wait: its outcome and, unless all is ready, each required image that is
// missing, and why.
std::string WaitResult(const status::StatusDocument& document, WaitOutcome end, std::chrono::seconds waited,
                       std::size_t width);

// Returns true if waiting changes nothing: a required image is not ready, and each such image is settled.
bool AllMissingSettled(const status::StatusDocument& document);

// Returns true if a required image is settled and not ready.
bool AnyMissingSettled(const status::StatusDocument& document);

// WaitDemand: what `prefetchctl wait` waits for, if it is not just "the node is ready". Pure.
struct WaitDemand {
  std::string hash;                     // the list in force must have this hash; empty: any
  std::optional<plan::ImageList> list;  // each entry in force with at least its demands and spellings, and
                                        // ready; none: all of the node's
  std::optional<image::PullPolicy> policy;
};

// Returns the document as it concerns the demand: other images are removed, wanted ones that the agent does
// not list (yet) are shown as missing, and readiness, counts and message are those of the demand.
status::StatusDocument NarrowTo(status::StatusDocument document, const WaitDemand& demand);

}  // namespace prefetch::screen
