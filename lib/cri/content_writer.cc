#include "cri/content_writer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "cri/pull_resources.h"

namespace prefetch::cri {
namespace {

namespace content = ::containerd::services::content::v1;
using image::ErrorClass;

// Time limit of the call that discards wrong bytes. It is made even if the caller's own time is over.
constexpr std::chrono::seconds kAbortLimit{10};

void SetNamespace(grpc::ClientContext& context) {
  context.AddMetadata(kNamespaceHeader, kKubernetesNamespace);
}

}  // namespace

void ContentWriter::Abort(const std::string& ref) {
  content::AbortRequest request;
  request.set_ref(ref);
  content::Empty response;
  (void)RunRpc(channel_, base::Call{}.Within(kAbortLimit), {.method = "Content.Abort"},
               [&](grpc::ClientContext& context) {
                 SetNamespace(context);
                 return stub_->Abort(&context, request, &response);
               });
}

// One Write call. containerd keeps the ingest locked while it goes on (C37).
class ContentWriter::Stream final : public BlobWriter {
 public:
  Stream(ContentWriter& writer, const base::Call& call, const std::string& lease, const BlobToWrite& blob)
      : writer_(writer), call_(call), blob_(blob), timed_call_(Prepare(context_, call_)) {
    SetNamespace(context_);
    context_.AddMetadata(kLeaseHeader, lease);
    // Registered before the call, which blocks until there is a connection.
    cancel_.emplace(call_.stop, [this] { context_.TryCancel(); });
    calls_ = writer_.stub_->Write(&context_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() override {
    if (over_) return;
    // Every request has been answered, so nothing is lost. containerd does not end the call by itself.
    context_.TryCancel();
    (void)calls_->Finish();
  }

  CallResult<BlobState> Begin() {
    content::WriteContentRequest request;
    // STAT first: it shows how many bytes an earlier writer has left, and it opens the ingest under the
    // lease.
    request.set_action(content::STAT);
    request.set_ref(blob_.ref);
    request.set_expected(blob_.digest);
    request.set_total(static_cast<std::int64_t>(blob_.size_bytes));
    content::WriteContentResponse response;
    if (Exchange(request, response)) {
      offset_ = static_cast<std::uint64_t>(std::max<std::int64_t>(response.offset(), 0));
      // C37: the answer to STAT has the digest of the bytes that are there. A pull of containerd refuses
      // blobs without bytes, so the agent must not commit what such a pull has begun.
      is_whole_ = offset_ > 0 && response.digest() == blob_.digest;
      return BlobState::kWritable;
    }
    const grpc::Status status = Finish();
    if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return BlobState::kExists;
    // A connection that is gone has the same code. Only another writer's lock has these words.
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
        status.error_message().find("locked") != std::string::npos) {
      return BlobState::kLocked;
    }
    return Failure(status);
  }

  std::uint64_t offset() const override { return offset_; }
  // After Begin: the bytes that are there have the blob's digest.
  bool is_whole() const { return is_whole_; }

  std::optional<CallError> Append(std::string bytes) override {
    content::WriteContentRequest request;
    request.set_action(content::WRITE);
    request.set_offset(static_cast<std::int64_t>(offset_));
    const std::uint64_t after = offset_ + bytes.size();
    request.set_data(std::move(bytes));
    content::WriteContentResponse response;
    if (!Exchange(request, response)) return Failure(Finish());
    // Every request is answered before the next one is sent, so the offset is what containerd has, and not
    // what is on its way.
    offset_ = after;
    return std::nullopt;
  }

  std::optional<CallError> Commit() override {
    content::WriteContentRequest request;
    request.set_action(content::COMMIT);
    request.set_total(static_cast<std::int64_t>(blob_.size_bytes));
    request.set_offset(static_cast<std::int64_t>(offset_));
    request.set_expected(blob_.digest);
    for (const auto& [name, value] : blob_.labels) (*request.mutable_labels())[name] = value;
    content::WriteContentResponse response;
    const bool answered = Exchange(request, response);
    const grpc::Status status = answered ? grpc::Status::OK : Finish();
    // The blob may have come by another pull meanwhile, which is as good.
    if (answered || status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return std::nullopt;
    if (status.error_code() != grpc::StatusCode::FAILED_PRECONDITION) return Failure(status);
    // C37: bytes that do not match stay in the ingest, and would fail each later pull of this blob.
    writer_.Abort(blob_.ref);
    return CallError{ErrorClass::kCorrupt,
                     "the bytes of " + blob_.digest + " do not match its digest or size"};
  }

 private:
  // Sends one request and waits for its answer. false: the call has ended, and Finish has the reason.
  bool Exchange(const content::WriteContentRequest& request, content::WriteContentResponse& response) {
    return !over_ && calls_->Write(request) && calls_->Read(&response);
  }
  grpc::Status Finish() {
    // This is not FAILED_PRECONDITION, the store's answer for wrong bytes: the bytes that are there stay.
    if (over_) return {grpc::StatusCode::INTERNAL, "the blob is no longer being written"};
    over_ = true;
    calls_->WritesDone();
    grpc::Status status = calls_->Finish();
    writer_.channel_.OnCallEnded(status);
    return status;
  }
  // A call that ended well before its answer came is a failure as well, which its status does not show.
  CallError Failure(const grpc::Status& status) {
    auto failed = ToCallError(status, call_, writer_.channel_.Connected(), {.method = "Content.Write"});
    return failed ? *std::move(failed) : CallError{ErrorClass::kRuntimeError, "Content.Write ended early"};
  }

  ContentWriter& writer_;
  const base::Call call_;
  const BlobToWrite blob_;
  grpc::ClientContext context_;
  TimedCall timed_call_;
  std::unique_ptr<grpc::ClientReaderWriter<content::WriteContentRequest, content::WriteContentResponse>>
      calls_;
  std::uint64_t offset_ = 0;
  bool is_whole_ = false;
  bool over_ = false;
  std::optional<std::stop_callback<std::function<void()>>> cancel_;  // last: it uses what stands above
};

CallResult<std::pair<BlobState, std::unique_ptr<ContentWriter::Stream>>> ContentWriter::Begin(
    const base::Call& call, const std::string& lease, const BlobToWrite& blob) {
  if (call.Stopped()) return CallError{ErrorClass::kCancelled, "stopped"};
  if (std::optional<CallError> down = channel_.DowntimeReason()) return *std::move(down);
  auto stream = std::make_unique<Stream>(*this, call, lease, blob);
  auto state = stream->Begin();
  if (!state) return state.error();
  if (*state != BlobState::kWritable) stream.reset();
  return std::pair(*state, std::move(stream));
}

CallResult<OpenedBlob> ContentWriter::Open(const base::Call& call, const std::string& lease,
                                           const BlobToWrite& blob) {
  auto begun = Begin(call, lease, blob);
  if (!begun) return begun.error();
  return OpenedBlob{.state = begun->first, .writer = std::move(begun->second)};
}

CallResult<std::uint64_t> ContentWriter::Finish(const base::Call& call, const std::string& lease,
                                                const std::string& ref, bool discard) {
  // The request has no size: that of the ingest's first writer may be wrong.
  const BlobToWrite blob{
      .ref = ref, .digest = std::string(DigestOfIngest(ref)), .size_bytes = 0, .labels = {}};
  auto begun = Begin(call, lease, blob);
  if (!begun) return begun.error();
  Stream* const stream = begun->second.get();
  if (stream == nullptr) return std::uint64_t{0};
  const std::uint64_t written = stream->offset();
  if (!stream->is_whole()) {
    // While the stream is open, no other writer can use the ingest.
    if (discard) Abort(ref);
    return discard ? written : std::uint64_t{0};
  }
  // containerd checks size and digest in the commit, so this ends well only for the right bytes.
  auto failed = stream->Commit();
  if (!failed) return std::uint64_t{0};
  if (failed->error_class == ErrorClass::kCorrupt) return written;
  return *std::move(failed);
}

}  // namespace prefetch::cri
