// Blobs on their way into a containerd that answers anything, or nothing: each call ends, none claims a blob
// that the store did not confirm, and what the store says is fit for a log.
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "cri/content_writer.h"
#include "cri/scripted_store.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

constexpr std::string_view kBytes = "the twenty bytes ...";
constexpr std::size_t kPiece = 7;

void Judge(const cri::CallError& error) {
  if (error.message.empty() || error.message.size() > cri::kMaxQuotedBytes + 128) std::abort();
  if (!base::IsUtf8(error.message) || error.message.find('\n') != std::string::npos) std::abort();
}

// Writes a blob in the order of pulling/fetching.cc. Returns true if it was completed.
bool WriteAll(cri::BlobWriter& writer) {
  bool failed = false;
  while (writer.offset() < kBytes.size()) {
    const std::uint64_t before = writer.offset();
    const std::string piece(kBytes.substr(before, kPiece));
    const std::optional<cri::CallError> error = writer.Append(piece);
    if (error) {
      Judge(*error);
      if (writer.offset() != before) std::abort();
      failed = true;
      break;
    }
    if (writer.offset() != before + piece.size()) std::abort();
  }
  const std::optional<cri::CallError> error = writer.Commit();
  if (error) Judge(*error);
  if (failed && !error) std::abort();  // it is of no use any more
  if (error && (!writer.Append("x") || !writer.Commit())) std::abort();
  return !error;
}

}  // namespace

FUZZ_TARGET(script) {
  // For all runs, as an agent has it. Never destroyed: other threads of gRPC end with the process.
  static auto* const store = new tests::ScriptedStore;
  static auto* const blobs = new cri::ContentWriter(store->endpoint());
  static std::uint64_t run = 0;
  const std::string ref = "blob-" + std::to_string(run++);
  std::stop_source stop;
  store->Play(script, ref, kBytes.substr(0, script.size() % 3 == 0 ? 5 : 0), stop);
  // Without a deadline: what does not wait for the store's answer has to end by itself.
  auto opened = blobs->Open({.stop = stop.get_token()}, "lease",
                            {.ref = ref, .digest = "sha256:d", .size_bytes = kBytes.size(), .labels = {}});
  if (!opened) {
    Judge(opened.error());
    return;
  }
  if ((opened->state == cri::BlobState::kWritable) != (opened->writer != nullptr)) std::abort();
  if (!opened->writer) return;
  const bool complete = WriteAll(*opened->writer);
  opened->writer.reset();
  const tests::Written seen = store->Seen();
  if (seen.strange) return;  // the script confirmed it in the store's place
  if (complete && !seen.committed && !seen.said_committed) std::abort();
  if (complete && seen.committed && seen.bytes != kBytes) std::abort();
  if (seen.aborts > 1) std::abort();
}
